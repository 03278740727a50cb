"""The 20 Excel tasks: the expected workbook scores 1, the input as it was 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hisa.errors import EnvironmentFailed
from hisa.plugins.benchmarks.tasks.osworld_metrics.index import find_installation, missing_packages
from hisa.protocols import Task
from hisa.tasks.find_format import problems
from hisa.tasks.scorer import TaskScorer
from hisa.tasks.task_context import host_file
from hisa.tasks.taskfile import load_task
from tests.plugins.benchmarks.tasks.machine import Machine, at_once

DATA = Path(__file__).parents[3] / "data" / "spider2v"
FILES = sorted((DATA / "evaluation_examples").rglob("*.json"))
needs_package = pytest.mark.skipif(
    not find_installation().folder or bool(missing_packages("compare_table")),
    reason="needs OSWorld's package: hisa install osworld",
)
NAMES = [path.stem[:8] for path in FILES]


def parts(path: Path) -> tuple[Task, Any, Path, Path]:
    task = load_task(path)
    check: Any = task.check
    input_file = host_file(task.folder, task.setup[0]["parameters"]["src"])
    return task, check, input_file, host_file(task.folder, check["expected"]["path"])


async def score_workbook(path: Path, workbook: bytes | None) -> tuple[float | None, str]:
    task, check, _, _ = parts(path)
    machine = Machine(windows=["Form"])
    if workbook is not None:
        await machine.write_file(check["result"]["path"], workbook)
    scoring = await TaskScorer(pause=at_once).score(task, machine, "succeeded")
    return scoring.value, scoring.detail


def test_there_are_twenty() -> None:
    assert len(FILES) == 20


@pytest.mark.process
@needs_package
@pytest.mark.parametrize("path", FILES, ids=NAMES)
async def test_the_expected_workbook_scores_1_and_the_input_0(path: Path) -> None:
    _, _, input_file, expected = parts(path)
    assert (await score_workbook(path, expected.read_bytes()))[0] == 1.0
    score, why = await score_workbook(path, input_file.read_bytes())
    assert score == 0.0
    assert why.endswith("by OSWorld's own compare_table")
    assert await score_workbook(path, None) == (
        0.0,
        f"compare_table: nothing there: {result_of(path)}",
    )


def result_of(path: Path) -> str:
    return f"vm_file {parts(path)[1]['result']['path']}"


@pytest.mark.process
@pytest.mark.usefixtures("osworld_listed")
@pytest.mark.parametrize("path", FILES[::7], ids=NAMES[::7])
async def test_setup_copies_and_opens_and_postconfig_saves(path: Path) -> None:
    task, check, input_file, _ = parts(path)
    assert problems(task) == []
    assert task.domain == "calc"
    assert task.instruction
    place = check["result"]["path"]
    name = place.rpartition("/")[2]
    machine = Machine(windows=["Untitled", f"{name} — LibreOffice Calc"])
    await TaskScorer(pause=at_once).prepare(task, machine)
    assert await machine.read_file(place) == input_file.read_bytes()
    assert any("libreoffice --calc" in line and place in line for line in machine.lines)


@pytest.mark.usefixtures("osworld_listed")
async def test_giving_up_on_a_task_that_can_be_done_scores_0() -> None:
    task, check, _, expected = parts(FILES[0])
    machine = Machine(windows=["Form"])
    await machine.write_file(check["result"]["path"], expected.read_bytes())
    assert (await TaskScorer(pause=at_once).score(task, machine, "infeasible")).value == 0.0


@pytest.mark.usefixtures("osworld_listed")
async def test_dead_machine_gives_no_score() -> None:
    task = load_task(FILES[0])
    with pytest.raises(EnvironmentFailed):
        await TaskScorer(pause=at_once).score(task, Machine(dead=True), "succeeded")
    with pytest.raises(EnvironmentFailed, match="gone"):
        await TaskScorer(pause=at_once).prepare(task, Machine(dead=True))


@pytest.mark.usefixtures("osworld_listed")
def test_a_task_without_its_files_is_named(tmp_path: Path) -> None:
    path = tmp_path / FILES[0].name
    path.write_bytes(FILES[0].read_bytes())
    problem_list = problems(load_task(path))
    assert len(problem_list) == 2
    assert "copyfile_from_host_to_guest" in problem_list[0]
    assert "no such file" in problem_list[0]
    for file in FILES[0].parent.glob("*.xlsx"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    assert problems(load_task(path)) == []
