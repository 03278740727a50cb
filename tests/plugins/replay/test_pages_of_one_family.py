"""Two runs of a page become a program that does a third one of the page by its words."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import hisa
from hisa.config import Settings
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.replay.compiling import compile_run
from hisa.plugins.replay.fitting import fitting_program
from hisa.plugins.replay.playing import play
from hisa.plugins.replay.program_records import read_program, write_program
from hisa.plugins.replay.proving import prove
from hisa.plugins.replay.run_families import of_family
from hisa.runs.manifest import TaskRecord
from hisa.runs.read import load_run
from hisa.tasks.scorer import TaskScorer
from hisa.tasks.taskfile import load_task
from tests.plugins.benchmarks.tasks.pages import needs_pages

pytestmark = [
    pytest.mark.desktop,
    pytest.mark.browser,
    needs_pages,
    pytest.mark.skipif(
        not shutil.which("chromium"), reason="needs Chromium: scripts/install-system.sh"
    ),
]
_PAGE = "miniwob:click-button"


async def test_what_two_seeds_showed_is_played_on_a_third(tmp_path: Path) -> None:
    roles = {role: {"model": "offline"} for role in ("planner", "state", "judge")}
    settings = Settings.model_validate(
        {"run": {"folder": tmp_path / "runs"}, "models": roles, "patterns": {"enabled": False}}
    )
    place = tmp_path / "programs" / "button"
    programs = []
    for seed in (1, 2):
        shown = await hisa.run(load_task(_PAGE, seed=seed), settings=settings)
        assert shown.success, shown.message
        programs.append(compile_run(load_run(shown.folder), "button", place))
    write_program(of_family(programs), place)
    program = await prove(read_program(place), place, settings, agree=lambda _: False, take=True)
    write_program(program, place)
    assert program.proof is not None
    assert program.proof.by == "check"
    async with DesktopEnvironment() as desktop:
        task = await TaskScorer().prepare(load_task(_PAGE, seed=3), desktop)
        fit = fitting_program(task, place.parent)
        assert not isinstance(fit, str), (fit, program.instruction, task.instruction)
        (value,) = fit[1].values()
        assert f'"{value}"' in task.instruction
        record = TaskRecord.of(task).model_dump(mode="json", exclude_defaults=True)
        program = program.model_copy(update={"task": record})
        played = await play(program, place, settings, values=fit[1], environment=desktop)
    assert (played.outcome, played.score) == ("verified", 1), played.reason
