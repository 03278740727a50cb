"""Reads the screen from the ``<elements>`` section: windows and named elements."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from PIL import Image

from hisa.plugins.matching.description import read_description
from hisa.plugins.matching.elements import choose
from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Element, Observation, Screenshot

__all__ = ["Screen", "click_point", "read_screen"]

_LINE = re.compile(
    r'- (?P<role>[^"]{1,40}?) "(?P<name>.*?)"(?: text="(?P<text>.*?)")?'
    r'(?: label="(?P<label>.*?)")?(?: states=(?P<states>\S*))? at \((?P<x>-?\d+), (?P<y>-?\d+)\)'
)
_ACTIVE = re.compile(r"window: (?P<title>.*?)(?: ?\((?P<app>[^()]*)\))?")
_MAX_LINE = 600
_MAX_ITEMS = 400
_GOOD = 0.6
"""Least score of a choice; as the grounder's own."""
_SAME_ROW = 8
"""Most pixels between the centres of a row; a line of a dialog is about thirty high."""
_HALF = 2
"""Pixels; only an element's centre is listed, and a box needs an area to be clicked."""
_NO_PICTURE = Screenshot(Image.new("RGB", (1, 1)))
_LARGE = Size(100_000, 100_000)
"""Larger than any screen: the lines do not say how large theirs is."""


@dataclass(frozen=True)
class Screen:
    """The listed part of the screen; ``known`` is False if nothing was listed."""

    title: str = ""
    app: str = ""
    windows: tuple[str, ...] = ()
    items: tuple[Element, ...] = ()
    known: bool = False

    def shows_window(self, words: Iterable[str]) -> bool:
        """Whether a window's title, or the active window's application, has one of the words."""
        titles = " \n ".join((*self.windows, self.title, self.app)).casefold()
        titles = titles.replace("—", "-").replace("–", "-")
        return any(word.casefold() in titles for word in words)

    def is_in_front(self, words: Iterable[str]) -> bool:
        """Whether the active window's title or application has one of the words."""
        return Screen(self.title, self.app).shows_window(words)

    def find(self, phrase: str) -> Element | None:
        """Returns the item that the grounder would choose, the first of equals; None if no item."""
        observation = Observation(_NO_PICTURE, _LARGE, elements=self.items)
        choice = choose(read_description(phrase), observation, _GOOD)
        equal = choice.others[:1] if choice.ambiguous else ()
        return next((candidate.element for candidate in (choice.chosen, *equal) if candidate), None)

    def find_beside(self, label: str, roles: Iterable[str]) -> Element | None:
        """Returns the item of some roles with a label, or to the right of the label on its row."""
        name = label.casefold()
        fit = [item for item in self.items if item.role in roles]
        for item in fit:
            if name in (_plain(item.label), _plain(item.name)):
                return item
        for named in self.with_role("label"):
            if _plain(named.name or named.text) == name:
                (x, y) = click_point(named)
                row = (
                    i
                    for i in fit
                    if abs(click_point(i)[1] - y) <= _SAME_ROW and click_point(i)[0] > x
                )
                return min(row, key=click_point, default=None)
        return None

    def with_role(self, *roles: str) -> Iterator[Element]:
        """Returns the items of some roles, in order."""
        return (item for item in self.items if item.role in roles)


def click_point(item: Element) -> tuple[int, int]:
    """Returns the point to click for an item, in image pixels."""
    return item.box.centre.to_pixels()


def read_screen(text: str) -> Screen:
    """Parses the section; ignores lines of another form."""
    title = app = ""
    windows: tuple[str, ...] = ()
    items: list[Element] = []
    for line in text.split("\n")[: 2 * _MAX_ITEMS]:
        line = line[:_MAX_LINE]
        if line.startswith("windows:"):
            windows = tuple(part.strip() for part in line[8:].split(";"))
        elif line.startswith("window:") and (active := _ACTIVE.fullmatch(line)):
            title, app = active["title"], active["app"] or ""
        elif len(items) < _MAX_ITEMS and (match := _LINE.fullmatch(line)):
            items.append(_read_item(match))
    return Screen(title, app, windows, tuple(items), known=bool(text.strip()))


def _read_item(match: re.Match[str]) -> Element:
    x, y = (int(match[name][:9]) for name in "xy")
    return Element(
        role=match["role"],
        name=match["name"].strip(),
        box=BoundingBox(x - _HALF, y - _HALF, x + _HALF, y + _HALF, "screen"),
        text=match["text"] or "",
        label=match["label"] or "",
        states=frozenset((match["states"] or "").split(",")) - {""},
    )


def _plain(text: str) -> str:
    return text.casefold().replace("_", "").rstrip(".…:* ")
