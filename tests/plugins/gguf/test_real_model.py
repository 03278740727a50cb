"""Real weights do their jobs: `make test-llm` fetches them once and asks for these tests.

They assert what HiSA owes whatever the model is worth: a run that ends by itself, answers that can
be read, and prompts whose beginnings are read once. Whether the model did well stands in the log.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hisa
from hisa.config import ModelSettings
from hisa.events import Event, ModelCalled, ModelFailed
from hisa.plugins.gguf.gguf_model import GgufModel
from hisa.plugins.gguf.model_names import fetched_names
from hisa.protocols import Message, ModelRequest, TextPart

MODEL = {"model": "gguf:coder-1.5b", "timeout": 1800}

pytestmark = [pytest.mark.llm, pytest.mark.process]


@pytest.fixture(autouse=True)
def _require_weights() -> None:
    if "coder-1.5b" not in fetched_names():
        pytest.fail("hisa models fetch coder-1.5b")


def settings(folder: Path, **more: object) -> hisa.Settings:
    return hisa.Settings.model_validate(
        {
            "models": {"planner": MODEL},
            "planner": {"sees": "elements"},
            "patterns": {"path": str(folder / "patterns")},
            "run": {"folder": str(folder / "runs"), "max_steps": 4},
            **more,
        }
    )


def list_calls(events: list[Event]) -> list[ModelCalled]:
    assert not [event for event in events if isinstance(event, ModelFailed)]
    return [event for event in events if isinstance(event, ModelCalled)]


@pytest.mark.browser
@pytest.mark.desktop
def test_the_main_job_on_a_page_of_miniwob(tmp_path: Path) -> None:
    events: list[Event] = []
    result = hisa.run_sync(
        "miniwob:click-button", settings=settings(tmp_path), on_event=events.append
    )
    assert result.status not in ("model_error", "environment_error", "stopped")
    assert result.score in (0.0, 1.0)
    assert list_calls(events)


@pytest.mark.browser
@pytest.mark.desktop
def test_a_run_that_was_killed_goes_on(tmp_path: Path) -> None:
    (tmp_path / "hisa.toml").write_text(
        f'[models.planner]\nmodel = "{MODEL["model"]}"\n[patterns]\nenabled = false\n'
        f'[run]\nfolder = "{tmp_path}/runs"\nmax_steps = 3\n'
    )
    hisa_here = [sys.executable, "-m", "hisa"]
    first = subprocess.Popen([*hisa_here, "run", "miniwob:click-checkboxes"], cwd=tmp_path)
    while '"step_finished"' not in (logged := log_in(tmp_path)):
        assert first.poll() is None, logged
        time.sleep(0.05)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    subprocess.run([*hisa_here, "runs", "resume", "latest"], cwd=tmp_path, check=False)
    logged = log_in(tmp_path)
    assert '"run_finished"' in logged
    assert '"model_error"' not in logged
    assert logged.count('"run_started"') == 1


def log_in(folder: Path) -> str:
    return "".join(path.read_text("utf-8") for path in folder.glob("runs/*/events.jsonl"))


async def test_an_answer_keeps_to_a_schema_of_tools() -> None:
    model = GgufModel(ModelSettings.model_validate(MODEL))
    schema = {
        "type": "object",
        "properties": {"tool": {"enum": ["click", "type", "wait"]}, "element": {"type": "integer"}},
        "required": ["tool", "element"],
        "additionalProperties": False,
    }
    words = (
        'Elements: 1 text "Press OK" 2 button "OK". Task: press OK. Answer as JSON: tool, element.'
    )
    request = ModelRequest(
        "planner", (Message("user", (TextPart(words),)),), schema=schema, max_tokens=60
    )
    answer = json.loads((await model.complete(request)).text)
    await model.aclose()
    assert answer == {"tool": "click", "element": 2}
