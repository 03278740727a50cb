"""Walks accessibility trees, and places what was read on a picture."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hisa.plugins.screen.base import Reading
from hisa.plugins.screen.capture import PictureMapping
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element

__all__ = ["MOST_ELEMENTS", "READ_SECONDS", "on_picture", "role_of", "walk"]

READ_SECONDS = 4.0
"""A reading ends by itself after this time, and says that its list is not complete."""
MOST_ELEMENTS = 2000
"""Most elements of a reading; more do not fit on a screen."""


def walk(
    tops: Sequence[Any], read: Callable[[Any], tuple[Element | None, Sequence[Any]]]
) -> tuple[tuple[Element, ...], bool]:
    """Reads trees, parents before children, until the time or the number of elements is over.

    Args:
        tops: the roots, the most wanted first.
        read: returns the element of a node, or None if it shows nothing, and its children.

    Returns:
        The elements, and whether they are all.
    """
    end = time.monotonic() + READ_SECONDS
    elements: list[Element] = []
    waiting = [(node, -1) for node in reversed(tops)]
    while waiting:
        if time.monotonic() > end or len(elements) >= MOST_ELEMENTS:
            return tuple(elements), False
        node, parent = waiting.pop()
        element, children = read(node)
        if element is not None:
            elements.append(replace(element, parent=parent))
            parent = len(elements) - 1
        waiting += [(child, parent) for child in reversed(children)]
    return tuple(elements), True


def role_of(name: str, roles: Mapping[str, str]) -> str:
    """Returns a role in HiSA's spelling: of a table, else the words of a name such as ScrollBar."""
    return roles.get(name) or re.sub(r"(?<=.)(?=[A-Z])", " ", name).lower()


def on_picture(reading: Reading, mapping: PictureMapping) -> Reading:
    """Returns a reading with places on the picture, without the elements on other monitors."""
    windows = [
        window if window.box is None else replace(window, box=_box(window.box, mapping))
        for window in reading.windows
    ]
    if reading.elements is None:
        return replace(reading, windows=tuple(windows))
    places: dict[int, int] = {-1: -1}
    shown: list[Element] = []
    for number, element in enumerate(reading.elements):
        box = _box(element.box, mapping)
        parent = None if element.parent is None else places.get(element.parent, -1)
        outside = box.right <= 0 or box.bottom <= 0
        if outside or box.left >= mapping.width or box.top >= mapping.height:
            places[number] = -1 if parent is None else parent
            continue
        places[number] = len(shown)
        shown.append(replace(element, box=box, parent=parent))
    return replace(reading, windows=tuple(windows), elements=tuple(shown))


def _box(box: BoundingBox, mapping: PictureMapping) -> BoundingBox:
    left, top = mapping.to_pixels(box.left, box.top)
    right, bottom = mapping.to_pixels(box.right, box.bottom)
    return BoundingBox(left, top, right, bottom, "screen")
