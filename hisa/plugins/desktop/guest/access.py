"""Reads the elements on the screen, in the one thread that talks to the accessibility bus."""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, field
from typing import Any

from .bus import Bus, BusGone, Limit, has_session_bus
from .cells import Cells
from .element_tree import read_tree
from .node import Node, overlap
from .window_watch import WindowWatch
from .x_screen import Screen

__all__ = ["ELEMENTS_SECONDS", "Access", "ReadOptions", "Reading"]

ELEMENTS_SECONDS = float(os.environ.get("HISA_ELEMENTS_SECONDS") or 4.0)
"""Time limit of a reading on an idle machine, eight times what a spreadsheet of 600 elements takes;
a client multiplies it by its patience, and an emulated machine is started with more."""
_GRACE_SECONDS = 3.0
"""Time beyond a reading's own limit after which it is given up; chosen by hand."""
_QUIET_SECONDS = 0.15
"""Elements are read once no window has opened or closed for this long; a dialog of LibreOffice is
mapped, and its parts are made, within 0.1 s."""
_QUIET_SHARE = 0.5
"""Largest share of the time limit that is spent on waiting for that quiet."""
_UNTOLD_SHARE = 0.25
"""Share of the time limit that an application may take to report a window that is open: 1 s on an
idle machine, where LibreOffice takes 0.1 s; at load 13 it took 4 s, and had 8."""
_BUS_SHARE = 0.5
"""Share of the time limit that the bus may take to answer at first: it starts with the desktop."""
_WAIT_SHARE, _UNTOLD_PAUSE = 0.125, 0.05
"""Share of the time limit that one reading waits for such a window, and the pause between tries."""


@dataclass(frozen=True)
class Reading:
    """The showing top-level windows, each a tree of the showing elements in it.

    ``complete`` is False if something may be missing: an application did not answer in time or has
    not reported a new window yet, there are more elements than asked for, or windows kept opening
    and closing.
    """

    windows: list[Node] = field(default_factory=list)
    complete: bool = False


@dataclass(frozen=True)
class ReadOptions:
    """What to read: at most ``limit`` elements in ``seconds``; ``hidden`` adds hidden ones."""

    limit: int
    seconds: float = ELEMENTS_SECONDS
    hidden: bool = False


