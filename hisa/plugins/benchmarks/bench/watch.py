"""Progress of a bench in the terminal: a line for each attempt that ends."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from hisa.plugins.benchmarks.bench.schedule import Progress
from hisa.runs import wording
from hisa.text.safe_text import safe_line

__all__ = ["show_ending"]

_BAD = ("environment_error", "agent_broke_machine", "lost", "defect")
_STYLES = {"succeeded": "green", **dict.fromkeys(_BAD, "red")}


def show_ending(console: Console, progress: Progress) -> None:
    """Print a line if the attempt has ended."""
    if progress.end is not None:
        console.print(_ending(progress))


def _ending(progress: Progress) -> Text:
    again = f" (try {progress.number})" if progress.number > 1 else ""
    style = _STYLES.get(progress.end or "", "yellow")
    score = ""
    if progress.end != "lost":
        score = f" {wording.score(progress.score_state, progress.score)}"
    if progress.score_state != "unscored" and not progress.success:
        style = "yellow"
    text = Text(f"{progress.end:<18}", style=style)
    text.append(
        safe_line(f"{progress.slot}{again}{score}, {progress.steps} steps"), style="default"
    )
    checked = progress.score_state != "score_failed"
    if progress.end not in ("succeeded", "infeasible", "ended", "max_steps") or not checked:
        last = (progress.message.strip().splitlines() or [""])[-1]
        text.append(f": {safe_line(last, 200)}", style="dim")
    return text
