"""Finds which of thousands of children may be on the screen without asking for all of them.

Chromium takes 1.7 s to tell 10,000 children at once, and 16 ms to tell 64 of them by their numbers.
Children lie in their order, as a rule: between two that are above the screen none is on it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from . import gtk4
from .bus import Bus, Limit
from .dbus import Call, arguments
from .node import BoundingBox, Node

__all__ = ["CUT", "MAX_CHILDREN", "children_in_area"]

CUT = "cut"
"""The state, of our own, of what holds more than is told of it: only what shows was read."""
MAX_CHILDREN = 2000
"""Children that are asked for at once; 2,000 take Chromium 0.1 s, and four times as many 1.1 s."""
_AT_ONCE = 64
"""Children that are asked for in a round: three or four rounds find 30 rows among 10,000."""

_Ref = tuple[str, str]


class _Child(NamedTuple):
    ref: _Ref
    box: BoundingBox | None


def children_in_area(
    bus: Bus, node: Node, area: BoundingBox, limit: Limit
) -> list[tuple[int, _Ref]]:
    """Returns the number and the reference of each child that has a pixel in ``area``.

    Where they do not lie in their order, or too many are in the area, ``limit`` says that some may
    be missing.
    """
    children: dict[int, _Child] = {}
    last = node.children_count - 1
    more = sorted({number * last // (_AT_ONCE - 1) for number in range(_AT_ONCE)})
    while more and limit.left and len(children) < MAX_CHILDREN:
        children |= _asked(bus, node, more, limit)
        more = _between(children, area)
    boxes = [box for _, (_, box) in sorted(children.items()) if box is not None]
    beside = [box for box in boxes if any(_side(box, area))]
    limit.ran_out |= bool(more) or not boxes or not _in_order(beside)
    return [
        (number, ref)
        for number, (ref, box) in sorted(children.items())
        if box is not None and not any(_side(box, area))
    ]


def _asked(bus: Bus, node: Node, numbers: list[int], limit: Limit) -> dict[int, _Child]:
    """The children of these numbers; those that are gone have no box."""
    found = bus.gather(
        [node.call("Accessible", "GetChildAtIndex", arguments("i", n)) for n in numbers], limit
    )
    refs: list[_Ref] = [tuple(answer[0]) if answer else ("", "") for answer in found]
    told = arguments("u", 0) if not gtk4.is_gtk4(bus, node.name_on_bus) else gtk4.IN_WINDOW
    asks = [Call(*ref, "org.a11y.atspi.Component", "GetExtents", told) for ref in refs if ref[0]]
    answers = iter(bus.gather(asks, limit))
    boxes = [_box(next(answers)) if ref[0] else None for ref in refs]
    return dict(zip(numbers, map(_Child, refs, boxes), strict=True))


def _box(answer: tuple[tuple[int, int, int, int]] | None) -> BoundingBox | None:
    left, top, width, height = answer[0] if answer else (0, 0, 0, 0)
    return (left, top, left + width, top + height) if width > 0 and height > 0 else None


def _side(box: BoundingBox, area: BoundingBox) -> tuple[int, int]:
    """Where a box lies, across and down: -1 before the area, 0 in it, 1 behind it."""
    return (
        (box[0] >= area[2]) - (box[2] <= area[0]),
        (box[1] >= area[3]) - (box[3] <= area[1]),
    )


def _between(children: dict[int, _Child], area: BoundingBox) -> list[int]:
    """The numbers to ask for next: between neighbours that are not both on one side of the area.

    Those without a place, as hidden ones, are passed over, but at the beginning and at the end.
    """
    known = sorted(children)
    placed = [number for number in known if children[number].box is not None]
    if not placed:
        return []
    before = [number for number in known if number < placed[0]][-1:]
    behind = [number for number in known if number > placed[-1]][:1]
    gaps: list[list[int]] = []
    for first, second in pairwise([*before, *placed, *behind]):
        one, other = children[first].box, children[second].box
        sides = zip(_side(one, area), _side(other, area), strict=True) if one and other else ()
        if second - first > 1 and not any(a == b != 0 for a, b in sides):
            gaps.append([n for n in range(first + 1, second) if n not in children])
    share = max(1, _AT_ONCE // max(1, len(gaps)))
    return sorted(number for gap in gaps for number in gap[:: max(1, len(gap) // share)])


def _in_order(boxes: list[BoundingBox]) -> bool:
    """Whether boxes come one behind the other, forwards or backwards, across or down."""
    ways = ((0, 2), (1, 3))
    return any(
        not any(_lies_before(*pair, start, end) for pair in pairs)
        for start, end in ways
        for pairs in (list(pairwise(boxes)), list(pairwise(reversed(boxes))))
    )


def _lies_before(first: BoundingBox, second: BoundingBox, start: int, end: int) -> bool:
    """Whether the second box ends before the first one starts."""
    return second[end] <= first[start]
