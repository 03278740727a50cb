"""Live progress of a bench in the terminal: the sums, and what every worker is at."""

from __future__ import annotations

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from hisa.plugins.benchmarks.bench.ledger import AttemptLedger
from hisa.plugins.benchmarks.bench.schedule import Progress
from hisa.plugins.benchmarks.bench.summary import summarise
from hisa.runs import wording
from hisa.text.safe_text import safe_line

__all__ = ["Watch"]

_LANES = 16
"""Workers that are shown; of more, the first ones."""
_BAD = ("environment_error", "agent_broke_machine", "lost", "defect")
_STYLES = {"succeeded": "green", **dict.fromkeys(_BAD, "red")}


class Watch:
    """Shows progress: a redrawn block on a terminal, and a line when an attempt ends.

    Args:
        console: where to.
        ledger: for the sums.
    """

    def __init__(self, console: Console, ledger: AttemptLedger) -> None:
        self._console = console
        self._ledger = ledger
        self._lanes: dict[int, Progress] = {}
        self._counts = Text()
        self._live = Live(
            get_renderable=self._block, console=console, refresh_per_second=4, transient=True
        )

    def __enter__(self) -> Watch:
        self._count()
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def __call__(self, progress: Progress) -> None:
        """Show one thing that happened."""
        self._lanes[progress.lane] = progress
        if progress.end is None:
            return
        del self._lanes[progress.lane]
        self._count()
        self._console.print(self._ending(progress))

    def _ending(self, progress: Progress) -> Text:
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

    def _count(self) -> None:
        plan = self._ledger.plan
        sums = summarise(self._ledger.slot_state(slot) for slot in plan.slots)
        done = sums.slots - sums.missing
        self._counts = Text.assemble(
            (f"{done} of {sums.slots}", "bold"),
            f"  {sums.succeeded} of {sums.scored} scored succeeded",
            f", {sums.given_up} given up, {sums.environment_errors} environment errors"
            f", {sums.lost} lost",
        )

    def _block(self) -> Group:
        rows = [
            Text(
                f"  {lane + 1:>3}  {safe_line(f'{at.slot}, step {at.steps}')}",
                style="dim",
                overflow="ellipsis",
            )
            for lane, at in sorted(self._lanes.items())[:_LANES]
        ]
        return Group(self._counts, *rows)
