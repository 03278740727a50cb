"""Windows that are there and not painted yet, where the screen has but one colour.

A window is mapped before its program draws it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from .x_screen import Frame, Screen, TopWindow

__all__ = ["Undrawn"]

_POLL_SECONDS = 0.04  # chosen by hand
_MOST_NAMED = 3
"""Windows that are named as blank at a time; chosen by hand."""
_NAMED_SECONDS = 30.0
"""How long: what is still blank then is so for good, as windows without content are."""


class Undrawn:
    """Waits for windows that came since it last did; those that stay blank are new only once."""

    def __init__(self) -> None:
        self._known: set[int] = set()
        self._awaited: dict[int, float] = {}

    def forget_gone(self, windows: Sequence[TopWindow]) -> None:
        """Forget the windows that are no more: X gives their numbers to others."""
        self._known &= {window.id for window in windows}

    def new(self, frame: Frame, windows: Sequence[TopWindow]) -> list[TopWindow]:
        """Returns the windows that came and have one colour; they are known from now on."""
        came = [window for window in windows if window.id not in self._known]
        self._known = {window.id for window in windows}
        return _blank(frame, came)

    def wait(self, screen: Screen, blank: Sequence[TopWindow], end: float) -> bool:
        """Wait until something is painted in each; returns False where one is blank at ``end``.

        Args:
            screen: what is watched.
            blank: what is awaited.
            end: a monotonic time in seconds.
        """
        while blank and time.monotonic() < end:
            time.sleep(_POLL_SECONDS)
            blank = _blank(screen.grab(), blank)
        self._awaited |= dict.fromkeys((window.id for window in blank), time.monotonic())
        return not blank

    def still(self, screen: Screen, windows: Sequence[TopWindow]) -> list[str]:
        """Returns the names of windows that were lately waited for in vain and still are blank."""
        oldest = time.monotonic() - _NAMED_SECONDS
        lately = [window for window in windows if self._awaited.get(window.id, 0.0) > oldest]
        blank = _blank(screen.grab(), lately) if lately else []
        self._awaited = {window.id: self._awaited[window.id] for window in blank}
        return [f'window "{window.title}"' for window in blank][:_MOST_NAMED]


def _blank(frame: Frame, windows: Sequence[TopWindow]) -> list[TopWindow]:
    """Those that are on the screen and have one colour."""
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
