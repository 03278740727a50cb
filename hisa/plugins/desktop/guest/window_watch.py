"""Watches windows that open and close, by the X server's events.

The accessibility bus reports them too, but only to a listener, and while there is one, applications
keep the table of their elements that refers to objects that are gone (see `tree_walk`).
"""

from __future__ import annotations

import contextlib
import select
import time
from collections.abc import Callable
from typing import Any

from Xlib import X
from Xlib.display import Display
from Xlib.error import ConnectionClosedError

__all__ = ["WindowWatch"]

_POLL_SECONDS = 0.01  # chosen by hand
_KINDS = frozenset({X.MapNotify, X.UnmapNotify, X.DestroyNotify})


class WindowWatch:
    """Counts windows, menus and tooltips that appear and disappear; for one thread alone.

    Args:
        name: the name of the display.
    """

    def __init__(self, name: str) -> None:
        self._display: Any = Display(name)
        self._display.screen().root.change_attributes(event_mask=X.SubstructureNotifyMask)
        self._display.sync()
        self.last = time.monotonic()
        """Monotonic time at which a window last opened or closed."""
        self.count = 0

    def close(self) -> None:
        """Closes the connection, if it is not closed already."""
        with contextlib.suppress(OSError, ConnectionClosedError):
            self._display.close()

    def watch(self, until: int) -> None:
        """Notes windows that open and close, until the descriptor ``until`` has something to read.

        The server does not report the time, so the time at which an event is read is used.
        """
        ready: list[int] = []
        while until not in ready:
            ready = select.select([self._display.fileno(), until], [], [])[0]
            self.poll()

    def poll(self) -> int:
        """Returns how many windows have opened or closed so far."""
        for _ in range(self._display.pending_events()):
            if self._display.next_event().type in _KINDS:
                self.count += 1
                self.last = time.monotonic()
        return self.count

    def since(self) -> Callable[[], bool]:
        """Returns a function that returns whether a window has opened or closed since this call."""
        count = self.count
        return lambda: self.poll() != count

    def await_quiet(self, quiet: float, most: float) -> bool:
        """Waits until no window opens or closes for ``quiet`` seconds; False after ``most``."""
        end = time.monotonic() + most
        while True:
            self.poll()
            now = time.monotonic()
            if now - self.last >= quiet:
                return True
            if now >= end:
                return False
            time.sleep(_POLL_SECONDS)
