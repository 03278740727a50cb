"""Finds windows that are mapped but not painted yet: the screen has only one colour there.

A window is mapped before its program draws it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from .x_screen import Frame, Screen, TopWindow

__all__ = ["Undrawn"]

_POLL_SECONDS = 0.04  # chosen by hand
_MOST_NAMED = 3
"""Most windows that are reported as blank at a time; chosen by hand."""
_NAMED_SECONDS = 30.0
"""How long a blank window is reported: after that it counts as one without content."""


class Undrawn:
    """Waits for windows that opened since the last call; one that stays blank is new only once."""

    def __init__(self) -> None:
        self._known: set[int] = set()
        self._awaited: dict[int, float] = {}

    def forget_gone(self, windows: Sequence[TopWindow]) -> None:
        """Forgets the windows that are closed: X reuses their ids."""
        self._known &= {window.id for window in windows}

    def new(self, frame: Frame, windows: Sequence[TopWindow]) -> list[TopWindow]:
        """Returns the new windows that have only one colour; they are known from now on."""
        came = [window for window in windows if window.id not in self._known]
        self._known = {window.id for window in windows}
        return _blank(frame, came)

    def wait(self, screen: Screen, blank: Sequence[TopWindow], end: float) -> bool:
        """Waits until all windows are painted; returns False if one is still blank at ``end``.

        Args:
            screen: the screen to watch.
            blank: the windows to wait for.
            end: the end of the wait, a monotonic time in seconds.
        """
        while blank and time.monotonic() < end:
            time.sleep(_POLL_SECONDS)
            blank = _blank(screen.grab(), blank)
        self._awaited |= dict.fromkeys((window.id for window in blank), time.monotonic())
        return not blank

    def still(self, screen: Screen, windows: Sequence[TopWindow]) -> list[str]:
        """Returns the names of windows that stayed blank during a recent wait, and still are."""
        oldest = time.monotonic() - _NAMED_SECONDS
        lately = [window for window in windows if self._awaited.get(window.id, 0.0) > oldest]
        blank = _blank(screen.grab(), lately) if lately else []
        self._awaited = {window.id: self._awaited[window.id] for window in blank}
        return [f'window "{window.title}"' for window in blank][:_MOST_NAMED]


def _blank(frame: Frame, windows: Sequence[TopWindow]) -> list[TopWindow]:
    """Return the windows that are on the screen and have only one colour."""
    image, blank_windows = None, []
    for window in windows:
        left, top = max(0, window.box[0]), max(0, window.box[1])
        right, bottom = min(frame.width, window.box[2]), min(frame.height, window.box[3])
        if window.hidden or right <= left or bottom <= top:
            continue
        image = image or frame.image()
        if image.crop((left, top, right, bottom)).getcolors(1) is not None:
            blank_windows.append(window)
    return blank_windows
