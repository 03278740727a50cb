"""A run of rules becomes a program that does it again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import hisa
from hisa.config import Settings
from hisa.events import ModelCalled
from hisa.plugins.replay.program_proof import prove
from hisa.plugins.replay.program_records import write_program
from hisa.plugins.replay.run_compiler import compile_run
from hisa.runs.run_reader import load_run
from hisa.tasks.taskfile import load_task

pytestmark = [
    pytest.mark.desktop,
    pytest.mark.skipif(not shutil.which("mousepad"), reason="no mousepad"),
]
_TASK = Path(__file__).parents[3] / "examples" / "shopping_list.yaml"


async def test_recorded_run_is_replayed_as_a_program(tmp_path: Path) -> None:
    roles = {role: {"model": "offline"} for role in ("planner", "state", "judge")}
    settings = Settings.model_validate(
        {"run": {"folder": tmp_path / "runs"}, "models": roles, "patterns": {"enabled": False}}
    )
    shown = await hisa.run(load_task(_TASK), settings=settings)
    assert shown.success, shown.message
    place = tmp_path / "programs" / "shopping"
    program = compile_run(load_run(shown.folder), "shopping")
    write_program(program, place)
    program = await prove(program, place, settings, agree=lambda _: False)
    assert program.proof is not None
    assert program.proof.by == "check"
    run = load_run(program.proof.run, settings.run.folder)
    assert (run.folder != shown.folder, run.score) == (True, 1)
    models = [event.model for event in run.events if isinstance(event, ModelCalled)]
    assert all(name.startswith("offline") for name in models), "rules alone answer: no model"
