"""What a person sees while a bench runs."""

from __future__ import annotations

import io

from rich.console import Console

from hisa.plugins.benchmarks.bench.attempt_records import Slot
from hisa.plugins.benchmarks.bench.schedule import Progress
from hisa.plugins.benchmarks.bench.watch import show_ending


def test_ended_attempt_is_shown_as_a_plain_text_line() -> None:
    written = io.StringIO()
    console = Console(file=written, width=100, soft_wrap=True)
    first, second, hostile = (Slot("full", name, 1) for name in ("one", "two", "[red]x[/red]"))
    show_ending(console, Progress(first, 1, "host:1"))
    assert not written.getvalue()
    show_ending(console, Progress(first, 1, "host:1", 4, "succeeded", 1.0, score_state="scored"))
    show_ending(console, Progress(second, 2, "host:2", 1, "lost", None, "first\nworker was killed"))
    show_ending(console, Progress(hostile, 1, "host:1", 1, "succeeded", 1.0))
    text = written.getvalue()
    assert "full/one#1 score 1.00, 4 steps" in text
    assert "full/two#1 (try 2), 1 steps: worker was killed" in text
    assert "[red]x[/red]" in text
