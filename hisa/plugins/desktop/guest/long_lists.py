"""Finds which of thousands of children may be on the screen without asking for all of them.

Chromium takes 1.7 s to report 10,000 children at once, and 16 ms to report 64 of them by number. As
a rule, children are in order on the screen: between two that are above it, none is on it.
"""

from __future__ import annotations

from itertools import pairwise

from . import gtk4
from .bus import Bus, Limit
from .dbus import Call, arguments
from .node import NOWHERE, BoundingBox, Node, box_of

__all__ = ["CUT", "MAX_CHILDREN", "children_in_area"]

CUT = "cut"
"""HiSA's own state of an element of which only the showing children were read."""
MAX_CHILDREN = 2000
"""Most children that are read at once; 2,000 take Chromium 0.1 s, and four times as many 1.1 s."""
_AT_ONCE = 64
"""Children that are read in a round: three or four rounds find 30 rows among 10,000."""

_Ref = tuple[str, str]
_Children = dict[int, tuple[_Ref, BoundingBox | None]]
"""References and boxes by number; None: gone, or without a box."""


def children_in_area(
    bus: Bus, node: Node, area: BoundingBox, limit: Limit
) -> list[tuple[int, _Ref]]:
    """Returns the number and the reference of each child that has a pixel in ``area``.

    If the children are not in order, or too many are in the area, ``limit.ran_out`` is set: some
    may be missing.

    Args:
        bus: the accessibility bus.
        node: the parent.
        area: a box in the units in which the application reports its boxes.
        limit: ends the reading.
    """
    children: _Children = {}
    more = _next(children, area, node.children_count)
    while more and limit.left and len(children) < MAX_CHILDREN:
        children |= _query_children(bus, node, more, limit)
        more = _next(children, area, node.children_count)
    placed = [(number, ref, box) for number, (ref, box) in sorted(children.items()) if box]
    beside = [box for _, _, box in placed if any(_side(box, area))]
    limit.ran_out |= bool(more) or not placed or not _is_in_order(beside)
    return [(number, ref) for number, ref, box in placed if not any(_side(box, area))]


def _query_children(bus: Bus, node: Node, numbers: list[int], limit: Limit) -> _Children:
    calls = [node.call("Accessible", "GetChildAtIndex", arguments("i", n)) for n in numbers]
    answers = zip(numbers, bus.gather(calls, limit), strict=True)
    refs: list[tuple[int, _Ref]] = [(n, tuple(answer[0])) for n, answer in answers if answer]
    coordinates = gtk4.IN_WINDOW if gtk4.is_gtk4(bus, node.name_on_bus) else arguments("u", 0)
    extents = [Call(*ref, "org.a11y.atspi.Component", "GetExtents", coordinates) for _, ref in refs]
    toolkit = bus.toolkits.get(node.name_on_bus, "")
    boxes = [box_of(answer, toolkit) for answer in bus.gather(extents, limit)]
    placed = [None if box is None or NOWHERE in box else box for box in boxes]
    missing: _Children = dict.fromkeys(numbers, (("", ""), None))
    return missing | {n: (ref, box) for (n, ref), box in zip(refs, placed, strict=True)}


def _side(box: BoundingBox, area: BoundingBox) -> tuple[int, int]:
    """Returns -1 for a box before the area, 0 in it, 1 after it: across, and down."""
    across, down = ((box[n] >= area[n + 2]) - (box[n + 2] <= area[n]) for n in (0, 1))
    return across, down


def _next(children: _Children, area: BoundingBox, count: int) -> list[int]:
    """Returns the numbers to read next: between neighbours not both on one side of the area.

    Children without a box, as GTK's that are scrolled out, are skipped except at the beginning and
    at the end. As long as no child has a box, more are read everywhere.
    """
    known = sorted(children)
    placed = [number for number in known if children[number][1] is not None]
    if not placed:
        size = min(4 * len(children) or _AT_ONCE, MAX_CHILDREN)
        return sorted({n * (count - 1) // (size - 1) for n in range(size)} - children.keys())
    before = [number for number in known if number < placed[0]][-1:]
    behind = [number for number in known if number > placed[-1]][:1]
    gaps: list[list[int]] = []
    for first, second in pairwise([*before, *placed, *behind]):
        start, end = children[first][1], children[second][1]
        sides = zip(_side(start, area), _side(end, area), strict=True) if start and end else ()
        if second - first > 1 and not any(a == b != 0 for a, b in sides):
            gaps.append([n for n in range(first + 1, second) if n not in children])
    share = max(1, _AT_ONCE // max(1, len(gaps)))
    return sorted(number for gap in gaps for number in gap[:: max(1, len(gap) // share)])


def _is_in_order(boxes: list[BoundingBox]) -> bool:
    """Whether boxes follow one another, forwards or backwards, down or across.

    They may turn back now and then, as columns do; boxes without order do so every second time.
    """
    for start, end in ((1, 3), (0, 2)):
        forwards = sum(first[end] <= second[start] for first, second in pairwise(boxes))
        backwards = sum(second[end] <= first[start] for first, second in pairwise(boxes))
        if max(forwards, backwards) > 8 * min(forwards, backwards):
            return True
    return len(boxes) < 2
