"""Shared by all grounders: filling the slots of a call, and the events of grounding."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable
from heapq import nsmallest
from math import dist
from typing import Any

from hisa.actions import fill, slots, to_source
from hisa.errors import NotFound
from hisa.events import (
    ElementFound,
    Grounded,
    GroundingFailed,
    GroundingTried,
    GroundingVerdict,
    PlaceFound,
)
from hisa.grounder.elements_reader import ElementsReader
from hisa.protocols import Emit, GroundedCall, Place, ToolCall
from hisa.screen.geometry import Point
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import PASSWORD
from hisa.text.prompt_text import excerpt

__all__ = ["Locate", "build_tried_event", "grounded_event", "is_within", "place_found", "resolve"]

_NEAR, _CHARS = 3, 120
"""Neighbours that are recorded with a chosen element, and characters of a name or a value."""
Locate = Callable[[str, Observation], Awaitable[Place]]
"""Returns the place of one description, in image space; raises `NotFound`."""


async def resolve(
    call: ToolCall,
    observation: Observation,
    *,
    locate: Locate,
    emit: Emit = lambda _: None,
    reader: ElementsReader | None = None,
) -> GroundedCall:
    """Locate each slot's description and fill in the actions; leave a call without slots as it is.

    Args:
        call: the call, with slots and descriptions.
        observation: the look on which it was decided.
        locate: returns the place of one description.
        emit: gets `hisa.events.Grounded` and `hisa.events.GroundingFailed`.
        reader: takes a look with elements if those of the look are old or missing, so that
            picture and elements are of one moment; None: the look is used as it is.

    Raises:
        NotFound: a description is missing or has no match; the failure is recorded.
    """
    needed = slots(call.actions)
    if not needed:
        return GroundedCall(call, call.input, call.actions)
    if reader is not None:
        observation = await reader.fresh(observation)
    started = time.monotonic()
    places = await _find_all(call, needed, observation, locate=locate, emit=emit)
    all_places = tuple(places.values())
    actions = fill(call.actions, {index: place.point for index, place in places.items()})
    source = to_source(actions)
    emit(grounded_event(all_places, source, observation, time.monotonic() - started))
    look = observation if reader is not None else None
    return GroundedCall(call, source, actions, all_places, target_look=look)


async def _find_all(
    call: ToolCall, needed: Iterable[int], observation: Observation, *, locate: Locate, emit: Emit
) -> dict[int, Place]:
    """Returns the place of each slot; if one has no match, the error names the others' places."""
    places: dict[int, Place] = {}
    missing: NotFound | None = None
    for index in needed:
        description = call.description if index == 1 else call.description_2
        try:
            places[index] = await _find(description, index, observation, locate=locate, emit=emit)
        except NotFound as error:
            missing = missing or error
    if missing is None:
        return places
    at = (f"; {p.description[:200]!r} is at {p.point.to_pixels()}" for p in places.values())
    raise NotFound(f"{missing}{''.join(at)}", missing.candidates) from missing


def grounded_event(
    places: Iterable[Place], source: str, observation: Observation, seconds: float
) -> Grounded:
    """Returns the event of a grounded call.

    Args:
        places: the place of each slot.
        source: the actions' source, with coordinates.
        observation: the look on which they were located.
        seconds: how long that took.
    """
    return Grounded(
        places=tuple(place_found(place, observation) for place in places),
        input=source,
        seconds=seconds,
    )


async def _find(
    description: str, index: int, observation: Observation, *, locate: Locate, emit: Emit
) -> Place:
    try:
        if not description.strip():
            field = "description" if index == 1 else "description_2"
            raise NotFound(f"{field!r} is empty: describe the element to act on")
        place = await locate(description, observation)
        if not is_within(place.point, observation):
            raise NotFound(f"{description!r}: the place found lies outside the picture")
    except NotFound as error:
        emit(
            GroundingFailed(description=description, reason=str(error), candidates=error.candidates)
        )
        raise
    return place


def is_within(point: Point, observation: Observation) -> bool:
    """Whether a point is on the picture."""
    width, height = observation.image.width, observation.image.height
    return point.space == "image" and 0 <= point.x < width and 0 <= point.y < height


def place_found(place: Place, observation: Observation) -> PlaceFound:
    """Returns a place as events record it, with the chosen element or else the one at the point."""
    element = place.element or _find_smallest(
        observation.convert(place.point, "screen"), observation
    )
    return PlaceFound(
        element=None if element is None else _build_with_neighbours(element, observation),
        chosen=place.element is not None,
        description=place.description,
        x=place.point.x,
        y=place.point.y,
        score=place.score,
        source=place.source,
        label=place.label,
    )


def _find_smallest(point: Point, observation: Observation) -> Element | None:
    """Returns the smallest element at a point."""
    elements = (element for element in observation.elements or () if element.box.contains(point))
    return min(elements, key=lambda element: element.box.area, default=None)


def _build_with_neighbours(element: Element, observation: Observation) -> ElementFound:
    middle = element.box.centre
    others = (
        other
        for other in observation.elements or ()
        if (other.name or other.text) and other.box != element.box
    )
    near = nsmallest(_NEAR, others, key=lambda o: dist(_xy(o.box.centre), _xy(middle)))
    return _build_element_found(
        element,
        observation,
        neighbours=tuple(_build_element_found(other, observation) for other in near),
    )


def _xy(point: Point) -> tuple[float, float]:
    return point.x, point.y


def _build_element_found(element: Element, observation: Observation, **more: Any) -> ElementFound:
    box = observation.convert_box(element.box, "image")
    secret = element.role == PASSWORD
    return ElementFound(
        role=element.role,
        name=excerpt(element.name or element.label, _CHARS),
        value="" if secret else excerpt(element.text, _CHARS),
        states=tuple(sorted(element.states)),
        box=(box.left, box.top, box.right, box.bottom),
        **more,
    )


def build_tried_event(
    description: str, by: str, verdict: GroundingVerdict, place: Place | None = None, **more: Any
) -> GroundingTried:
    """Returns the event for one step of a search.

    Args:
        description: the planner's words for the target.
        by: the method that was tried.
        verdict: its result.
        place: the place that it returned, if any.
        more: further fields of the event.
    """
    if place is not None:
        more |= {"x": place.point.x, "y": place.point.y, "label": place.label}
    return GroundingTried(description=description, by=by, verdict=verdict, **more)
