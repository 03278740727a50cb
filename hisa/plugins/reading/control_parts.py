"""The arrows of fields and buttons, which accessibility does not tell apart."""

from __future__ import annotations

from collections.abc import Sequence

from hisa.grounder.thing import ARROW_WORDS, READ, Thing, overlap
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element

__all__ = ["build_arrow", "with_arrows"]

_OPENS = frozenset({"collapsed", "expandable", "expanded", "has-popup"})
"""States of a page's button with something to open; a page draws arrows on no other."""
_ARROW = 0.9
"""How wide the arrows of a spin button or a combo box are drawn, of its height."""
_SPLIT = 0.45
"""The same of the arrow of a button with a list."""


def with_arrows(things: Sequence[Thing]) -> list[Thing]:
    """Things and the arrows of fields and buttons, where they usually are; what is read comes last.

    A line that says just what the arrow in its place is called is taken for the arrow.
    """
    pages = [t.box for t in things if t.role == "document web"]
    elements = [t for t in things if t.role != READ]
    arrows = [
        arrow
        for thing in elements
        for arrow in _arrows(thing, any(page.contains(thing.box.centre) for page in pages))
    ]
    read = [t for t in things if t.role == READ and not any(_same(t, arrow) for arrow in arrows)]
    return elements + arrows + read


def _same(read: Thing, arrow: Thing) -> bool:
    name = arrow.element.name
    return read.element.name.casefold() == name and overlap(arrow.box, read.box) > 0.5


def _arrows(thing: Thing, on_page: bool) -> list[Thing]:
    box, element = thing.box, thing.element
    wide = min(_ARROW * box.height, box.width / 2)
    if element.role == "spin button":
        if box.width >= 2.6 * box.height and box.height >= 30 and not on_page:
            return _beside(thing)
        middle = box.centre.y
        up = BoundingBox(box.right - wide, box.top, box.right, middle, "screen")
        down = BoundingBox(box.right - wide, middle, box.right, box.bottom, "screen")
        return [build_arrow(thing, "up", up), build_arrow(thing, "down", down)]
    if element.role in ("combo box", "push button", "toggle button") and box.width > box.height:
        if element.role != "combo box":
            if on_page and not element.states & _OPENS:
                return []
            wide = min(wide, _SPLIT * box.height)
        at = BoundingBox(box.right - wide, box.top, box.right, box.bottom, "screen")
        return [build_arrow(thing, "drop-down", at)]
    return []


def _beside(thing: Thing) -> list[Thing]:
    """Toolkits for touch draw minus and plus side by side, each as wide as high."""
    box = thing.box
    plus = BoundingBox(box.right - box.height, box.top, box.right, box.bottom, "screen")
    minus = BoundingBox(plus.left - box.height, box.top, plus.left, box.bottom, "screen")
    return [build_arrow(thing, "up", plus), build_arrow(thing, "down", minus)]


def build_arrow(owner: Thing, name: str, box: BoundingBox, drawn: float | None = None) -> Thing:
    """Returns an arrow of a field or button, as a thing.

    Args:
        owner: the field or button.
        name: of the arrow, such as "up" or "down".
        box: of the arrow, in screen space.
        drawn: how well the picture shows it, 0 to 1; None: it was not found by the picture.
    """
    of = owner.element
    does = ARROW_WORDS.get(name, ())
    element = Element(
        "arrow part",
        name,
        box,
        label=of.name or of.label,
        window=of.window,
        app=of.app,
    )
    labels = owner.labels + tuple((word, 0.95) for word in does)
    if of.name and of.text:  # a cell goes by what it shows as much as by its address
        labels += ((of.text[:60], 0.95),)
    return Thing(element, box, labels, owner.front, drawn)