class Access:
    """Reads the elements on request.

    Args:
        screen: the screen, whose bounds decide what counts as showing.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._wakeup_reader, self._wakeup_writer = os.pipe()
        self._queue: queue.SimpleQueue[tuple[ReadOptions, Future[Reading]]] = queue.SimpleQueue()
        threading.Thread(target=self._serve, args=(_Reader(screen),), daemon=True).start()

    @property
    def available(self) -> bool:
        """Whether there is a session bus to ask."""
        return has_session_bus()

    def read(self, request: ReadOptions) -> Reading:
        """Returns the showing elements; an incomplete reading if the bus does not answer."""
        future: Future[Reading] = Future()
        self._queue.put((request, future))
        os.write(self._wakeup_writer, b"\0")
        try:
            return future.result(request.seconds + _GRACE_SECONDS)
        except FutureTimeout:
            future.cancel()
            sys.stderr.write("accessibility: no answer in time\n")
            return Reading()

    def elements(self, request: ReadOptions) -> tuple[list[dict[str, Any]], bool]:
        """Returns the elements with a box on the screen, as JSON, and whether those are all."""
        reading = self.read(request)
        elements: list[dict[str, Any]] = []
        for window in reading.windows:
            self._list(window, -1, elements, hidden=request.hidden)
        return elements[: request.limit], reading.complete and len(elements) <= request.limit

    def _list(
        self, window: Node, parent: int, elements: list[dict[str, Any]], *, hidden: bool
    ) -> None:
        """Add the elements on the screen, in reading order, each with the index of its parent.

        With ``hidden``, elements that are not on the screen are added without the state "showing".
        """
        stack = [(window, parent)]
        while stack:
            node, parent = stack.pop()
            if self._on_screen(node) or hidden:
                elements.append(node.to_json() | {"parent": parent})
                parent = len(elements) - 1
            if hidden and not self._on_screen(node):
                states = node.states - {"showing"}
                elements[-1] |= {"states": sorted(states), "box": node.box or (0, 0, 0, 0)}
            stack += [(child, parent) for child in reversed(node.children)]

    def _on_screen(self, node: Node) -> bool:
        if node.box is None:
            return False
        left, top, right, bottom = node.box
        return right > 0 and bottom > 0 and left < self._screen.width and top < self._screen.height

    def _serve(self, first: _Reader) -> None:
        reader: _Reader | None = first
        while True:
            reader = self._idle(reader)
            os.read(self._wakeup_reader, 1)
            request, future = self._queue.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                reader = reader or _Reader(self._screen)
                future.set_result(reader.read(request))
            except Exception as error:  # noqa: BLE001 - the thread must go on
                sys.stderr.write(f"accessibility: {error}\n")
                future.set_result(Reading())
                if reader is not None:
                    reader.close()
                reader = None

    def _idle(self, reader: _Reader | None) -> _Reader | None:
        """Wait for a request; return the reader, or None if a new one must be made."""
        if reader is None:
            return None
        try:
            reader.watch(self._wakeup_reader)
        except Exception as error:  # noqa: BLE001 - the thread must go on
            sys.stderr.write(f"accessibility: {error}\n")
            reader.close()
            return None
        return reader


class _Reader:
    """The connections for reading, all used by one thread.

    The one to the X server is opened at once, so that at the first request it is known how long no
    window has opened or closed. The one to the bus, which may not be up yet, is opened when needed.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._comings = WindowWatch(screen.name)
        self._bus: Bus | None = None
        self._cells = Cells()
        self._came: dict[int, float] = {}

    def close(self) -> None:
        """Closes the connections."""
        self._comings.close()
        if self._bus is not None:
            self._bus.close()

    def watch(self, body: int) -> None:
        """Notes when windows open and close, until the descriptor ``body`` has a request."""
        self._comings.watch(body)

    def read(self, request: ReadOptions) -> Reading:
        """Reads while no window opens or closes; if one does, reads again.

        If the screen has changed meanwhile, it is read once more, so that the elements and the
        screenshot that is taken next are of one moment. Only once, because a playing video never
        stands still.
        """
        end = time.monotonic() + request.seconds
        bus = self._bus = self._bus or _connect_bus(time.monotonic() + _BUS_SHARE * request.seconds)
        last = Reading()
        while time.monotonic() < end:
            most = _QUIET_SHARE * (end - time.monotonic())
            if not self._comings.await_quiet(_QUIET_SECONDS, most):
                break
            limit = Limit(max(0.0, end - time.monotonic()), self._comings.since())
            limit.hidden = request.hidden
            frame = self._screen.grab()
            windows = read_tree(
                bus,
                self._cells,
                frame,
                self._screen.windows(),
                request.limit,
                limit,
                popups=self._screen.popups,
            )
            limit.check()
            if limit.moved:
                last = Reading(windows)
                continue
            if limit.ran_out and last.complete:
                return last
            share = _UNTOLD_SHARE * request.seconds
            came = time.monotonic() - self._comings.last < share
            if self._awaits_window(windows, share) or (limit.ran_out and came):
                last = Reading(windows)
                if time.monotonic() > end - (1.0 - _WAIT_SHARE) * request.seconds:
                    return last
                time.sleep(_UNTOLD_PAUSE)
                continue
            if limit.ran_out:
                return Reading(windows)
            if last.complete or self._screen.grab().pixels == frame.pixels:
                return Reading(windows, complete=True)
            last = Reading(windows, complete=True)
        return last

    def _awaits_window(self, windows: list[Node], seconds: float) -> bool:
        """Whether a window that opened less than ``seconds`` ago is not reported yet.

        An application shows its first window before it reports it, a busy one seconds before.
        """
        shown = [window for window in self._screen.windows() if not window.hidden]
        self._came = {w.id: self._came.get(w.id, self._comings.last) for w in shown}
        names = {window.title for window in shown} & {window.window for window in windows}
        others = [window.box for window in windows if window.window not in names and window.box]
        now = time.monotonic()
        return any(
            now - self._came[window.id] < seconds
            and window.title not in names
            and not any(overlap(window.box, box) for box in others)
            for window in shown
        )


def _connect_bus(end: float) -> Bus:
    """Connects to the bus; waits for one that has just been started.

    Raises:
        BusGone: it does not answer by ``end``, a monotonic time.
    """
    while True:
        try:
            return Bus()
        except BusGone:
            if time.monotonic() >= end:
                raise
        time.sleep(_UNTOLD_PAUSE)
