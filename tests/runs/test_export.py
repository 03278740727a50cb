from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hisa.errors import UsageError
from hisa.events import Acted, Observed, Planned, StepFinished
from hisa.plugins.exports.osworld_results import export_osworld
from hisa.protocols import Task
from hisa.runs.export import TurnFilter, export_turns
from hisa.runs.log import RunLog
from hisa.runs.read import Run, load_run
from hisa.runs.turns import Turn
from hisa.screen.geometry import Size
from hisa.screen.observation import Screenshot
from tests.runs.sample import build


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return load_run(build(tmp_path_factory.mktemp("runs")))


def test_filters_leave_out_what_was_not_wanted(tmp_path: Path) -> None:
    def turn(**more: Any) -> Turn:
        fields = {"id": "a", "run": "r", "task": "t", "step": 1, "role": "planner", "model": "m"}
        return Turn.model_validate({**fields, "request": {}, "reply": "x", **more})

    scored = turn(score=0.5, score_state="scored", outcome="succeeded")
    assert TurnFilter(min_score=0.5).takes(scored)
    assert not TurnFilter(min_score=0.6).takes(scored)
    assert not TurnFilter(min_score=0.0).takes(turn()), "unscored is not 0"
    assert not TurnFilter(roles=frozenset({"judge"})).takes(scored)
    assert not TurnFilter(outcomes=frozenset({"failed"})).takes(scored)
    for lacking in ({"redacted": True}, {"cut": True}, {"reply": None}, {"machine_failed": True}):
        assert not TurnFilter(whole=True).takes(turn(**lacking))


def test_osworld_layout(run: Run, tmp_path: Path) -> None:
    folder = export_osworld(run, tmp_path)
    assert folder.relative_to(tmp_path).parts == (
        "pyautogui",
        "screenshot",
        "offline (rules_ no LLM)",
        "libreoffice_calc",
        "calc-quarter-total",
    )
    assert (folder / "result.txt").read_text() == "1.0\n"
    assert Screenshot.from_png((folder / "step_0.png").read_bytes()).size == Size(1280, 720)
    rows = [json.loads(line) for line in (folder / "traj.jsonl").read_text().splitlines()]
    assert [row["step_num"] for row in rows] == list(range(1, 12))
    assert all((folder / row["screenshot_file"]).is_file() for row in rows)
    assert rows[0]["screenshot_file"].startswith("step_1_20261118@1106")
    assert rows[0]["action"] == "pyautogui.click(228, 416)", "screen pixels of 1920x1080"
    assert rows[3]["action"].startswith("import subprocess\nsubprocess.run(['bash', '-c', 'soffice")
    assert [row["action"] for row in rows[9:]] == ["WAIT", "DONE"]
    assert [row["done"] for row in rows] == [False] * 10 + [True]


def test_osworld_names_cannot_leave_the_folder(tmp_path: Path) -> None:
    look = Observed(image="0" * 64, width=10, height=10, screen_width=10, screen_height=10)
    task = Task("../../etc/x", "Do it.", domain="..")
    with RunLog.create(tmp_path / "runs", task, models={"planner": "/a"}) as log:
        log.emit(look)
        log.step = 1
        log.emit(Planned(thought="", tool="infeasible", input="no"))
        log.emit(Acted(tool="infeasible", input="no", ok=True))
        log.emit(StepFinished())
    folder = export_osworld(load_run(log.folder), tmp_path / "out")
    assert folder.relative_to(tmp_path / "out").parts[2:] == ("_a", "unnamed", "_.._etc_x")
    assert sorted(path.name for path in folder.iterdir()) == ["traj.jsonl"]
    assert json.loads((folder / "traj.jsonl").read_text())["action"] == "FAIL"


def test_a_place_that_cannot_be_written_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write"):
        export_turns([], tmp_path / "file" / "t.jsonl")
    with pytest.raises(UsageError, match="cannot write"):
        export_osworld(run, tmp_path / "file")
