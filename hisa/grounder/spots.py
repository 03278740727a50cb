"""Chooses the point of an element's box to click."""

from __future__ import annotations

from hisa.grounder.thing import Thing
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.observation import Element, Observation

__all__ = ["spot", "spot_in"]

_WIDE_EXPANDER = 150
"""Width in pixels above which an expander is clicked at its title; chosen by hand."""
_TITLE = 24
"""Pixels from an expander's left end into its title."""


def spot(thing: Thing, observation: Observation) -> Point:
    """Returns the point of an element to click, in image space; for a slider, on its handle."""
    return spot_in(thing.element, observation.convert_box(thing.handle or thing.box, "image"))


def spot_in(element: Element, box: BoundingBox) -> Point:
    """Returns the middle of a box, or a point near one end if only that reacts as wanted.

    An expander's box is as wide as its content, but only its title reacts. A spin button's number
    is left of its arrows. In a date editor, typing starts at the clicked part and goes on to the
    next one.
    """
    middle = box.centre
    if "expandable" in element.states and box.width > _WIDE_EXPANDER:
        return Point(box.left + _TITLE, middle.y, middle.space)
    if element.role == "spin button" and box.width > box.height:
        return Point(box.left + 0.3 * box.width, middle.y, middle.space)
    if element.role == "date editor":
        return Point(box.left + min(box.height, box.width) / 2, middle.y, middle.space)
    return middle
