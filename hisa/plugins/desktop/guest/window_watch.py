"""Whether windows are coming or going, told by the X server.

The accessibility bus reports it too, but only to a listener, and while one listens the applications
keep the table of their elements that holds on to objects that are gone (see `walk`).
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
        name: the display.
    """

    def __init__(self, name: str) -> None:
        self._display: Any = Display(name)
        self._display.screen().root.change_attributes(event_mask=X.SubstructureNotifyMask)
        self._display.sync()
        self.last = time.monotonic()
        """When one last came or went."""
        self.count = 0

    def close(self) -> None:
        """Close the connection, if it is not closed already."""
        with contextlib.suppress(OSError, ConnectionClosedError):
            self._display.close()

    def watch(self, until: int) -> None:
        """Note windows that come and go until there is something to read from that descriptor.

        The server does not say when one came: it is told by when the event is read.
        """
        ready: list[int] = []
        while until not in ready:
            ready = select.select([self._display.fileno(), until], [], [])[0]
            self.poll()

    def poll(self) -> int:
        """Returns how many windows have come or gone so far."""
        for _ in range(self._display.pending_events()):
            if self._display.next_event().type in _KINDS:
                self.count += 1
                self.last = time.monotonic()
        return self.count

    def since(self) -> Callable[[], bool]:
        """Returns a function that says whether one has come or gone since this call."""
        count = self.count
        return lambda: self.poll() != count

    def await_quiet(self, quiet: float, most: float) -> bool:
        """Wait until none has come or gone for ``quiet`` seconds; returns False after ``most``."""
        end = time.monotonic() + most
        while True:
            self.poll()
            now = time.monotonic()
            if now - self.last >= quiet:
                return True
            if now >= end:
                return False
            time.sleep(_POLL_SECONDS)
