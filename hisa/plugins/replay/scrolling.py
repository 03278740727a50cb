"""The wheel, where a target may be out of sight: trees of programs hold what shows alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hisa.actions import Action, Scroll, Sleep
from hisa.plugins.replay.program_records import Target
from hisa.plugins.replay.surroundings import Surroundings, is_shown
from hisa.plugins.synthesis.doing import called
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.lies_at import element_at, lies_in
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import DIALOGS

__all__ = ["Search"]

_ACTS = 16  # forwards; back twice as many, past where the search began
_CLICK, _PART = 120, 0.8
"""Pixels of the longest turn by one click, Chromium's, and how much of a view a turn may pass."""
_MOVES = 0.7  # seconds until contents are at rest and the tree tells of it; where not, once more
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

    def turn(self, target: Target, look: Observation) -> tuple[Action, ...]:
        """The next turn over the target's own window or dialog, or a pause; empty: none helps."""
        view = _view(target, look)
        if view is None:
            return ()
        elements, (number, place) = look.elements or (), view
        clicks = max(1, int(_PART * _shown(number, look).height / _CLICK))
        inside = (e for n, e in enumerate(elements) if lies_in(n, number, elements))
        shows = [(e.role, called(e), e.box) for e in inside]
        while self._ways:
            way, left = self._ways[0]
            if left and shows != self._before:
                self._ways[0], self._before, self._waited = (way, left - 1), shows, False
                return Scroll(way * clicks, at=place), Sleep(_MOVES)
            if left and not self._waited:
                self._waited = True
                return (Sleep(_MOVES),)
            self._before = None
            del self._ways[0]
        return ()


def _view(target: Target, look: Observation) -> tuple[int, Point] | None:
    """The number of what scrolls around the target's old place, else the largest; its place."""
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
    ranks = {n: (elements[n].box.contains(once), elements[n].box.area) for n in inner}
    best = sorted(ranks, key=ranks.__getitem__, reverse=True)
    return next(((n, place) for n in best if (place := _place(n, look))), None)


def _overflowing(elements: Sequence[Element], around: Surroundings) -> Iterator[int]:
    """The numbers of what scrolls by its role, or has contents that reach beyond it."""
    for number, element in enumerate(elements):
        for up in around.above(number) if is_shown(element) else ():
            box, role = elements[up].box, elements[up].role
            over = max(element.box.bottom - box.bottom, box.top - element.box.top)
            if over > _OUT or role == "scroll pane":
                yield up


def _place(number: int, look: Observation) -> Point | None:
    """A place on the screen that belongs to an element, and to nothing that the wheel changes."""
    elements, shown = look.elements or (), _shown(number, look)
    inside = {id(e) for n, e in enumerate(elements) if lies_in(n, number, elements)}
    for part in (0.5, 0.25, 0.75, 0.9):
        place = Point(shown.left + part * shown.width, shown.centre.y, "screen")
        top = element_at(place, look)
        if top is not None and id(top) in inside and top.role not in _TURNED:
            return Point(*place.rounded(), "screen")
    return None


def _shown(number: int, look: Observation) -> BoundingBox:
    """The part of an element that lies on the screen and in all that holds it."""
    box = BoundingBox(0, 0, look.screen.width, look.screen.height, "screen")
    for up in (number, *Surroundings(look).above(number)):
        box = box.intersection((look.elements or ())[up].box) or BoundingBox(0, 0, 0, 0, "screen")
    return box
