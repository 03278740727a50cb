"""Where in its box a thing is clicked."""

from __future__ import annotations

from hisa.grounder.thing import Thing
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.observation import Element, Observation

__all__ = ["spot", "spot_in"]

_WIDE_EXPANDER = 150
"""Pixels; an expander wider than this is clicked at its title. Chosen by hand."""
_TITLE = 24
"""Pixels; from an expander's left end into its title."""


def spot(thing: Thing, observation: Observation) -> Point:
    """The point of a thing to click, in image space; of a slider it is the handle that is seen."""
    return spot_in(thing.element, observation.convert_box(thing.handle or thing.box, "image"))


def spot_in(element: Element, box: BoundingBox) -> Point:
    """The middle of a box, unless only one end of it reacts as wanted.

    An expander's box is as wide as what it folds, but only its title reacts; a spin button's
    number stands left of its arrows; what is typed into a date's part goes on to the next one.
    """
    middle = box.centre
    if "expandable" in element.states and box.width > _WIDE_EXPANDER:
        return Point(box.left + _TITLE, middle.y, middle.space)
    if element.role == "spin button" and box.width > box.height:
        return Point(box.left + 0.3 * box.width, middle.y, middle.space)
    if element.role == "date editor":
        return Point(box.left + min(box.height, box.width) / 2, middle.y, middle.space)
    return middle
