"""Grounding for planners that write coordinates: maps them to the picture and checks them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from hisa.actions import Click, Slot, map_points, points, slots, to_source
from hisa.errors import NotFound
from hisa.events import Grounded, GroundingFailed
from hisa.grounder.common import place_found
from hisa.grounder.elements_reader import ElementsReader
from hisa.grounder.formats import QWEN_MAX_PIXELS, QWEN_MIN_PIXELS, smart_resize
from hisa.protocols import Emit, GroundedCall, Grounder, Place, ToolCall
from hisa.screen.geometry import BoundingBox, Point, Size
from hisa.screen.observation import Element, Observation

__all__ = ["PointingGrounder", "take_pixels", "written_as"]

_SURE = 0.9
"""The least score at which an element overrules a planner's point; chosen by hand."""
_BESIDE = 6
"""Image pixels by which a point may miss the box of the element that it means."""


def written_as(convention: str) -> str:
    """Returns the words of the prompt for writing places, by the profile's ``coordinates``."""
    match convention:
        case "thousand":
            return "from 0 to 1000 of the screenshot's width and height"
        case "unit":
            return "from 0 to 1 of the screenshot's width and height"
        case _:
            return "in whole pixels of the screenshot"


class PointingGrounder:
    """Uses the coordinates that a planner wrote, and grounds targets that it only described.

    A point with a description is compared with the result of another grounder. If that is sure of
    another place, nothing is clicked and the planner is shown both.

    Args:
        convention: how the planner writes points, by its profile; empty: in pixels of the
            picture that it was sent.
        finder: grounds descriptions.
        checker: grounds the descriptions of points, for comparison; emits no events.
        reader: takes the looks with elements for the comparison.
        emit: gets `hisa.events.Grounded` and `hisa.events.GroundingFailed`.
    """

    def __init__(
        self,
        convention: str,
        finder: Grounder,
        checker: Grounder,
        reader: ElementsReader,
        *,
        emit: Emit,
    ) -> None:
        self._convention = convention
        self._finder, self._checker = finder, checker
        self._reader = reader
        self._emit = emit

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        """Map the points of a call, and fill its slots.

        Raises:
            NotFound: a point is outside the picture, its description is surely elsewhere, or the
                description of a slot has no match.
            ModelUnavailable, BudgetExceeded: from the finder.
        """
        if not points(call.actions):
            return await self._finder.resolve(call, observation)
        started = time.monotonic()
        actions = map_points(call.actions, _mapping(self._convention, observation.image))
        mapped = replace(call, actions=actions, input=to_source(actions))
        with _record_refusal(mapped, self._emit):
            _require_inside(points(actions), observation.image)
            if not slots(actions):
                await self._check(mapped, observation)
        if slots(actions):
            return replace(await self._finder.resolve(mapped, observation), call=call)
        return replace(_ground_points(mapped, observation, self._emit, started), call=call)

    async def _check(self, call: ToolCall, observation: Observation) -> None:
        """Compare the only point of a call with the match of its description.

        Raises:
            NotFound: the match is surely elsewhere.
        """
        pointed = set(points(call.actions))
        if len(pointed) != 1 or not call.description.strip():
            return
        check_call = replace(call, actions=(Click(at=Slot(1)),), input="")
        look = await self._reader.fresh(observation)
        try:
            (place,) = (await self._checker.resolve(check_call, look)).places
        except NotFound:
            return
        (point,) = pointed
        box = _around(place.point, look)
        if (place.score or 0) < _SURE or box is None or _near(point, box):
            return
        x, y = point.to_pixels()
        at = "({}, {})".format(*place.point.to_pixels())
        raise NotFound(
            f"you pointed at ({x}, {y}), but {call.description[:200]!r} seems to be {place.label} "
            f"at {at}. Point there if you mean that; to click ({x}, {y}) all the same, leave the "
            "description empty",
            (f"{place.label} at {at}", f"the point ({x}, {y})"),
        )


def take_pixels(call: ToolCall, observation: Observation, *, emit: Emit) -> GroundedCall:
    """Returns the call grounded at its own points, which are pixels of the picture.

    Args:
        call: a call without slots.
        observation: the look on which it was decided.
        emit: takes `hisa.events.Grounded` or `hisa.events.GroundingFailed`.

    Raises:
        NotFound: a point is outside the picture.
    """
    if not points(call.actions):
        return GroundedCall(call, call.input, call.actions)
    started = time.monotonic()
    with _record_refusal(call, emit):
        _require_inside(points(call.actions), observation.image)
    return _ground_points(call, observation, emit, started)


def _ground_points(
    call: ToolCall, observation: Observation, emit: Emit, started: float
) -> GroundedCall:
    place = Place(call.description, points(call.actions)[0], None, "planner")
    source = to_source(call.actions)
    seconds = time.monotonic() - started
    emit(Grounded(places=(place_found(place, observation),), input=source, seconds=seconds))
    return GroundedCall(call, source, call.actions, (place,))


@contextmanager
def _record_refusal(call: ToolCall, emit: Emit) -> Iterator[None]:
    """Emit an event if a point is refused."""
    try:
        yield
    except NotFound as error:
        reason, candidates = str(error), error.candidates
        emit(GroundingFailed(description=call.description, reason=reason, candidates=candidates))
        raise


def _mapping(convention: str, image: Size) -> Callable[[Point], Point]:
    """Returns the function from the planner's numbers to pixels of the picture."""
    match convention:
        case "thousand":
            return lambda at: Point(at.x * image.width / 1000, at.y * image.height / 1000)
        case "unit":
            return lambda at: Point(at.x * image.width, at.y * image.height)
        case "pixels":  # pixels of the picture as the family's server resizes it
            resized = smart_resize(image, min_pixels=QWEN_MIN_PIXELS, max_pixels=QWEN_MAX_PIXELS)
            wide, high = image.width / resized.width, image.height / resized.height
            return lambda at: Point(at.x * wide, at.y * high)
        case _:
            return lambda at: at


def _require_inside(places: Iterable[Point], image: Size) -> None:
    for point in places:
        if not (0 <= point.x < image.width and 0 <= point.y < image.height):
            x, y = point.to_pixels()
            size = f"{image.width}x{image.height} pixels"
            raise NotFound(f"the place ({x}, {y}) lies outside the screenshot of {size}")


def _around(point: Point, observation: Observation) -> BoundingBox | None:
    """Returns the smallest box of an element around a point, in image pixels."""

    def box(element: Element) -> BoundingBox:
        return observation.convert_box(element.box, "image")

    held = [b for b in map(box, observation.elements or ()) if b.contains(point)]
    return min(held, key=lambda b: b.area, default=None)


def _near(point: Point, box: BoundingBox) -> bool:
    return (
        box.left - _BESIDE <= point.x <= box.right + _BESIDE
        and box.top - _BESIDE <= point.y <= box.bottom + _BESIDE
    )
