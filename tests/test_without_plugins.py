"""The core alone: everything that needs no plugin works where `hisa.plugins` cannot be imported."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCKER = Path(__file__).parent / "without_plugins"

LONGEST = "tests/test_agent.py::test_every_planner_request_is_bounded_for_500_steps"

pytestmark = pytest.mark.process

TASK = """
id: name
instruction: Enter "Ada" as the name and save the form.
check: {file: /home/user/form.txt, equals: Ada}
"""
SCRIPT = """
from pathlib import Path

import hisa
from hisa.testing import FakeEnvironment, FunctionModel, ScriptedModel, tool_call

planner = ScriptedModel([
    tool_call("gui_action", "pyautogui.click(400, 136); pyautogui.write('Ada')"),
    tool_call("gui_action", "pyautogui.click(375, 237)"),
    tool_call("termination", "The name is in."),
])
settings = hisa.Settings.model_validate(
    {"patterns": {"enabled": False}, "planner": {"guards": False}}
)
result = hisa.run_sync(
    Path("name.yaml"), settings=settings, environment=FakeEnvironment(),
    model={"planner": planner, "state": FunctionModel(lambda _: "The form changed.")},
)
print(result.status, result.score)
"""


def alone(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs Python with words, where it finds no plugin."""
    path = os.pathsep.join((str(BLOCKER), str(ROOT)))
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "HISA_PLANNER__GUARDS": "false", **more},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_suite_of_the_core_passes() -> None:
    unmarked = "not desktop and not browser and not process and not vm"
    ran = alone(
        ROOT,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "core_suite",
        "-m",
        unmarked,
        "--hypothesis-profile=few",
        "--deselect",
        LONGEST,
        "tests",
    )
    assert ran.returncode == 0, ran.stdout[-4000:]
    passed = re.search(r"(\d+) passed", ran.stdout)
    assert passed is not None
    assert int(passed[1]) > 150, ran.stdout[-500:]


def test_a_task_is_done_and_scored_on_a_form_in_memory(tmp_path: Path) -> None:
    (tmp_path / "name.yaml").write_text(TASK, "utf-8")
    ran = alone(tmp_path, "-c", SCRIPT)
    assert ran.stdout.split() == ["succeeded", "1.0"], ran.stdout + ran.stderr
    listed = alone(tmp_path, "-m", "hisa", "runs", "ls")
    assert "succeeded" in listed.stdout


def test_run_without_the_guard_of_acts_ends_before_its_first_step(tmp_path: Path) -> None:
    (tmp_path / "name.yaml").write_text(TASK, "utf-8")
    ran = alone(tmp_path, "-c", SCRIPT.replace('{"guards": False}', "{}"))
    assert "no installed package" in ran.stderr or "hisa-agent" in ran.stderr
    assert "planner.guards needs it, so nothing was started" in ran.stderr


def test_the_pattern_store_is_read_and_written(tmp_path: Path) -> None:
    store = {"HISA_PATTERNS__PATH": str(tmp_path / "patterns")}
    lesson = "Save before you leave."
    pattern = {"id": "a1", "domain": "text_editor", "kind": "success", "lesson": lesson}
    line = json.dumps({"v": 1, "pattern": pattern})
    (tmp_path / "lessons.jsonl").write_text(f"{line}\n", "utf-8")
    added = alone(tmp_path, "-m", "hisa", "patterns", "import", "lessons.jsonl", **store)
    assert added.returncode == 0, added.stderr
    listed = alone(tmp_path, "-m", "hisa", "patterns", "ls", **store)
    assert lesson in listed.stdout


def test_help_page_marks_missing_commands(tmp_path: Path) -> None:
    page = alone(tmp_path, "-m", "hisa", "--help")
    assert page.returncode == 0
    assert "Run an agent on a task." in page.stdout
    assert "FAILED TO LOAD: command 'bench' of package 'hisa-agent'" in " ".join(
        page.stdout.split()
    )


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("bench", "run", "own:."), "command 'bench'"),
        (
            ("run", "Say done.", "--env", "guest=http://127.0.0.1:9", "--confirm", "never"),
            "environment 'guest'",
        ),
        (("run", "miniwob:click-test"), "task 'miniwob'"),
    ],
)
def test_a_door_without_its_plugin_names_the_package(
    tmp_path: Path, words: tuple[str, ...], part: str
) -> None:
    ran = alone(tmp_path, "-m", "hisa", *words)
    assert ran.returncode in (2, 3)
    assert part in ran.stderr
    assert (
        "of package 'hisa-agent': ModuleNotFoundError: No module named 'hisa.plugins" in ran.stderr
    )
    assert "Traceback" not in ran.stderr


def test_doctor_reports_missing_plugins(tmp_path: Path) -> None:
    ran = alone(tmp_path, "-m", "hisa", "doctor")
    assert "Traceback" not in ran.stderr
    assert "No module named 'hisa.plugins" in ran.stdout
    assert ran.returncode in (0, 3)
