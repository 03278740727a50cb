"""Live progress of a bench in the terminal: a line for each attempt that ends, and the sums."""

from __future__ import annotations

from rich.console import Console
from rich.status import Status
from rich.text import Text

from hisa.plugins.benchmarks.bench.ledger import AttemptLedger
from hisa.plugins.benchmarks.bench.schedule import Progress
from hisa.plugins.benchmarks.bench.summary import summarise
from hisa.runs import wording
from hisa.text.safe_text import safe_line

__all__ = ["Watch"]

_BAD = ("environment_error", "agent_broke_machine", "lost", "defect")
_STYLES = {"succeeded": "green", **dict.fromkeys(_BAD, "red")}


class Watch:
    """Shows progress: a line when an attempt ends, and on a terminal the sums below them.

    Args:
        console: where to.
        ledger: for the sums.
    """

    def __init__(self, console: Console, ledger: AttemptLedger) -> None:
        self._console = console
        self._ledger = ledger
        self._status = Status("", console=console)

    def __enter__(self) -> Watch:
        self._count()
        if self._console.is_terminal:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def __call__(self, progress: Progress) -> None:
        """Show one thing that happened."""
        if progress.end is not None:
            self._console.print(_ending(progress))
            self._count()

    def _count(self) -> None:
        plan = self._ledger.plan
        self._status.update(summarise(self._ledger.slot_state(slot) for slot in plan.slots).words())


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
