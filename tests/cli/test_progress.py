"""The progress of a run on a terminal."""

from __future__ import annotations

import io

from rich.console import Console

from hisa.cli.progress import Progress
from hisa.events import Abstracted, Noted, Planned


def test_reply_progress_line_is_replaced_by_the_next_line() -> None:
    shown = io.StringIO()
    progress = Progress(Console(file=shown, force_terminal=True, color_system=None, width=30), 50)
    progress.answering("planner", "reads 1,200 of 1,700 tokens \x1b[31m")
    assert shown.getvalue() == "\r\x1b[K  planner  … reads 1,200 of …"
    progress.answering("planner", "140 tokens")  # too soon
    progress(Noted(where="log", text="done"))
    assert shown.getvalue().partition("of …")[2] == "\r\x1b[K  log      done\n"
    progress(Noted(where="log", text="again"))
    assert shown.getvalue().endswith("done\n  log      again\n")


def test_how_a_run_ends_is_left_to_its_result() -> None:
    shown = io.StringIO()
    progress = Progress(Console(file=shown), 50)
    progress(Planned(step=3, thought="all done", tool="termination", input="The list is saved."))
    progress(
        Abstracted(step=3, line="", result="Succeeded. The list is saved.", verdict="succeeded")
    )
    assert "all done" in shown.getvalue()
    assert "action   termination" in shown.getvalue()
    assert "The list is saved." not in shown.getvalue()
    progress(Abstracted(step=3, line="", result="Failed. It is refused.", verdict="failed"))
    progress(Planned(step=4, thought="again", tool="wait", input="1"))
    progress(Abstracted(step=4, line="", result="Succeeded. It came.", verdict="succeeded"))
    assert "It is refused." in shown.getvalue()
    assert "It came." in shown.getvalue()
