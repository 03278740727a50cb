"""The base of all events, and the records that several events contain."""

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
    """The time and the step of an event; each kind of event has a ``type`` of its own."""

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
    """Whether the advice cites it; the cited ones come first, in the order of their marks."""


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
    """Its text or value; never that of a password field."""
    states: tuple[str, ...] = ()
    box: tuple[float, float, float, float]
    neighbours: tuple[ElementFound, ...] = ()
    """The nearest other elements with words."""


class PlaceFound(BaseModel):
    """A description and the place where it was found, in image pixels."""

    model_config = ConfigDict(frozen=True, defer_build=True)
    description: str
    x: float
    y: float
    score: float | None = None
    source: str = ""
    """"accessibility", "eyes", "shapes", "ocr", "planner", "mark" or the grounding model's name."""
    label: str = ""
    """The name that the grounder gives to what it chose."""
    element: ElementFound | None = None
    """The element that was chosen, or the one at the point; None if no element is known there."""
    chosen: bool = False
    """Whether ``element`` was chosen; if not, a point was, and ``element`` is the one there."""
