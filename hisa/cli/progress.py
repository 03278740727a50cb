"""Live progress of a run in the terminal: one block per step, printed as its events arrive."""

from __future__ import annotations

import time
from typing import Any

from rich.console import Console
from rich.text import Text

from hisa.events import (
    Abstracted,
    Chosen,
    Event,
    Failed,
    GroundingFailed,
    GroundingTried,
    Guidance,
    Induced,
    LoopDetected,
    ModelCalled,
    ModelFailed,
    Noted,
    PersonActed,
    Planned,
    PlanRejected,
    Refined,
    RuleEntered,
    RunResumed,
    SequenceStopped,
    StepFinished,
)
from hisa.models.spending import Ledger, Totals
from hisa.runs.wording import STYLES, describe_choice, describe_try, person_act, verdict_tone
from hisa.text.safe_text import safe_line

__all__ = ["Progress"]

_WIDTH = 400  # chosen by hand
_PASSING_SECONDS = 0.25
"""Least time between two passing lines; chosen by hand."""
_ENDING = ("termination", "infeasible")
_OVER = "\r\x1b[K"
"""Overwrites the current line."""


def _flat(value: Any) -> str:
    return safe_line(str(value), _WIDTH)


class Progress:
    """Prints events as they arrive; text of a model never steers the terminal.

    Args:
        console: prints them, usually to standard error or output.
        max_steps: the limit in "step 3 of at most 50".
    """

    def __init__(self, console: Console, max_steps: int) -> None:
        self._console = console
        self._max_steps = max_steps
        self._started = time.monotonic()
        self._ledger = Ledger()
        self._ends = False
        self._passing = 0.0
        """When the passing line was written; 0 if none is shown."""
        self.outcome_of_learning = False
        """Whether the end of learning was shown: a lesson, or why there is none."""

    def __call__(self, event: Event) -> None:
        """Show one event."""
        if self._passing:
            self._passing = 0.0
            self._console.file.write(_OVER)
        match event:
            case Guidance():
                self._guidance(event)
            case Planned():
                self._show_plan(event)
            case Abstracted() if not (self._ends and event.verdict == "succeeded"):
                self._line("result", event.result, STYLES[verdict_tone(event.verdict)])
            case ModelCalled():
                self.count(event)
            case StepFinished():
                self._line("so far", self.summary(), "dim")
            case PersonActed():
                self._line("person", person_act(event), "cyan")
            case _:
                self._rare(event)

    def answering(self, role: str, text: str) -> None:
        """Show a reply as it arrives, on a line that the next event overwrites.

        Nothing is shown if the output is no terminal.
        """
        console, now = self._console, time.monotonic()
        plain = console.quiet or not console.is_terminal or console.is_dumb_terminal
        if plain or now - self._passing < _PASSING_SECONDS:
            return
        self._passing = now
        line = f"  {role:<9}" + safe_line(f"… {text}", max(2, console.width - 12))
        console.file.write(_OVER + line)
        console.file.flush()

    @property
    def spent(self) -> Totals:
        """Tokens and money so far."""
        return self._ledger.total

    def summary(self) -> str:
        """Tokens, money and time so far."""
        spent = self.spent
        money = f"${spent.usd:.4f}" + (" + calls of unknown price" if spent.unpriced else "")
        seconds = time.monotonic() - self._started
        cached = f" ({spent.cached_in} cached)" if spent.cached_in else ""
        tokens = f"{spent.tokens_in} tokens in{cached}, {spent.tokens_out} out"
        return f"{tokens}, {money}, {seconds:.1f} s"

    def _rare(self, event: Event) -> None:
        match event:
            case PlanRejected():
                self._line("reply", f"refused ({event.attempt}): {event.error}", "yellow")
            case ModelFailed():
                again = "" if event.retry_in is None else f"; retry in {event.retry_in:.1f} s"
                self._line(event.role, f"{event.kind}: {event.message}{again}", "yellow")
            case GroundingFailed():
                self._line("place", event.reason, "yellow")
            case GroundingTried(verdict="doubted" | "no_point" | "unavailable" | "none"):
                self._line("place", describe_try(event), "yellow")
            case SequenceStopped():
                message = f"{event.made} of {event.of} actions done: {event.reason}"
                self._line("stopped", message, "yellow")
            case Chosen():
                decided = event.by not in ("votes", "nobody")
                self._line("chosen", describe_choice(event), "dim" if decided else "yellow")
            case RuleEntered():
                self._line("advice", event.rule, "cyan")
            case LoopDetected():
                self._line("loop", f"{event.action}, {event.times} times", "yellow")
            case Refined():
                self._line("context", f"refined: {event.text}", "dim")
            case Induced():
                self.outcome_of_learning = True
                old = f" (replaces {event.superseded})" if event.superseded else ""
                again = "again, " if event.confirmed else ""
                self._line("learned", f"{again}{event.kind}: {event.lesson}{old}", "cyan")
            case RunResumed():
                self._line("resumed", f"desktop {event.desktop} {event.detail}", "cyan")
            case Noted():
                self.outcome_of_learning = event.where == "learning"
                warns = event.where in ("budget", "settings")
                self._line(event.where, event.text, "yellow" if warns else "dim")
            case Failed():
                self.outcome_of_learning = True
                self._line("broken", f"{event.where}: {event.message}", "red")
            case _:
                pass

    def _guidance(self, event: Guidance) -> None:
        for hit in event.patterns:
            origin = f" [from run {hit.source_run}]" if hit.source_run else ""
            self._line("recalled", f"{hit.score:.2f} {hit.kind}: {hit.lesson}{origin}", "cyan")
        lines = event.advice.splitlines()
        others = [line for line in lines if not line.startswith("- MUST")]
        if rules := len(lines) - len(others):
            others.insert(0, f"{rules} binding rules; hisa runs report shows them")
        for line in others:
            self._line("advice", line, "cyan")

    def _show_plan(self, event: Planned) -> None:
        lines = [
            Text(),
            Text(f"step {event.step} of at most {self._max_steps}", "bold"),
            _label_line("thought", event.thought),
        ]
        if event.note is not None:
            lines.append(_label_line("note", event.note or "(all dropped)"))
        self._ends = event.tool in _ENDING
        for call in event.sequence:
            shown = f"{call.tool}  {'' if self._ends else _flat(call.input)}"
            lines.append(_label_line("action", shown, "bold"))
            if call.description:
                lines.append(_label_line("target", call.description))
        self._print(*lines)

    def count(self, event: Event) -> None:
        """Add a model call to the totals; other events are ignored."""
        self._ledger.add(event)

    def _line(self, label: str, value: str, style: str = "") -> None:
        self._print(_label_line(label, value, style))

    def _print(self, *lines: Text) -> None:
        for line in lines:
            self._console.print(line, soft_wrap=True)


def _label_line(label: str, value: str, style: str = "") -> Text:
    line = Text(f"  {safe_line(label, 40):<9}", "dim")
    return line.append(_flat(value), style)
