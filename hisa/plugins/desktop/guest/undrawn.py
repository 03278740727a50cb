"""What is there and not painted yet: windows, and controls, where the screen has but one colour.

A window is mapped before its program draws it, and a page tells of what it will paint.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .node import BoundingBox
from .x_screen import Frame, Screen, TopWindow

__all__ = ["Blank", "Undrawn", "await_drawn"]

_POLL_SECONDS = 0.04  # chosen by hand
_PAINTED = frozenset(
    {"push button", "toggle button", "check box", "radio button", "link", "menu", "menu item"}
    | {"page tab", "heading", "label"}
)
"""Roles that paint something where they have a name; a cell or a panel may be blank for ever."""
_LEAST_PIXELS = 8
"""Width and height below which a control is one for screen readers alone."""
_MOST_NAMED = 3
"""Things that are named as blank at a time; chosen by hand."""
_NAMED_SECONDS = 30.0
"""How long: what is still blank then is so for good, as windows without content are."""


class Blank(NamedTuple):
    """Something of one colour: its place in screen pixels, what it is, and what it is known by."""

    box: BoundingBox
    name: str
    key: object


class Undrawn:
    """Finds what came since it was last asked and is not painted.

    What stays blank is new only once: some windows are, and pages have controls that nobody sees.
    """

    def __init__(self) -> None:
        self._windows: set[int] = set()
        self._elements: set[object] = set()
        self._awaited: dict[object, float] = {}

    def forget_gone(self, windows: Iterable[TopWindow]) -> None:
        """Forget the windows that are no more: X gives their numbers to others."""
        self._windows &= {window.id for window in windows}

    def new(
        self,
        frame: Frame,
        windows: Sequence[TopWindow],
        elements: Sequence[Mapping[str, Any]] | None,
    ) -> list[Blank]:
        """Find what came and has one colour.

        Args:
            frame: the screen.
            windows: those on it.
            elements: those that show, as they go over the wire; None: they were not read.
        """
        there = _windows(windows)
        found = [one for key, one in there.items() if key not in self._windows]
        came: list[Mapping[str, Any]] = []
        self._windows = {window.id for window in windows}
        if elements is not None:
            front = next((window.title for window in windows if window.active), None)
            known, self._elements = self._elements, set()
            for element in elements:
                one = _control(element)
                self._elements.add(one.key)
                if one.key not in known and element["window"] == front:
                    came.append(element)
        bare = _blank(frame, [*found, *map(_control, filter(_tells, came))])
        keys = {one.key for one in bare}
        # What came beside it in its page is painted: what still is blank then lies under a cover,
        # or waits for the pointer.
        shown = {_document(e, elements or ()) for e in came if _tells(e) and _key(e) not in keys}
        late = {_key(e) for e in came if _paints(e) and _document(e, elements or ()) not in shown}
        return [one for one in bare if one in found or one.key in late]

    def awaited(self, blank: Iterable[Blank]) -> None:
        """Note these as waited for in vain, for `still` to name as long as they stay so."""
        since = time.monotonic()
        self._awaited |= {one.key: since for one in blank}

    def still(
        self,
        screen: Screen,
        windows: Iterable[TopWindow],
        elements: Sequence[Mapping[str, Any]] | None,
    ) -> list[str]:
        """Returns the names of what was lately waited for in vain and still is blank."""
        if not self._awaited:
            return []
        there = _windows(windows) | {one.key: one for one in map(_control, elements or ())}
        oldest = time.monotonic() - _NAMED_SECONDS
        kept = {key: at for key, at in self._awaited.items() if at > oldest and key in there}
        blank = _blank(screen.grab(), [there[key] for key in kept])
        self._awaited = {one.key: kept[one.key] for one in blank}
        return [one.name for one in blank][:_MOST_NAMED]


def await_drawn(screen: Screen, blank: Sequence[Blank], end: float) -> list[Blank]:
    """Wait until something is painted in each; returns those that are bare at ``end``.

    Args:
        screen: what is watched.
        blank: what is awaited.
        end: a monotonic time in seconds.
    """
    while blank and time.monotonic() < end:
        time.sleep(_POLL_SECONDS)
        blank = _blank(screen.grab(), blank)
    return list(blank)


def _windows(windows: Iterable[TopWindow]) -> dict[object, Blank]:
    """The windows that show, by what they are known by."""
    shown = [window for window in windows if not window.hidden]
    return {w.id: Blank(w.box, f'window "{w.title}"', w.id) for w in shown}


def _control(element: Mapping[str, Any]) -> Blank:
    return Blank(element["box"], f'{element["role"]} "{element["name"]}"', _key(element))


def _key(element: Mapping[str, Any]) -> object:
    return element["role"], element["name"], element["window"]


def _paints(element: Mapping[str, Any]) -> bool:
    return _tells(element) and element["role"] in _PAINTED


def _tells(element: Mapping[str, Any]) -> bool:
    """Whether a thing has words that are painted; what holds others may be, before they are."""
    left, top, right, bottom = element["box"]
    told = element["name"] and element["role"] in _PAINTED | {"static", "text", "image"}
    return bool(told) and min(right - left, bottom - top) >= _LEAST_PIXELS


def _document(element: Mapping[str, Any], elements: Sequence[Mapping[str, Any]]) -> int:
    """The place in the list of the page that holds an element; -1 for none."""
    at = element.get("parent", -1)
    while at >= 0 and not elements[at]["role"].startswith("document"):
        at = elements[at].get("parent", -1)
    return at


def _blank(frame: Frame, things: Iterable[Blank]) -> list[Blank]:
    """Those that are on the screen and have one colour."""
    image, found = None, []
    for thing in things:
        left, top = max(0, thing.box[0]), max(0, thing.box[1])
        right, bottom = min(frame.width, thing.box[2]), min(frame.height, thing.box[3])
        if right <= left or bottom <= top:
            continue
        image = image or frame.image()
        if image.crop((left, top, right, bottom)).getcolors(1) is not None:
            found.append(thing)
    return found
