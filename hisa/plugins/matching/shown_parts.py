"""The visible part of each element: inside its containers, and not under other elements."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace

from PIL import ImageChops, ImageStat

from hisa.grounder.thing import Covering
from hisa.screen.geometry import BoundingBox, grow_box
from hisa.screen.hit_test import cover_at, find_overlaps, is_part_of
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import CONTAINERS, COVERED, LAYOUT

__all__ = [
    "EDGED",
    "find_covers",
    "is_outlined",
    "is_painted_over",
    "within_holders",
]

EDGED = frozenset({"push button", "button", "toggle button", "link", "page tab"})
"""Roles of controls that are drawn with their name, a sign or an edge."""

_LEAST = 4
"""Least screen pixels of a part that can be clicked, either way: borders are 1 to 3 pixels wide."""
_EDGE = 3
"""Screen pixels of border to ignore around an element that covers another."""
_FLAT = 8
"""Most difference of a channel, of 255, within one colour of a scaled picture."""


def within_holders(elements: Sequence[Element]) -> tuple[Element, ...]:
    """Returns the elements, clipped to their containers if their centre is outside of these.

    A scrolled list shows half of an item, which accessibility lists with its whole box.
    """
    cut: list[Element] = []
    for number, element in enumerate(elements):
        holder = element.parent
        if holder is not None and 0 <= holder < number:
            around = cut[holder].box
            part = around.intersection(element.box)
            if not around.contains(element.box.centre) and part and _is_place(part):
                element = replace(element, box=part)
        cut.append(element)
    return tuple(cut)


def find_covers(observation: Observation, boxes: Sequence[BoundingBox]) -> dict[int, Covering]:
    """Returns what covers elements, without their own parts, by the elements' numbers.

    Args:
        observation: a look with elements.
        boxes: of each element, clipped to its containers.
    """
    elements, covers = observation.elements or (), {}
    holders = {element.parent for element in elements}
    for number, rows in find_overlaps(observation).items():
        element, box = elements[number], boxes[number]
        over = [row for row in rows if elements[row].box.contains(box.centre)]
        top = cover_at(element, box.centre, observation) if over else None
        if top is not None and top.window != element.window:
            covers[number] = Covering(top, None, is_certain=True)
            continue
        above = [row for row in rows if elements[row].window == element.window]
        over = [row for row in above if row in over]
        met = COVERED not in element.states
        certain = top is not None
        if over and top is None and not (met and _has_text(elements[over[-1]])):
            veiled = any(row in holders or _is_something(elements[row]) for row in over)
            certain = not met or _is_painted(elements[over[-1]].box, box, observation)
            top = elements[over[-1]] if certain or (veiled and _has_text(element)) else None
        if top is not None:
            covers[number] = Covering(
                top, _rest(box, [elements[row].box for row in above]), certain
            )
    return covers | _find_raised_covers(elements, boxes, covers)


def _find_raised_covers(
    elements: Sequence[Element], boxes: Sequence[BoundingBox], known: Container[int]
) -> dict[int, Covering]:
    """Returns covers that a browser reports and that come earlier in the page."""
    covers = {}
    for number, element in enumerate(elements):
        if COVERED in element.states and number not in known:
            middle = element.box.centre
            at = (row for row in range(number) if elements[row].box.contains(middle))
            over = [elements[row] for row in at if not is_part_of(number, row, elements)]
            if over:
                rest = _rest(boxes[number], [over[-1].box])
                covers[number] = Covering(over[-1], rest, is_certain=True)
    return covers


def _has_text(element: Element) -> bool:
    return bool(f"{element.name}{element.label}{element.text}".strip())


def _is_something(element: Element) -> bool:
    """Whether an element is more than a part of a layout, and so usually painted."""
    return element.role not in CONTAINERS | LAYOUT or "focusable" in element.states


def _is_painted(over: BoundingBox, box: BoundingBox, observation: Observation) -> bool:
    """Whether the picture has one colour where an element's edge would show through its cover."""
    inner = grow_box(over, -_EDGE)
    part = inner.intersection(grow_box(box, _EDGE)) if inner.area else None
    if part is None or (box.intersection(part) or box) == part:
        return False
    return _is_flat(part, observation)


def _is_flat(box: BoundingBox, observation: Observation) -> bool:
    """Whether a part of the screen has one colour."""
    pixels = observation.screenshot.crop(observation.convert_box(box, "image")).pixels
    return all(most - least <= _FLAT for least, most in ImageStat.Stat(pixels).extrema)


def is_painted_over(element: Element, observation: Observation) -> bool:
    """Whether the picture shows nothing of a control with a name: no edge and no letter.

    Always false for roles that are not in `EDGED`.
    """
    if element.role not in EDGED or not _has_text(element):
        return False
    screen = BoundingBox(0, 0, observation.screen.width, observation.screen.height, "screen")
    part = grow_box(element.box, _EDGE).intersection(screen)
    if part is None or not _is_place(part):
        return False
    return _is_smooth(part, observation) and not _is_smooth(screen, observation)


def _is_smooth(box: BoundingBox, observation: Observation) -> bool:
    """Whether a part of the screen has one colour, or a smooth gradient."""
    pixels = observation.without_pointer.screenshot.crop(
        observation.convert_box(box, "image")
    ).pixels
    across = ImageChops.difference(pixels, ImageChops.offset(pixels, 1, 0))
    down = ImageChops.difference(pixels, ImageChops.offset(pixels, 0, 1))
    width, height = pixels.size  # `offset` wraps around, so the first row and column are left out
    steps = across.crop((1, 0, width, height)), down.crop((0, 1, width, height))
    return all(most <= _FLAT for step in steps for _, most in ImageStat.Stat(step).extrema)


def is_outlined(box: BoundingBox, observation: Observation) -> bool:
    """Whether the picture shows a frame along all edges of a box, and one colour inside."""
    outer, inner = grow_box(box, _EDGE), grow_box(box, -2 * _EDGE)
    if min(inner.width, inner.height) < _LEAST or not _is_flat(inner, observation):
        return False
    edges = (
        replace(inner, top=outer.top, bottom=inner.top),
        replace(inner, top=inner.bottom, bottom=outer.bottom),
        replace(inner, left=outer.left, right=inner.left),
        replace(inner, left=inner.right, right=outer.right),
    )
    return not any(_is_flat(edge, observation) for edge in edges)


def _rest(box: BoundingBox, over: Iterable[BoundingBox]) -> BoundingBox | None:
    """Returns the widest part of a box beside all covers; None if none can be clicked."""
    parts = [part for other in over if (part := box.intersection(other))]
    left, right = min(p.left for p in parts), max(p.right for p in parts)
    top, bottom = min(p.top for p in parts), max(p.bottom for p in parts)
    beside = (
        replace(box, right=left),
        replace(box, left=right),
        replace(box, bottom=top),
        replace(box, top=bottom),
    )
    return max(filter(_is_place, beside), key=lambda b: min(b.width, b.height), default=None)


def _is_place(box: BoundingBox) -> bool:
    return min(box.width, box.height) >= _LEAST
