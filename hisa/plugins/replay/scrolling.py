"""The wheel, where a target may be out of sight: trees of programs hold what shows alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hisa.actions import Scroll, Sleep
from hisa.plugins.replay.program_records import Target
from hisa.plugins.replay.surroundings import DIALOGS, Surroundings, is_shown
from hisa.plugins.synthesis.doing import called
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.lies_at import element_at, lies_in
from hisa.screen.observation import Element, Observation

__all__ = ["Search"]

_ACTS = 8  # forwards; back twice as many, past where the search began
_CLICK, _PART = 120, 0.8
"""Pixels of the longest turn by one click, Chromium's, and how much of a view a turn may pass."""
_LATE = 1  # seconds until a tree tells that its contents moved, where it did not at once
_LEAST = 100  # pixels of a view's height
_OUT = 8  # pixels by which its contents reach beyond it, more than a line does of its box
_TURNED = frozenset(
    {"spin button", "combo box", "slider", "dial", "page tab", "page tab list", "terminal"}
    | {"scroll bar", "date editor", "canvas", "drawing area", "embedded", "menu item"}
)
"""Roles of what the wheel itself changes."""


class Search:
    """A search for the target of one step: forwards until nothing moves any more, then back."""

    def __init__(self) -> None:
        self._ways = [(-1, _ACTS), (1, 2 * _ACTS)]
        self._before: object = None
        self._waited = False

    def turn(self, target: Target, look: Observation) -> Scroll | Sleep | None:
        """The next turn of the wheel, with its place in screen space, or a look later; None: none.

        It is made over the target's own window or dialog, and over nothing in front of that.
        """
        view = _view(target, look)
        if view is None:
            return None
        elements, (number, place) = look.elements or (), view
        clicks = max(1, int(_PART * elements[number].box.height / _CLICK))
        inside = (e for n, e in enumerate(elements) if lies_in(n, number, elements))
        shows = [(e.role, called(e), e.box) for e in inside]
        while self._ways:
            way, left = self._ways[0]
            if left and shows != self._before:
                self._ways[0], self._before, self._waited = (way, left - 1), shows, False
                return Scroll(way * clicks, at=place)
            if left and not self._waited:
                self._waited = True
                return Sleep(_LATE)
            self._before = None
            del self._ways[0]
        return None


def _view(target: Target, look: Observation) -> tuple[int, Point] | None:
    """The number of what may be scrolled, and a place in it where the wheel does nothing else.

    It is the one around the place that the target had once, else the largest.
    """
    around = Surroundings(look)
    elements, once = around.elements, BoundingBox(*target.box, "screen").centre
    asks = any(e.role in DIALOGS and is_shown(e) for e in elements)
    if not look.complete or asks != target.dialog or any(e.parent is None for e in elements):
        return None
    front = look.active.title if look.active else ""
    views = {
        n
        for n in _overflowing(elements, around)
        if elements[n].window in (front, "") and elements[n].app in (target.app, "")
        if around.in_dialog(elements[n]) == target.dialog and elements[n].box.height >= _LEAST
    }
    inner = views - {up for n in views for up in around.above(n)}
    for n in sorted(
        inner, key=lambda n: (not elements[n].box.contains(once), -elements[n].box.area)
    ):
        if (place := _place(n, look)) is not None:
            return n, place
    return None


def _overflowing(elements: Sequence[Element], around: Surroundings) -> Iterator[int]:
    """The numbers of what scrolls by its role, or has contents that reach beyond it."""
    for number, element in enumerate(elements):
        if not is_shown(element):
            continue
        if element.role == "scroll pane":
            yield number
        for up in around.above(number):
            box = elements[up].box
            if element.box.bottom > box.bottom + _OUT or element.box.top < box.top - _OUT:
                yield up


def _place(number: int, look: Observation) -> Point | None:
    """A place on the screen that belongs to an element, and to nothing that the wheel changes."""
    elements, box = look.elements or (), (look.elements or ())[number].box
    shown = box.intersection(BoundingBox(0, 0, look.screen.width, look.screen.height, "screen"))
    numbers = {id(element): n for n, element in enumerate(elements)}
    if shown is None:
        return None
    for part in (0.5, 0.25, 0.75, 0.9):
        place = Point(shown.left + part * shown.width, shown.centre.y, "screen")
        top = element_at(place, look)
        if (
            top is not None
            and top.role not in _TURNED
            and lies_in(numbers[id(top)], number, elements)
        ):
            return Point(*place.rounded(), "screen")
    return None
