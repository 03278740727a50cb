"""Partial success, actions a step, step time and task time, from run folders worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hisa.cli import cli
from hisa.events import Acted, Evaluated, Planned, RunFinished, StepFinished
from hisa.plugins.benchmarks.bench.attempt_records import (
    AttemptFinished,
    AttemptRunning,
    AttemptStarted,
)
from hisa.plugins.benchmarks.bench.bench_report import Group, Report, build_report
from hisa.plugins.benchmarks.bench.ledger import AttemptLedger
from hisa.plugins.benchmarks.bench.stats import t95
from hisa.plugins.benchmarks.bench.tables import Table, tables
from hisa.protocols import Task
from hisa.runs.log import RunLog
from tests.plugins.benchmarks.bench_suite.sample import plan

CLICK = Acted(tool="gui_action", input="pyautogui.click(1, 1)", ok=True)
COMMAND = Acted(tool="bash_execution", input="false", ok=False, exit_code=1)
REFUSED = Acted(tool="gui_action", input="", ok=False, error="not found")
DONE = Acted(tool="termination", input="done", ok=True, ends="succeeded")
OLD_DONE = Acted(tool="infeasible", input="cannot", ok=True)
TITLE = "Partial success and efficiency"

Step = tuple[Sequence[Acted], dict[str, float]]


def attempt(
    book: AttemptLedger,
    task: str,
    steps: Sequence[Step],
    *,
    repeat: int = 1,
    partial: float | None = None,
    **more: Any,
) -> Path:
    """Write an attempt with these steps; returns its run folder."""
    key: dict[str, Any] = {"variant": "full", "task": task, "repeat": repeat, "try": 1}
    book.write(AttemptStarted.model_validate({**key, "worker": "host:1"}))
    with RunLog.create(book.runs, Task(task, "Do it.")) as log:
        for number, (acts, seconds) in enumerate(steps, 1):
            log.step = number
            log.emit(Planned(thought="On.", tool="gui_action", input=""))
            for act in acts:
                log.emit(act)
            log.emit(StepFinished(seconds=seconds))
        scored = {"score": 0.0, "score_state": "scored", "partial": partial, **more}
        log.emit(Evaluated.model_validate(scored))
        log.emit(RunFinished.model_validate({"exit_status": "max_steps", **scored}))
        folder = log.folder
    book.write(AttemptRunning.model_validate({**key, "run": folder.name}))
    fields = {"run": folder.name, "status": "max_steps", "steps": len(steps)}
    fields |= {"score": 0.0, "score_state": "scored"}
    book.write(AttemptFinished.model_validate({**key, **fields, "partial": partial, **more}))
    return folder


def table(report: Report) -> Table:
    (match,) = [candidate for candidate in tables(report) if candidate.title == TITLE]
    return match


@pytest.fixture
def book(tmp_path: Path) -> AttemptLedger:
    return AttemptLedger(tmp_path / "bench", plan(tasks=4, repeat=2))


def group(book: AttemptLedger) -> Group:
    book.close()
    (variant,) = build_report(book.folder).variants
    return variant


def test_actions_are_those_that_ran_and_steps_without_any_are_left_out(
    book: AttemptLedger,
) -> None:
    steps: list[Step] = [
        ([CLICK], {"plan": 1.0}),
        ([CLICK, CLICK, COMMAND], {"plan": 1.0}),
        ([REFUSED], {"plan": 1.0}),
        ([CLICK, REFUSED], {"plan": 1.0}),
        ([OLD_DONE], {"plan": 1.0}),
        ([DONE], {"plan": 1.0}),
    ]
    attempt(book, "task-00", steps)
    attempt(book, "task-01", [([CLICK, DONE], {"plan": 1.0})])
    estimate = group(book).actions
    assert estimate.value == pytest.approx((1 + 3 + 1 + 1) / 4)
    assert (estimate.n, estimate.unknown) == (4, 0)
    assert estimate.low == 1.0, "no step that acted has less than one action"


DOUBLE = Acted(tool="gui_action", input="pyautogui.click(1, 1, clicks=2)", ok=True)
FILLED = Acted(
    tool="gui_action",
    input="pyautogui.click(1, 1)\nimport time\ntime.sleep(0.5)\npyautogui.write('a')",
    ok=True,
)
DRAGGED = Acted(
    tool="gui_action", input="pyautogui.moveTo(1, 1)\npyautogui.dragTo(9, 9, duration=1)", ok=True
)
HELD = Acted(
    tool="gui_action",
    input="pyautogui.keyDown('shift')\npyautogui.click(1, 1)\npyautogui.keyUp('shift')\n"
    "pyautogui.press('enter')",
    ok=True,
)
TAKEN_OUT = Acted(tool="gui_action", input="pyautogui.write('a'\u2026", ok=True)


def test_action_count_includes_every_click_text_key_and_drag(book: AttemptLedger) -> None:
    """As in OS-Catalyst's action space: a double click and a drag are one action each."""
    acts: list[Step] = [([act], {}) for act in (DOUBLE, FILLED, DRAGGED, HELD, TAKEN_OUT)]
    attempt(book, "task-00", [*acts, ([FILLED, COMMAND], {}), ([FILLED], {})])
    variant = group(book)
    assert variant.actions.value == pytest.approx((1 + 2 + 1 + 2 + 1 + 3 + 2) / 7)
    assert variant.multi_action.value == pytest.approx(4 / 7)
    assert variant.sequences == {
        "click, write": 2,
        "click, press": 1,
        "click, write, bash_execution": 1,
    }


