"""What every event has, and the records that several of them hold."""

from __future__ import annotations

import time
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

EVENT_VERSION = 1

__all__ = [
    "ElementFound",
    "EventBase",
    "PatternUse",
    "PlaceFound",
    "PlannedCall",
]


class EventBase(BaseModel):
    """When it happened, and at which step; each kind of event has a ``type`` of its own."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)
    v: int = EVENT_VERSION
    at: float = Field(default_factory=time.time)
    """Seconds since 1970."""
    step: int = 0


class PatternUse(BaseModel):
    """A pattern that was retrieved, with its cosine similarity."""

    model_config = ConfigDict(frozen=True, defer_build=True)
    id: str
    kind: str
    lesson: str
    score: float
    source_run: str = ""
    shown: bool = True
    """Whether the advice mentions it; those mentioned come first, in the order of their marks."""


class PlannedCall(BaseModel):
    """One call of a planner's reply."""

    model_config = ConfigDict(frozen=True, defer_build=True)
    tool: str
    input: Any
    description: str = ""
    description_2: str = ""


class ElementFound(BaseModel):
    """An element of the screen; ``box`` is left, top, right, bottom in image pixels."""

    model_config = ConfigDict(frozen=True, defer_build=True)
    role: str
    name: str = ""
    value: str = ""
    """What stands in it; never of a password."""
    states: tuple[str, ...] = ()
    box: tuple[float, float, float, float]
    neighbours: tuple[ElementFound, ...] = ()
    """The nearest others that have words."""


class PlaceFound(BaseModel):
    """A placeholder and where it was found, in image pixels."""

    model_config = ConfigDict(frozen=True, defer_build=True)
    description: str
    x: float
    y: float
    score: float | None = None
    source: str = ""
    """"accessibility", "shapes", "ocr", "planner", "mark" or the grounding model's name."""
    label: str = ""
    """What was chosen, as the grounder names it."""
    element: ElementFound | None = None
    """What was chosen, or lies at the point; None where no element is known there."""
    chosen: bool = False
    """Whether ``element`` was chosen; else a point was, and this lies there."""
