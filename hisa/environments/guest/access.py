"""The elements on the screen, read by one thread that alone speaks to the accessibility bus."""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING, Any

from .screen import Screen

if TYPE_CHECKING:
    from .node import Node

__all__ = ["Access"]

_SECONDS = float(os.environ.get("HISA_ELEMENTS_SECONDS") or 4.0)
"""Time limit of one reading; an emulated machine is given more."""
_GRACE_SECONDS = 3.0
_Work = tuple[Callable[[Any], Any], "Future[Any]"]


class Access:
    """Asks for the tree; an empty one where there is no accessibility bus.

    Args:
        screen: bounds what counts as showing.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._queue: queue.SimpleQueue[_Work] = queue.SimpleQueue()
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def available(self) -> bool:
        """Whether there is a bus to ask."""
        from .bus import has_session_bus

        return has_session_bus()

    def windows(self, limit: int) -> list[Node]:
        """Showing top-level windows, each a tree of what shows in it."""
        from .tree import read_tree

        future: Future[list[Node]] = Future()
        self._queue.put((lambda bus: read_tree(bus, limit, _SECONDS), future))
        try:
            return future.result(_SECONDS + _GRACE_SECONDS)
        except FutureTimeout:
            sys.stderr.write("accessibility: no answer in time\n")
            return []

    def elements(self, limit: int) -> list[dict[str, Any]]:
        """The showing elements that have a place on the screen, as they go over the wire."""
        from .tree import flatten

        windows = self.windows(limit)
        nodes = (node for window in windows for node in flatten(window))
        return [node.to_json() for node in nodes if self._on_screen(node)][:limit]

    def _on_screen(self, node: Node) -> bool:
        if node.box is None:
            return False
        left, top, right, bottom = node.box
        return right > 0 and bottom > 0 and left < self._screen.width and top < self._screen.height

    def _serve(self) -> None:
        from .bus import Bus, BusGone

        bus: Bus | None = None
        while True:
            if bus is None:
                try:
                    bus = Bus()
                except BusGone as error:
                    sys.stderr.write(f"accessibility: {error}\n")
            work, future = self._queue.get()
            try:
                future.set_result(work(bus) if bus else [])
            except Exception as error:  # noqa: BLE001 - the border of a thread: it goes to the asker
                future.set_exception(error)
                bus = None
