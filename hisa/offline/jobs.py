"""Which job a request is, and its answer: a pure function of the request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hisa.observation import Screenshot
from hisa.offline.abstraction import abstract_step
from hisa.offline.lessons import induce_patterns, synthesise_advice
from hisa.offline.planner import plan
from hisa.offline.refinement import refine_context
from hisa.offline.sections import read_sections

__all__ = ["JOBS", "Turn", "Unanswerable", "answer"]

JOBS = (
    "# Global planner",
    "# Step abstraction",
    "# Context refinement",
    "# Pattern induction",
    "# Pattern synthesis",
)
"""First lines of the system prompts that are known."""
_LIMIT = re.compile(r"\bat most (\d{1,5}) tokens\b")


class Unanswerable(ValueError):
    """The request is for no known job, or what the job needs is absent or broken."""


@dataclass(frozen=True)
class Turn:
    """One message: its text, and its pictures in order, encoded."""

    role: str
    text: str
    images: Sequence[bytes] = ()


def answer(turns: Sequence[Turn]) -> str:
    """The reply to a conversation.

    Raises:
        Unanswerable: no known job, or what the job needs is absent or broken.
    """
    system = next((turn.text for turn in turns if turn.role == "system"), "")
    job = system.lstrip().split("\n", 1)[0].strip()
    if job not in JOBS:
        raise Unanswerable(
            f"unknown job {job[:80]!r}: the first line of the system prompt must be one of "
            f"{', '.join(map(repr, JOBS))}"
        )
    user = next((turn for turn in turns if turn.role == "user"), None)
    if user is None:
        raise Unanswerable("a user message is needed")
    if job == "# Global planner":
        return _plan(turns, user.text)
    limits = [int(number) for number in _LIMIT.findall(system)]
    again = any(turn.role == "assistant" for turn in turns)
    limit = limits[0] if limits else None
    # Asked again because the first answer was too long: half of what was allowed is safe.
    return _STATE_JOBS[job](user, limit // 2 if limit and again else limit)


def _plan(turns: Sequence[Turn], user: str) -> str:
    if not read_sections(user, ("task",)):
        raise Unanswerable("the planner's user message needs a <task> section")
    later = [turn for turn in turns if turn.role in ("assistant", "user")][1:]
    rejected = ()
    if len(later) >= 2 and later[-2].role == "assistant" and later[-1].role == "user":
        return plan(user, (later[-2].text, _complaint(later[-1].text)))
    return plan(user, rejected)


def _complaint(correction: str) -> str:
    found = re.search(r"^Reason: (.+)$", correction, re.M)
    return found[1] if found else correction[:300]


def _abstraction(user: Turn, limit: int | None) -> str:
    sections = read_sections(user.text, ("action", "outcome", "changes"))
    encoded = () if sections.get("changes") else user.images
    try:
        images = [Screenshot.from_png(data) for data in encoded]
    except ValueError as error:
        raise Unanswerable(str(error)) from error
    return abstract_step(sections, images, limit=limit)


def _refinement(user: Turn, limit: int | None) -> str:
    sections = read_sections(user.text, ("task", "previous_summary", "new_steps"))
    return refine_context(sections, limit=limit)


def _induction(user: Turn, limit: int | None) -> str:
    return induce_patterns(read_sections(user.text, ("task", "steps")))


def _synthesis(user: Turn, limit: int | None) -> str:
    sections = read_sections(user.text, ("task", "requirements", "lessons"))
    return synthesise_advice(sections, limit=limit)


_STATE_JOBS = {
    "# Step abstraction": _abstraction,
    "# Context refinement": _refinement,
    "# Pattern induction": _induction,
    "# Pattern synthesis": _synthesis,
}
