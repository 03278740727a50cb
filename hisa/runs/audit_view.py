"""The decisions of a run, in order, with who allowed what; for the terminal and as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from rich.text import Text

from hisa.events import Confirmed, Decided, PersonActed
from hisa.runs import wording
from hisa.runs.read import Run
from hisa.runs.wording import one_line

__all__ = ["audit_json", "audit_lines", "decision_tone", "told_decision", "who_allowed"]

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


def told_decision(decided: Decided) -> str:
    """A decision on one line: verdict, rule, and who allowed it."""
    about = f" {'; '.join(decided.about)}" if decided.about else ""
    return f"{decided.verdict}: {decided.rule} ({who_allowed(decided)}){about}"


def audit_lines(run: Run) -> Iterator[Text]:
    """Yields one block a decision, a line an act of a person, and the sums."""
    found = _decisions(run)
    for decided in found:
        head = Text(f"step {decided.step}  ")
        head.append(decided.verdict, wording.STYLES[decision_tone(decided)])
        head.append(f"  {one_line(decided.tool, 60)}: {one_line(decided.what, 400)}")
        yield head
        yield Text(f"        {one_line(decided.rule, 400)}; {who_allowed(decided)}", "dim")
        if decided.why:
            yield Text(f"        why: {one_line(decided.why, 400)}", "dim")
        for about in decided.about:
            yield Text(f"        about: {one_line(about, 400)}", "dim")
    for confirmed in _others(run):
        said = "allowed" if confirmed.allowed else "refused"
        yield Text(f"step {confirmed.step}  {said} by a person: {one_line(confirmed.what, 400)}")
    for act in (event for event in run.events if isinstance(event, PersonActed)):
        yield Text(f"step {act.step}  {one_line(wording.person_act(act), 400)}")
    yield Text(_sums(found) if found else "no decision was logged")


def _sums(found: list[Decided]) -> str:
    counts = _counts(found)
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts["verdicts"].items())
    return (
        f"{counts['decisions']} decisions: {verdicts}; {counts['allowed']} allowed, "
        f"{counts['refused']} refused, {counts['asked']} asked"
    )


def _decisions(run: Run) -> list[Decided]:
    return [event for event in run.events if isinstance(event, Decided)]


def _others(run: Run) -> list[Confirmed]:
    """Returns what a person was asked by `run.confirm` and for a model's maker."""
    asked = {(e.step, e.at) for e in _policy_questions(run)}
    return [e for e in run.events if isinstance(e, Confirmed) and (e.step, e.at) not in asked]


def _policy_questions(run: Run) -> list[Confirmed]:
    """Questions that a decision followed at once."""
    pairs = zip(run.events, run.events[1:], strict=False)
    return [
        one
        for one, next_ in pairs
        if isinstance(one, Confirmed) and isinstance(next_, Decided) and next_.asked
    ]


def _counts(found: list[Decided]) -> dict[str, Any]:
    real = [decided for decided in found if not decided.dry_run]
    return {
        "decisions": len(found),
        "verdicts": dict(Counter(decided.verdict for decided in found)),
        "allowed": sum(decided.allowed for decided in real),
        "refused": sum(not decided.allowed for decided in real),
        "asked": sum(decided.asked for decided in found),
        "rules": dict(Counter(decided.rule for decided in found)),
    }


def audit_json(run: Run) -> dict[str, Any]:
    """All decisions of a run, questions to a person and a person's own acts, and the sums."""
    found = _decisions(run)
    return {
        "run": run.id,
        "decisions": [{**each.model_dump(), "by": who_allowed(each)} for each in found],
        "confirmed": [each.model_dump() for each in _others(run)],
        "person": [e.model_dump() for e in run.events if isinstance(e, PersonActed)],
        "counts": _counts(found),
    }