def test_sequences_and_actions_by_domain_are_printed_of_a_bench(book: AttemptLedger) -> None:
    attempt(book, "task-00", [([FILLED], {}), ([CLICK], {})])
    attempt(book, "task-01", [([CLICK, CLICK], {}), ([FILLED], {}), ([FILLED], {})])
    book.close()
    output = print_table(book, "Sequences of actions")
    assert "| click, write | 3 (75.0%) |" in output
    assert "| click, click | 1 (25.0%) |" in output
    head, _, *rows = [line.split(" | ") for line in print_table(book, "By domain").splitlines()[2:]]
    assert {row[0]: row[head.index("A/S")].split()[0] for row in rows} == {
        "| excel": "1.50",
        "| jupyter": "2.00",
        "| Overall": "1.80",
    }
    assert "no table" in print_table(book, "Sequences")


def print_table(book: AttemptLedger, title: str) -> str:
    result = CliRunner().invoke(cli, ["bench", "report", str(book.folder), "--print", title])
    assert result.exit_code == 0, result.output
    assert not (book.folder / "report.html").exists()
    return result.output


def test_step_time_is_the_planners_and_task_time_that_of_all_phases(book: AttemptLedger) -> None:
    attempt(book, "task-00", [([CLICK], {"plan": 2.0, "act": 1.0}), ([DONE], {"plan": 4.0})])
    attempt(book, "task-00", [([CLICK], {"plan": 3.0, "observe": 0.5})], repeat=2)
    attempt(book, "task-01", [([CLICK], {"plan": 7.0, "ground": 3.0})])
    variant = group(book)
    assert variant.step_time.value == pytest.approx((2 + 4 + 3 + 7) / 4)
    assert variant.step_time.n == 4
    assert variant.task_time.value == pytest.approx((7 + 3.5 + 10) / 3)
    assert variant.task_time.n == 3
    spread = math.sqrt(2 * 2 * (10.5 - 2 * 41 / 6) ** 2) / 3  # two tasks, of two and one attempts
    assert variant.task_time.high == pytest.approx(41 / 6 + t95(1) * spread)
    assert variant.task_time.low == 0.0


def test_unknown_values_are_reported_and_not_counted(book: AttemptLedger) -> None:
    gone = attempt(book, "task-00", [([CLICK], {"plan": 1.0})])
    (gone / "run.json").unlink()
    attempt(book, "task-01", [([CLICK, CLICK], {})], partial=0.5)
    book.close()
    report = build_report(book.folder)
    ((_, success, partial, actions, several, step, task),) = table(report).rows
    assert success.startswith("0.0 [0.0, ")
    assert success.endswith(" (n 2)")
    assert partial.startswith("50.0 [")
    assert partial.endswith(" (n 1; not known for 1 attempt)")
    assert actions == "2.00 (n 1; not known for 1 attempt)", "one task has no interval"
    assert several == "100.0 (n 1; not known for 1 attempt)"
    assert step == "not known for 2 attempts"
    assert task.endswith(" (n 1; not known for 1 attempt)")
