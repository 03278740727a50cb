"""The lessons of finished runs, as they are stored and retrieved: records without behaviour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Pattern", "PatternHit", "Scope", "StepSummary"]

Scope = Literal["application", "family", "page"]
"""Where a lesson holds: in all tasks of an application (domain), in one kind of task ("family"), or
on one page or dialog."""


@dataclass(frozen=True)
class Pattern:
    """A lesson from a finished run (HiSA, section 3.3.3).

    ``uses`` counts the runs that cited the lesson, not all whose advice had it.
    """

    id: str
    domain: str
    kind: Literal["success", "failure"]
    lesson: str
    condition: str = ""
    actions: str = ""
    expected: str = ""
    source_run: str = ""
    embedder: str = ""
    created_at: float = 0.0
    uses: int = 0
    wins: int = 0
    status: Literal["active", "superseded", "removed"] = "active"
    superseded_by: str = ""
    scope: Scope = "family"
    """Where the lesson holds; decides how it is retrieved."""
    other_conditions: tuple[str, ...] = ()
    """Further kinds of tasks that it applies to, from patterns that it superseded or that confirmed
    it."""
    scored: int = 0
    """The number of runs among ``uses`` that had a score; ``wins`` counts the won ones of these."""
    confirmed: int = 0
    """The number of further runs that taught the same."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """All kinds of tasks that it applies to; its own first."""
        return tuple(text for text in (self.condition, *self.other_conditions) if text)


@dataclass(frozen=True, slots=True)
class StepSummary:
    """Thought and line of a step; its thought may cite patterns."""

    thought: str
    line: str


@dataclass(frozen=True, slots=True)
class PatternHit:
    """A retrieved pattern and its cosine similarity."""

    pattern: Pattern
    score: float
