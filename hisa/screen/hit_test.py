"""Finds the element at a point of the screen, for guards, the policy and the grounder alike.

A window hides everything beneath it. In one document the later of two overlapping elements is on
top (CSS 2.2, appendix E, of parts at one level), unless it is a part of the earlier one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hisa.screen.geometry import Point
from hisa.screen.observation import Element, Observation, Window
from hisa.screen.roles import CONTAINERS, LAYOUT

__all__ = [
    "HitTest",
    "cover_at",
    "element_at",
    "find_covered",
    "find_overlaps",
    "focused_element",
    "is_part_of",
]

_WRITTEN = frozenset({"static", "label", "image", "heading", "paragraph", "caption", "icon"})
"""Roles of parts that are drawn in a control: a click on them clicks the control."""
_HELD_IN = frozenset(
    {"push button", "button", "toggle button", "link", "check box", "radio button", "menu item"}
    | {"check menu item", "radio menu item", "page tab", "list item", "tree item", "table cell"}
)
"""Roles of the controls that receive the clicks on such parts."""
_OPAQUE = frozenset({"dialog", "alert", "window", "menu", "popup menu", "tool tip", "file chooser"})
"""Containers that hide everything beneath them, even where they are empty."""
_POPPED_UP = frozenset({"menu item", "check menu item", "radio menu item", "tearoff menu item"})
"""Roles of entries that an open menu shows above everything, whatever their place in the tree:
GTK's tree has the entries of a menu bar before the content of the window."""
_MENUS = frozenset({"menu", "popup menu"})
_NESTED = 2
"""Pixels by which a part may extend beyond its container, for looks without parents."""


@dataclass(frozen=True)
class HitTest:
    """The elements at some points and with the focus, with their containers; no picture.

    ``name`` is the machine's name for that moment; see `Observation.name`.
    """

    elements: tuple[Element, ...]
    windows: tuple[Window, ...] = ()
    complete: bool = True
    name: str = ""


def element_at(point: Point, observation: Observation) -> Element | None:
    """Returns the element that would receive a click at a point of any space; None if unknown.

    A part that is drawn inside a control counts as the control. Containers count only if there is
    no other element at the point.
    """
    elements = observation.elements or ()
    top = _find_topmost(_at(point, observation), elements)
    return None if top is None else _lift_to_control(top, elements)


def cover_at(element: Element, point: Point, observation: Observation) -> Element | None:
    """Returns the element that covers another one and has other words; None if there is none.

    Args:
        element: the lower element, from the look's list.
        point: a point of it, in any space.
        observation: the look.
    """
    elements = observation.elements or ()
    at = _at(point, observation)
    own = next((n for n in at if elements[n].box == element.box), None)
    if own is None:
        return None
    top = _find_topmost([n for n in at if n >= own or _is_popped_up(n, elements)], elements)
    if (
        top is None
        or top == own
        or is_part_of(top, own, elements)
        or is_part_of(own, top, elements)
    ):
        return None
    if _wraps_around(top, own, elements):
        return None
    over = _lift_to_control(top, elements)
    return None if _repeats_words(over, element) or over is element else over


def find_covered(observation: Observation) -> list[int]:
    """Returns the numbers of the elements that are covered at their middle; see `cover_at`."""
    elements = observation.elements or ()
    return [
        number
        for number, over in find_overlaps(observation).items()
        if any(elements[row].box.contains(elements[number].box.centre) for row in over)
        and cover_at(elements[number], elements[number].box.centre, observation) is not None
    ]


def find_overlaps(observation: Observation) -> dict[int, list[int]]:
    """Returns, by an element's number, those above that overlap it and are not part of it.

    Empty for a look without parents.
    """
    import numpy as np  # slow to import: kept out of the program's start

    elements = observation.elements or ()
    if not elements or any(element.parent is None for element in elements):
        return {}
    boxes = [(e.box.left, e.box.top, e.box.right, e.box.bottom) for e in elements]
    left, top, right, bottom = np.array(boxes, dtype=float).T
    rows, ends = np.arange(len(elements)), np.array(_ends(elements))
    shows = np.array([_shows(element) for element in elements])
    popped_up = np.array([_is_popped_up(row, elements) for row in range(len(elements))])
    over_by_number = {}
    for number, first in enumerate(ends):
        over = (rows >= first) | (popped_up & ((rows > number) | (ends <= number)))
        over &= (left < right[number]) & (right > left[number]) & shows & (rows != number)
        over &= (top < bottom[number]) & (bottom > top[number])
        if over.any():
            over_by_number[number] = [int(row) for row in np.flatnonzero(over)]
    return over_by_number


