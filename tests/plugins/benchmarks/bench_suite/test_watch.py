"""What a person sees while a bench runs."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from hisa.plugins.benchmarks.bench.attempt_records import Slot
from hisa.plugins.benchmarks.bench.ledger import AttemptLedger
from hisa.plugins.benchmarks.bench.schedule import Progress
from hisa.plugins.benchmarks.bench.watch import Watch
from tests.plugins.benchmarks.bench_suite.sample import fill, plan


@pytest.mark.parametrize("terminal", [True, False])
def test_it_shows_what_ended_and_the_sums(tmp_path: Path, terminal: bool) -> None:
    written = io.StringIO()
    console = Console(
        file=written,
        force_terminal=terminal,
        width=100,
        soft_wrap=True,
        _environ={"TERM": "xterm"},
    )
    book = AttemptLedger(tmp_path, plan(tasks=3))
    one, two, three = book.plan.slots
    with Watch(console, book) as watch:
        for lane, slot in enumerate((one, two, three)):
            watch(Progress(lane, slot, 1, "host:1"))
        fill(book, one, steps=4, status="succeeded", score=1.0)
        watch(Progress(0, one, 1, "host:1", 4, "succeeded", 1.0, score_state="scored"))
        watch(Progress(1, two, 2, "host:2", 1, "lost", None, "first\nworker was killed"))
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.getvalue())
    assert "full/task-00#1 score 1.00, 4 steps" in text
    assert "full/task-01#1 (try 2), 1 steps: worker was killed" in text
    assert ("1 of 1 scored succeeded, of 3 planned" in text) is terminal
    book.close()


def test_a_hostile_task_id_is_plain_text(tmp_path: Path) -> None:
    written = io.StringIO()
    book = AttemptLedger(tmp_path, plan(tasks=1))
    with Watch(Console(file=written, width=100), book) as watch:
        slot = Slot("full", "[red]x[/red]", 1)
        watch(Progress(0, slot, 1, "host:1", 1, "succeeded", 1.0))
    assert "[red]x[/red]" in written.getvalue()
    book.close()
