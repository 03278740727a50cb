"""The arrows of fields and buttons, which accessibility does not tell apart."""

from __future__ import annotations

from hisa.grounder.thing import Thing
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element

__all__ = ["DOES", "guessed_arrows", "part"]

_DOES = {"up": ("increase", "plus"), "down": ("decrease", "minus")}
DOES = frozenset(word for words in _DOES.values() for word in words)
"""What the arrows of a spin button go by besides their names."""

_OPENS = frozenset({"collapsed", "expandable", "expanded", "has-popup"})
"""States of a page's button with something to open; a page draws arrows on no other."""
_ARROW = 0.9
"""How wide the arrows of a spin button or a combo box are drawn, of its height."""
_SPLIT = 0.45
"""The same of the arrow of a button with a list."""


def guessed_arrows(thing: Thing, on_page: bool) -> list[Thing]:
    """The parts of a field or button that are not told apart, where they usually are.

    Args:
        thing: the field or button.
        on_page: it is on a web page.
    """
    box, element = thing.box, thing.element
    wide = min(_ARROW * box.height, box.width / 2)
    if element.role == "spin button":
        if box.width >= 2.6 * box.height and box.height >= 30 and not on_page:
            return _beside(thing)
        middle = box.centre.y
        up = BoundingBox(box.right - wide, box.top, box.right, middle, "screen")
        down = BoundingBox(box.right - wide, middle, box.right, box.bottom, "screen")
        return [part(thing, "up", up), part(thing, "down", down)]
    if element.role in ("combo box", "push button", "toggle button") and box.width > box.height:
        if element.role != "combo box":
            if on_page and not element.states & _OPENS:
                return []
            wide = min(wide, _SPLIT * box.height)
        at = BoundingBox(box.right - wide, box.top, box.right, box.bottom, "screen")
        return [part(thing, "drop-down", at)]
    return []


def _beside(thing: Thing) -> list[Thing]:
    """Toolkits for touch draw minus and plus side by side, each as wide as high."""
    box = thing.box
    plus = BoundingBox(box.right - box.height, box.top, box.right, box.bottom, "screen")
    minus = BoundingBox(plus.left - box.height, box.top, plus.left, box.bottom, "screen")
    return [part(thing, "up", plus), part(thing, "down", minus)]


def part(owner: Thing, name: str, box: BoundingBox, drawn: float | None = None) -> Thing:
    """The arrow of that name of a field or button."""
    of = owner.element
    does = _DOES.get(name, ())
    told = Element(
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
    return Thing(told, box, labels, owner.front, drawn)
