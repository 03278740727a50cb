"""Whether a run used a pattern: a thought cites its mark.

Being advised with a lesson is no use of it, nor is it to succeed with it in the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hisa.protocols import StepSummary

__all__ = ["cited", "mark", "used"]

_CITATION = re.compile(r"\[(p\d{1,2}(?:\s*[,;]\s*p\d{1,2})*)\]")


def mark(number: int) -> str:
    """Returns the mark that cites the pattern at that place of the advice, counted from 1."""
    return f"p{number}"


def cited(thought: str) -> frozenset[str]:
    """The marks that a thought names."""
    groups = _CITATION.findall(thought)
    return frozenset(found for group in groups for found in re.findall(r"p\d+", group))


def used(number: int, steps: Sequence[StepSummary]) -> bool:
    """Whether a step cites the pattern at that place of the advice."""
    return any(mark(number) in cited(step.thought) for step in steps)
