"""What every grounder does around finding one place."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from hisa.actions import fill, slots, to_source
from hisa.errors import NotFound
from hisa.events import Grounded, GroundingFailed, GroundingTried, GroundingVerdict, PlaceFound
from hisa.protocols import Emit, GroundedCall, Place, ToolCall
from hisa.screen.geometry import Point
from hisa.screen.observation import Observation

__all__ = ["Locate", "place_found", "resolve", "tried"]

Locate = Callable[[str, Observation], Awaitable[Place]]
"""Finds one description; the point is in image space; raises `NotFound`."""


async def resolve(
    call: ToolCall, observation: Observation, *, locate: Locate, emit: Emit
) -> GroundedCall:
    """Find each slot's description and fill the actions in; a call without slots stays as it is.

    Raises:
        NotFound: a description is missing or was not found; the failure is recorded.
    """
    needed = slots(call.actions)
    if not needed:
        return GroundedCall(call, call.input, call.actions)
    started = time.monotonic()
    places: dict[int, Place] = {}
    for index in needed:
        description = call.description if index == 1 else call.description_2
        places[index] = await _find(description, index, observation, locate=locate, emit=emit)
    actions = fill(call.actions, {index: place.point for index, place in places.items()})
    source = to_source(actions)
    found = tuple(places.values())
    emit(
        Grounded(
            places=tuple(place_found(place) for place in found),
            input=source,
            seconds=time.monotonic() - started,
        )
    )
    return GroundedCall(call, source, actions, found)


async def _find(
    description: str, index: int, observation: Observation, *, locate: Locate, emit: Emit
) -> Place:
    try:
        if not description.strip():
            field = "description" if index == 1 else "description_2"
            raise NotFound(f"{field!r} is empty: describe the element to act on")
        place = await locate(description, observation)
        if not _within(place.point, observation):
            raise NotFound(f"{description!r}: the place found lies outside the picture")
    except NotFound as error:
        emit(
            GroundingFailed(description=description, reason=str(error), candidates=error.candidates)
        )
        raise
    return place


def _within(point: Point, observation: Observation) -> bool:
    width, height = observation.image.width, observation.image.height
    return point.space == "image" and 0 <= point.x < width and 0 <= point.y < height


def place_found(place: Place) -> PlaceFound:
    """A place as events tell it."""
    return PlaceFound(
        description=place.description,
        x=place.point.x,
        y=place.point.y,
        score=place.score,
        source=place.source,
        label=place.label,
    )


def tried(
    description: str, by: str, verdict: GroundingVerdict, place: Place | None = None, **more: Any
) -> GroundingTried:
    """Returns a step of a search: the place that it came to, and ``more`` of its fields."""
    if place is not None:
        more |= {"x": place.point.x, "y": place.point.y, "label": place.label}
    return GroundingTried(description=description, by=by, verdict=verdict, **more)
