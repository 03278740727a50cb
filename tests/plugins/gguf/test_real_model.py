"""Real weights do their jobs: `make test-llm` fetches them once and asks for these tests.

They assert what HiSA owes whatever the model is worth: a run that ends by itself, answers that can
be read, and prompts whose beginnings are read once. Whether the model did well stands in the log.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hisa
from hisa.config import ModelSettings
from hisa.errors import NotFound
from hisa.events import Event, GroundingTried, ModelCalled, ModelFailed, Planned
from hisa.grounder.choice import ChoiceGrounder
from hisa.planner.reply import parse_reply
from hisa.plugins.gguf.gguf_model import GgufModel
from hisa.plugins.gguf.model_names import fetched_names
from hisa.protocols import Message, ModelRequest, TextPart
from hisa.testing import FakeEnvironment, tool_call

MODEL = {"model": "gguf:coder-1.5b", "timeout": 1800}

pytestmark = [pytest.mark.llm, pytest.mark.process]


@pytest.fixture(autouse=True)
def _fetched() -> None:
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


def called(events: list[Event]) -> list[ModelCalled]:
    assert not [event for event in events if isinstance(event, ModelFailed)]
    return [event for event in events if isinstance(event, ModelCalled)]


def test_a_form_is_filled_in_steps_that_can_be_read(tmp_path: Path) -> None:
    events: list[Event] = []
    result = hisa.run_sync(
        'Click the button "Save".',
        settings=settings(tmp_path), environment=FakeEnvironment(), on_event=events.append,
    )  # fmt: skip
    assert result.status not in ("model_error", "environment_error", "stopped")
    assert [event for event in events if isinstance(event, Planned)]
    planned = [call for call in called(events) if call.role == "planner"]
    assert any(call.cached_in for call in planned[1:]) or len(planned) == 1


@pytest.mark.browser
@pytest.mark.desktop
def test_the_main_job_on_a_page_of_miniwob(tmp_path: Path) -> None:
    events: list[Event] = []
    result = hisa.run_sync(
        "miniwob:click-button", settings=settings(tmp_path), on_event=events.append
    )
    assert result.status not in ("model_error", "environment_error", "stopped")
    assert result.score in (0.0, 1.0)
    assert called(events)


async def test_it_picks_from_a_list_in_words(tmp_path: Path) -> None:
    model, events = GgufModel(ModelSettings.model_validate(MODEL)), list[Event]()
    grounder = ChoiceGrounder(model, emit=events.append, min_score=0.5)
    environment = FakeEnvironment()
    await environment.reset()
    look = await environment.observe(elements=True)
    wanted = "the button that keeps what was written"
    call = parse_reply(tool_call("gui_action", "pyautogui.click(X_COORD, Y_COORD)", wanted))
    try:
        await grounder.resolve(call, look)
    except NotFound:
        pass  # a refusal is an answer
    finally:
        await model.aclose()
    assert [event for event in events if isinstance(event, GroundingTried)]


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