def _ends(elements: Sequence[Element]) -> list[int]:
    """Returns, for each element, the number of the first one after it that is not part of it."""
    ends = [number + 1 for number in range(len(elements))]
    for number in reversed(range(len(elements))):
        parent = elements[number].parent
        if parent is not None and parent >= 0:
            ends[parent] = max(ends[parent], ends[number])
    return ends


def is_part_of(inner: int, outer: int, elements: Sequence[Element]) -> bool:
    """Whether one element is a part of another, by parents or, without them, by boxes.

    Args:
        inner: number of the possible part.
        outer: number of the possible whole.
        elements: the look's list, to which the numbers refer.
    """
    if elements[inner].parent is None:
        return inner > outer and _is_box_inside(elements[inner], elements[outer])
    at: int | None = inner
    while at is not None and at > outer:
        at = elements[at].parent
    return at == outer


def focused_element(observation: Observation) -> Element | None:
    """Returns the innermost element that has the keyboard focus; None if unknown."""
    focused = [element for element in observation.elements or () if "focused" in element.states]
    active = observation.active
    in_front = [e for e in focused if active and e.window in (active.title, "")]
    return min(in_front or focused, key=lambda element: element.box.area, default=None)


# ---------------------------------------------------------------- the stack of elements


def _at(point: Point, observation: Observation) -> list[int]:
    """Returns the numbers of the elements at a point, lowest first, without hidden windows'."""
    at = observation.convert(point, "screen")
    held = [n for n, e in enumerate(observation.elements or ()) if e.box.contains(at) and _shows(e)]
    hidden = _hidden_titles(at, observation.windows)
    return [n for n in held if (observation.elements or ())[n].window not in hidden]


def _hidden_titles(at: Point, windows: Sequence[Window]) -> set[str]:
    """Returns the titles of the windows that are hidden by another one at a point."""
    stacked = [window for window in windows if window.box and window.box.contains(at)]
    if not stacked:
        return set()
    return {window.title for window in stacked[:-1]} - {stacked[-1].title, ""}


def _shows(element: Element) -> bool:
    return not element.states or bool(element.states & {"showing", "visible"})


def _find_topmost(numbers: Sequence[int], elements: Sequence[Element]) -> int | None:
    """Returns the number of the topmost element; ``numbers`` are in the order of the tree."""
    hits = [n for n in numbers if _is_popped_up(n, elements)]
    hits = hits or [n for n in numbers if _takes_hits(elements[n])]
    if not hits:
        return numbers[-1] if numbers else None
    if elements[hits[-1]].parent is None:  # without parents, the order has no meaning
        return min(hits, key=lambda n: elements[n].box.area)
    top = hits[-1]
    if elements[top].role in _OPAQUE:  # its parts always follow it in the tree
        inside = [n for n in hits if is_part_of(n, top, elements)]
        return inside[-1]
    return top


def _is_popped_up(number: int, elements: Sequence[Element]) -> bool:
    """Whether an element is an entry of an open menu; an entry with a submenu is a menu itself."""
    parent = elements[number].parent
    if elements[number].role in _POPPED_UP or parent is None or parent < 0:
        return elements[number].role in _POPPED_UP
    return elements[number].role in _MENUS and elements[parent].role in _MENUS


def _takes_hits(element: Element) -> bool:
    return element.role in _OPAQUE or element.role not in CONTAINERS | LAYOUT


def _lift_to_control(number: int, elements: Sequence[Element]) -> Element:
    """Returns the control in which an element is drawn, or else the element itself."""
    element = elements[number]
    at = element.parent if element.role in _WRITTEN else None
    while at is not None and at >= 0:
        if elements[at].role in _HELD_IN:
            return elements[at]
        at = elements[at].parent
    return element


def _is_box_inside(inner: Element, outer: Element) -> bool:
    a, b = inner.box, outer.box
    return (
        a.left >= b.left - _NESTED
        and a.top >= b.top - _NESTED
        and a.right <= b.right + _NESTED
        and a.bottom <= b.bottom + _NESTED
    )


def _wraps_around(text: int, other: int, elements: Sequence[Element]) -> bool:
    """Whether a text of several lines has another part of its paragraph within its box."""
    run, parent = elements[text], elements[text].parent
    if run.role != "static" or parent is None or parent < 0:
        return False
    return run.box.height > 1.5 * elements[other].box.height and is_part_of(other, parent, elements)


def _repeats_words(over: Element, element: Element) -> bool:
    """Whether the covering element has no words besides those of the covered one."""
    return _words(over) <= _words(element)


def _words(element: Element) -> frozenset[str]:
    parts = element.name, element.label, element.text, element.description
    return frozenset(re.findall(r"\w+", " ".join(parts).casefold()))
