from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hisa.errors import UsageError
from hisa.events import ModelCalled, Planned, StepFinished
from hisa.models.spending import Ledger, Totals
from hisa.protocols import Task
from hisa.runs import wording
from hisa.runs.log import RunLog
from hisa.runs.report import render_report
from hisa.runs.run_reader import load_run
from hisa.runs.terminal_view import run_json, step_json, step_text, summary
from tests.runs.sample import build


def render(*parts: Text | Table, width: int = 300) -> str:
    """What a terminal of that width shows."""
    shown = io.StringIO()
    console = Console(file=shown, width=width, highlight=False, markup=False)
    for part in parts:
        console.print(part)
    return shown.getvalue()


def test_the_summary_fits_the_width_and_has_a_line_a_step(tmp_path: Path) -> None:
    run = load_run(build(tmp_path))
    lines = render(*summary(run), width=80).splitlines()
    assert "succeeded, score 1.00, done" in lines
    steps = [line for line in lines if line[:2].strip().isdigit() and line[4:6] == "  "]
    assert len(steps) == 11
    assert max(map(len, lines)) <= 80
    assert "bash_execution" in steps[3]
    assert "Failed." in steps[3]
    assert any("learned (success) After Ctrl+S" in line for line in lines)


def test_step_text_shows_the_step_in_full(tmp_path: Path) -> None:
    run = load_run(build(tmp_path))
    text = step_text(run, 3)
    assert "place: cell B5 -> (277, 277) by accessibility 0.93" in text
    assert "rejected reply 1: not a JSON object" in text
    assert "failed call: planner rate_limit slow down" in text
    assert "no place found: the green tick" in step_text(run, 6)
    assert "exit status: 1" in step_text(run, 4)
    assert "refined context: Steps 1~5" in step_text(run, 5)
    assert {event["type"] for event in step_json(run, 3)} >= {"planned", "acted", "plan_rejected"}
    with pytest.raises(UsageError, match="no step 99; it has steps 1 to 11"):
        step_text(run, 99)


def test_the_data_of_a_run_names_its_steps(tmp_path: Path) -> None:
    run = load_run(build(tmp_path, finish=False))
    data = run_json(run)
    assert data["status"] == "unfinished"
    assert [step["finished"] for step in data["steps"]] == [True] * 11 + [False]
    assert data["steps"][11]["input"] == "1"
    assert data["steps"][11]["acts"] == []


def test_a_terminal_cannot_be_steered(tmp_path: Path) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J[bold]x[/bold]\u202egpj\x9b31m\r\nnext"
    with RunLog.create(tmp_path, Task("t", hostile)) as log:
        log.step = 1
        log.emit(Planned(thought=hostile, tool="wait" + hostile, input=hostile))
        log.emit(StepFinished())
    run = load_run(log.folder)
    shown = render(*summary(run)) + step_text(run, 1)
    assert not set(shown) & {"\x1b", "\x07", "\x9b", "\u202e", "\r"}
    assert "[bold]x[/bold]" in shown, "markup is text"


def test_fresh_and_cached_tokens_are_shown_apart_everywhere(tmp_path: Path) -> None:
    called = ModelCalled(
        role="planner",
        model="m",
        tokens_in=2000,
        tokens_out=300,
        usd=0.5,
        cached_in=1536,
        reasoning_out=250,
    )
    with RunLog.create(tmp_path, Task("t", "Look.")) as log:
        log.step = 1
        log.emit(called)
        log.emit(called.model_copy(update={"role": "state", "cached_in": 0, "reasoning_out": 0}))
        log.emit(StepFinished())
    run = load_run(log.folder)
    parts = "4,600 tokens (2,464 fresh and 1,536 cached in, 600 out)"
    assert parts in render(*summary(run))
    text = step_text(run, 1)
    assert "planner m: 464 fresh and 1,536 cached in, 300 out (250 of them reasoning), 0 im" in text
    assert "state m: 2,000 in, 300 out, 0 images" in text
    totals = run_json(run)["totals"]
    assert totals["roles"]["planner"]["cached_in"] == 1536
    assert "464 fresh and 1,536 cached in, <b>300</b> out" in render_report(run)
    assert Ledger.from_events(run.events).total.fresh_in == 2464


def test_money_is_honest_about_calls_without_a_price() -> None:
    roles = {"planner": Totals(calls=2, usd=0.5), "state": Totals(calls=1, unpriced=1)}
    assert wording.total_money(roles) == "≥ $0.5000"
    assert wording.role_money(0, 3, 3) == "–"
    assert wording.role_money(0, 0, 0) == "$0"
