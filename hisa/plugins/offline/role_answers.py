"""Finds the job of a request, and answers it: a pure function of the request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hisa.plugins.offline.attempt_rules import pick_attempt
from hisa.plugins.offline.lessons import induce_patterns, synthesise_advice
from hisa.plugins.offline.next_call import plan, read_sections
from hisa.plugins.offline.state_answers import abstract_step, refine_context

__all__ = ["Turn", "Unanswerable", "answer"]

_SECTIONS = {
    "# Global planner": ("task",),
    "# Step abstraction": ("action", "outcome", "changes"),
    "# Context refinement": ("task", "previous_summary", "new_steps"),
    "# Pattern induction": ("task", "steps"),
    "# Pattern synthesis": ("task", "requirements", "lessons"),
    "# Best run": ("attempts",),
}
"""The heading of each known system prompt, and the sections of its user message."""
_LIMIT = re.compile(r"\bat most (\d{1,5}) tokens\b")


class Unanswerable(ValueError):
    """The request has no known job, or lacks what the job needs."""


@dataclass(frozen=True)
class Turn:
    """The text of one message."""

    role: str
    text: str


def answer(turns: Sequence[Turn]) -> str:
    """Returns the reply to a conversation.

    Raises:
        Unanswerable: it has no known job, or lacks what the job needs.
    """
    system = next((turn.text for turn in turns if turn.role == "system"), "")
    lines = [line.strip() for line in system.strip().split("\n")]
    job = next((line for line in lines if line in _SECTIONS), lines[0])
    if job not in _SECTIONS:
        raise Unanswerable(
            f"unknown job {job[:80]!r}: a line of the system prompt must be one of "
            f"{', '.join(map(repr, _SECTIONS))}"
        )
    user = next((turn for turn in turns if turn.role == "user"), None)
    if user is None:
        raise Unanswerable("a user message is needed")
    sections = read_sections(user.text, _SECTIONS[job])
    again = any(turn.role == "assistant" for turn in turns)
    match = _LIMIT.search(system)
    # A second request means that the first answer was too long: half the limit is safe.
    limit = int(match[1]) // (2 if again else 1) if match else None
    match job:
        case "# Global planner":
            return _plan(turns, user.text, sections)
        case "# Step abstraction":
            return abstract_step(sections, limit=limit)
        case "# Context refinement":
            return refine_context(sections, limit=limit)
        case "# Pattern induction":
            return induce_patterns(sections)
        case "# Best run":
            return pick_attempt(sections)
        case _:
            return synthesise_advice(sections, limit=limit)


def _plan(turns: Sequence[Turn], user: str, sections: dict[str, str]) -> str:
    if not sections:
        raise Unanswerable("the planner's user message needs a <task> section")
    later = [turn for turn in turns if turn.role in ("assistant", "user")][1:]
    if [turn.role for turn in later[-2:]] != ["assistant", "user"]:
        return plan(user)
    match = re.search(r"^Reason: (.+)$", later[-1].text, re.M)
    return plan(user, (later[-2].text, match[1] if match else later[-1].text[:300]))
