"""What lies at a point of the screen: the one answer for guards, the policy and the grounder.

A window hides what is beneath it. In one document the later of two overlapping elements lies above
(CSS 2.2, appendix E, of parts at one level), unless it is a part of the earlier one.
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
"""Roles of what is drawn in a control: who clicks it clicks the control."""
_HELD_IN = frozenset(
    {"push button", "button", "toggle button", "link", "check box", "radio button", "menu item"}
    | {"check menu item", "radio menu item", "page tab", "list item", "tree item", "table cell"}
)
"""Roles of the controls that such parts are lifted to."""
_OPAQUE = frozenset({"dialog", "alert", "window", "menu", "popup menu", "tool tip", "file chooser"})
"""Containers that hide what lies beneath them, wherever they are empty."""
_POPPED_UP = frozenset({"menu item", "check menu item", "radio menu item", "tearoff menu item"})
"""Roles of what an open menu shows above everything, wherever its tree has it: GTK's has the
entries of a menu bar before what the window holds."""
_MENUS = frozenset({"menu", "popup menu"})
_NESTED = 2
"""Pixels by which a part may stick out of what holds it, for looks that tell no parents."""


@dataclass(frozen=True)
class HitTest:
    """What lies at some points and has the focus, with all that holds it; no picture.

    ``name`` is the machine's own name for that moment; see `Observation.name`.
    """

    elements: tuple[Element, ...]
    windows: tuple[Window, ...] = ()
    complete: bool = True
    name: str = ""


def element_at(point: Point, observation: Observation) -> Element | None:
    """The element that a click at a point would meet, of any space; None where none is known.

    What is drawn inside a control stands for the control. Boxes that only hold or arrange others
    count where nothing else lies there.
    """
    elements = observation.elements or ()
    top = _find_topmost(_at(point, observation), elements)
    return None if top is None else _lift_to_control(top, elements)


def cover_at(element: Element, point: Point, observation: Observation) -> Element | None:
    """Returns the element, with a text of its own, that lies over another one; None: there is none.

    Args:
        element: the lower element, of the look's list.
        point: a point of it, of any space.
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
    """The numbers of the elements that another one lies over at their middle; see `cover_at`."""
    elements = observation.elements or ()
    return [
        number
        for number, over in find_overlaps(observation).items()
        if any(elements[row].box.contains(elements[number].box.centre) for row in over)
        and cover_at(elements[number], elements[number].box.centre, observation) is not None
    ]


def find_overlaps(observation: Observation) -> dict[int, list[int]]:
    """By the number of an element: those that overlap it from above and are no part of it.

    Empty for a look that does not tell what holds what.
    """
    import numpy as np  # which a start need not wait for

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
    """For each element the number of the first one after it that is no part of it."""
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
    """The innermost element that has the keyboard focus; None where none is known."""
    focused = [element for element in observation.elements or () if "focused" in element.states]
    active = observation.active
    in_front = [e for e in focused if active and e.window in (active.title, "")]
    return min(in_front or focused, key=lambda element: element.box.area, default=None)


# ---------------------------------------------------------------- the stack of elements


def _at(point: Point, observation: Observation) -> list[int]:
    """The numbers of the elements at a point, the lowest first, without those of lower windows."""
    at = observation.convert(point, "screen")
    held = [n for n, e in enumerate(observation.elements or ()) if e.box.contains(at) and _shows(e)]
    hidden = _hidden_titles(at, observation.windows)
    return [n for n in held if (observation.elements or ())[n].window not in hidden]


def _hidden_titles(at: Point, windows: Sequence[Window]) -> set[str]:
    """The titles of the windows that another one hides at a point."""
    stacked = [window for window in windows if window.box and window.box.contains(at)]
    if not stacked:
        return set()
    return {window.title for window in stacked[:-1]} - {stacked[-1].title, ""}


def _shows(element: Element) -> bool:
    return not element.states or bool(element.states & {"showing", "visible"})


def _find_topmost(numbers: Sequence[int], elements: Sequence[Element]) -> int | None:
    """The number of the element on top of the others; they come as the tree has them."""
    hits = [n for n in numbers if _is_popped_up(n, elements)]
    hits = hits or [n for n in numbers if _takes_hits(elements[n])]
    if not hits:
        return numbers[-1] if numbers else None
    if elements[hits[-1]].parent is None:  # a list without parents has no order to go by
        return min(hits, key=lambda n: elements[n].box.area)
    top = hits[-1]
    if elements[top].role in _OPAQUE:  # what it holds was before it in no tree
        inside = [n for n in hits if is_part_of(n, top, elements)]
        return inside[-1]
    return top


def _is_popped_up(number: int, elements: Sequence[Element]) -> bool:
    """Whether it is an entry of an open menu; one that leads to another menu is a menu too."""
    parent = elements[number].parent
    if elements[number].role in _POPPED_UP or parent is None or parent < 0:
        return elements[number].role in _POPPED_UP
    return elements[number].role in _MENUS and elements[parent].role in _MENUS


def _takes_hits(element: Element) -> bool:
    return element.role in _OPAQUE or element.role not in CONTAINERS | LAYOUT


def _lift_to_control(number: int, elements: Sequence[Element]) -> Element:
    """The control that holds what is drawn in it; else the element itself."""
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
    """Whether a text of several lines has another part of its own paragraph within its box."""
    run, parent = elements[text], elements[text].parent
    if run.role != "static" or parent is None or parent < 0:
        return False
    return run.box.height > 1.5 * elements[other].box.height and is_part_of(other, parent, elements)


def _repeats_words(over: Element, element: Element) -> bool:
    """Whether what lies over an element bears no word that the element itself does not."""
    return _words(over) <= _words(element)


def _words(element: Element) -> frozenset[str]:
    parts = element.name, element.label, element.text, element.description
    return frozenset(re.findall(r"\w+", " ".join(parts).casefold()))
