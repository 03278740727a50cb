"""Lists the policy's decisions in a run, and who made them, for the terminal and as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from rich.text import Text

from hisa.events import Confirmed, Decided, PersonActed
from hisa.runs import wording
from hisa.runs.run_reader import Run
from hisa.runs.wording import one_line

__all__ = ["audit_json", "audit_lines", "decision_tone", "describe_decision", "who_allowed"]

_WHO = {
    "once": "a person, once", "kind": "a person, for the whole run",
    "earlier": "a person, earlier in the run", "refuse": "a person refused",
    "stop": "a person stopped the run", "nobody": "nobody could be asked",
}  # fmt: skip


def who_allowed(decided: Decided) -> str:
    """Returns who decided: a person, a rule, or nobody."""
    if decided.dry_run:
        return "dry run, nothing was done"
    return _WHO.get(decided.answer) or (
        "allowed by the rules" if decided.allowed else "refused by the rules"
    )


def decision_tone(decided: Decided) -> str:
    """Returns the colour of a decision: good, calm, warn or bad."""
    if not decided.allowed:
        return "warn" if decided.dry_run else "bad"
    return "good" if decided.answer else "calm"


def describe_decision(decided: Decided) -> str:
    """Returns a decision on one line: verdict, rule, and who decided."""
    about = f" {'; '.join(decided.about)}" if decided.about else ""
    return f"{decided.verdict}: {decided.rule} ({who_allowed(decided)}){about}"


def audit_lines(run: Run) -> Iterator[Text]:
    """Yields a block for each decision, a line for each answer and act of a person, and totals."""
    for event in run.events:
        match event:
            case Decided():
                yield from _block(event)
            case Confirmed():
                answer = "allowed" if event.allowed else "refused"
                yield Text(f"step {event.step}  {answer} by a person: {one_line(event.what, 400)}")
            case PersonActed():
                yield Text(f"step {event.step}  {one_line(wording.person_act(event), 400)}")
            case _:
                pass
    decisions = [event for event in run.events if isinstance(event, Decided)]
    yield Text(_sums(decisions) if decisions else "no decision was logged")


def _block(decided: Decided) -> Iterator[Text]:
    head = Text(f"step {decided.step}  ")
    head.append(decided.verdict, wording.STYLES[decision_tone(decided)])
    head.append(f"  {one_line(decided.tool, 60)}: {one_line(decided.what, 400)}")
    yield head
    yield Text(f"        {one_line(decided.rule, 400)}; {who_allowed(decided)}", "dim")
    if decided.why:
        yield Text(f"        why: {one_line(decided.why, 400)}", "dim")
    for about in decided.about:
        yield Text(f"        about: {one_line(about, 400)}", "dim")


def _sums(decisions: list[Decided]) -> str:
    counts = _counts(decisions)
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts["verdicts"].items())
    return (
        f"{counts['decisions']} decisions: {verdicts}; {counts['allowed']} allowed, "
        f"{counts['refused']} refused, {counts['asked']} asked"
    )


def _counts(decisions: list[Decided]) -> dict[str, Any]:
    real = [decided for decided in decisions if not decided.dry_run]
    return {
        "decisions": len(decisions),
        "verdicts": dict(Counter(decided.verdict for decided in decisions)),
        "allowed": sum(decided.allowed for decided in real),
        "refused": sum(not decided.allowed for decided in real),
        "asked": sum(decided.asked for decided in decisions),
    }


def audit_json(run: Run) -> dict[str, Any]:
    """Returns all decisions of a run, a person's answers and acts, and totals, as plain data."""
    decisions = [event for event in run.events if isinstance(event, Decided)]
    return {
        "run": run.id,
        "decisions": [{**event.model_dump(), "by": who_allowed(event)} for event in decisions],
        "confirmed": [e.model_dump() for e in run.events if isinstance(e, Confirmed)],
        "person": [e.model_dump() for e in run.events if isinstance(e, PersonActed)],
        "counts": _counts(decisions),
    }
