"""The region around the target of an act that must be as it was, and how windows changed."""

from __future__ import annotations

from hisa.screen.geometry import BoundingBox, Point, grow_box
from hisa.screen.hit_test import element_at
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import FIELDS
from hisa.state.facts import letters, quote_text

__all__ = [
    "CONTROLS",
    "is_usable",
    "middle",
    "other_window",
    "region",
]

_ROOM = 8
"""Image pixels around a target that must look as they did."""
_LEAST, _MOST = (64, 32), (320, 160)
"""Width and height in image pixels of the region that is compared around a target."""
_BARE = (320, 120)
"""The same if no element is known: wide enough for a label beside a field."""
CONTROLS = FIELDS | frozenset(
    {"push button", "button", "toggle button", "check box", "radio button", "link", "combo box"}
)
"""Roles of elements that are clicked; a new one means a dialog, a message or another page."""


def other_window(planned: Observation, now: Observation) -> str:
    """Returns how the windows changed since the plan; empty if they did not, or not known."""
    if planned.screenshot.size != now.screenshot.size:
        return "the screen has another size"
    if not (planned.windows_known and now.windows_known):
        return ""
    known = {window.id: window for window in planned.windows}
    came = [window for window in now.windows if window.id not in known]
    if came:
        return f"a window came up: {quote_text(came[-1].title)}"
    current_ids = {window.id for window in now.windows}
    if gone := [window for window in planned.windows if window.id not in current_ids]:
        return f"the window {quote_text(gone[-1].title)} is gone"
    before, after = planned.active, now.active
    if before is None or after is None:
        return ""
    if before.id != after.id:
        return f"the window in front is now {quote_text(after.title)}"
    if letters(before.title) != letters(after.title):
        return f"the window in front is now called {quote_text(after.title)}"
    return ""


def region(point: Point, reference: Observation) -> BoundingBox:
    """The image-space box around a target that must look as it did."""
    element = element_at(point, reference)
    if element is None:
        wide, high = _BARE
        box = BoundingBox(
            point.x - wide / 2, point.y - high / 2, point.x + wide / 2, point.y + high / 2
        )
    else:
        box = grow_box(reference.convert_box(element.box, "image"), _ROOM)
        box = _limit_box(box, point)
    return _on_picture(box, reference)


def middle(point: Point, observation: Observation) -> BoundingBox:
    """The image-space box, of the least size that is compared, around a point."""
    (wide, high), at = _LEAST, point
    box = BoundingBox(at.x - wide / 2, at.y - high / 2, at.x + wide / 2, at.y + high / 2)
    return _on_picture(box, observation)


def _on_picture(box: BoundingBox, observation: Observation) -> BoundingBox:
    """The box in whole pixels, cut off at the edges of the picture."""
    size = observation.image
    return BoundingBox(
        max(0, int(box.left)),
        max(0, int(box.top)),
        min(size.width, int(box.right) + 1),
        min(size.height, int(box.bottom) + 1),
    )


def _limit_box(box: BoundingBox, point: Point) -> BoundingBox:
    """The box, brought between the least and the largest size compared around a point."""

    def side(start: float, end: float, middle: float, least: int, most: int) -> tuple[float, float]:
        """Returns the start and end of one dimension, in image pixels.

        Args:
            start: the left or top side of the box.
            end: the right or bottom side of the box.
            middle: the coordinate of the point in this dimension.
            least: least length, around the middle.
            most: largest length, around the middle.
        """
        start, end = min(start, middle - least / 2), max(end, middle + least / 2)
        return max(start, middle - most / 2), min(end, middle + most / 2)

    left, right = side(box.left, box.right, point.x, _LEAST[0], _MOST[0])
    top, bottom = side(box.top, box.bottom, point.y, _LEAST[1], _MOST[1])
    return BoundingBox(left, top, right, bottom)


def is_usable(element: Element) -> bool:
    """Whether an element is not disabled."""
    return not element.states or bool(element.states & {"enabled", "sensitive"})
