"""Lessons of finished runs, as they are kept and retrieved: records without behaviour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Pattern", "PatternHit", "Scope", "StepSummary"]

Scope = Literal["application", "family", "page"]
"""Every task of an application (domain), one kind of task, or one page or dialog."""


@dataclass(frozen=True)
class Pattern:
    """A lesson from a finished run (HiSA, section 3.3.3).

    ``uses`` counts runs that cited the lesson, not those merely advised with it.
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
    """Further kinds of tasks it belongs to, inherited from what it superseded or confirmed."""
    scored: int = 0
    """Runs among ``uses`` that had a score; ``wins`` counts among these."""
    confirmed: int = 0
    """Further runs that taught the same."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """Every kind of task it belongs to; its own first."""
        return tuple(text for text in (self.condition, *self.other_conditions) if text)


@dataclass(frozen=True, slots=True)
class StepSummary:
    """A step that was done, as far as patterns are credited by it."""

    thought: str
    line: str


@dataclass(frozen=True, slots=True)
class PatternHit:
    """A retrieved pattern and its cosine similarity."""

    pattern: Pattern
    score: float
