"""The elements on the screen, read by one thread that alone speaks to the accessibility bus."""

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
"""Beyond a reading's own limit, until it is given up; chosen by hand."""
_QUIET_SECONDS = 0.15
"""No window has come or gone for this long before elements are read; a dialog of LibreOffice is
mapped, and its parts are made, within 0.1 s."""
_QUIET_SHARE = 0.5
"""Of the time limit, at most so much is waited for that quiet."""
_UNTOLD_SHARE = 0.25
"""Of the time limit, so long a window may be there before its application reports it: 1 s on an
idle machine, where LibreOffice takes 0.1 s; at load 13 it took 4 s, and had 8."""
_BUS_SHARE = 0.5
"""Of the time limit, so long the bus may take to answer at first: it starts beside the desktop."""
_WAIT_SHARE, _UNTOLD_PAUSE = 0.125, 0.05
"""Of the time limit, so long one reading waits for such a window, and the pause between tries."""


@dataclass(frozen=True)
class Reading:
    """The showing top-level windows, each a tree of what shows in it.

    ``complete`` is False where something may be missing: an application did not answer in time, or
    has not told yet of a window that just came, there are more elements than asked for, windows
    came and went all the time.
    """

    windows: list[Node] = field(default_factory=list)
    complete: bool = False


@dataclass(frozen=True)
class ReadOptions:
    """What is read: at most ``limit`` elements within ``seconds``, with ``hidden`` all of them."""

    limit: int
    seconds: float = ELEMENTS_SECONDS
    hidden: bool = False


class Access:
    """Reads the elements when asked to.

    Args:
        screen: bounds what counts as showing.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._wakeup_reader, self._wakeup_writer = os.pipe()
        self._queue: queue.SimpleQueue[tuple[ReadOptions, Future[Reading]]] = queue.SimpleQueue()
        threading.Thread(target=self._serve, args=(_Reader(screen),), daemon=True).start()

    @property
    def available(self) -> bool:
        """Whether there is a bus to ask."""
        return has_session_bus()

    def read(self, request: ReadOptions) -> Reading:
        """Returns what shows; an incomplete reading where the bus does not answer."""
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
        """Returns what has a place on the screen, as it goes over the wire, and if that is all."""
        reading = self.read(request)
        elements: list[dict[str, Any]] = []
        for window in reading.windows:
            self._list(window, -1, elements, hidden=request.hidden)
        return elements[: request.limit], reading.complete and len(elements) <= request.limit

    def _list(
        self, window: Node, parent: int, elements: list[dict[str, Any]], *, hidden: bool
    ) -> None:
        """Add what is on the screen, in reading order, each with the place of what holds it.

        What is ``hidden`` and asked for as well has no state "showing".
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
            except Exception as error:  # noqa: BLE001 - the border of a thread: it goes on
                sys.stderr.write(f"accessibility: {error}\n")
                future.set_result(Reading())
                if reader is not None:
                    reader.close()
                reader = None

    def _idle(self, reader: _Reader | None) -> _Reader | None:
        """Wait for a request; returns the reader, or None where it has to be made anew."""
        if reader is None:
            return None
        try:
            reader.watch(self._wakeup_reader)
        except Exception as error:  # noqa: BLE001 - the border of a thread: it goes on
            sys.stderr.write(f"accessibility: {error}\n")
            reader.close()
            return None
        return reader


class _Reader:
    """The connections that reading takes, all for one thread.

    The one to the X server is opened at once, so that it is known how long no window has come or
    gone when a reading is asked for; the one to the bus, which may not be up yet, when needed.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._comings = WindowWatch(screen.name)
        self._bus: Bus | None = None
        self._cells = Cells()
        self._came: dict[int, float] = {}

    def close(self) -> None:
        """Close the connections."""
        self._comings.close()
        if self._bus is not None:
            self._bus.close()

    def watch(self, body: int) -> None:
        """Note when windows come and go until something is asked for on that descriptor."""
        self._comings.watch(body)

    def read(self, request: ReadOptions) -> Reading:
        """Read while no window comes or goes; what is read while one does is read again.

        Where the screen has changed meanwhile it is read once more, so that elements and the
        picture that is taken next are of one moment; a clip that plays never stands still.
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
        """Whether a window that came within so many seconds is not yet among those reported.

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
    """Returns the bus; one that has just been started answers a moment later.

    Raises:
        BusGone: it does not answer until ``end``, a monotonic time.
    """
    while True:
        try:
            return Bus()
        except BusGone:
            if time.monotonic() >= end:
                raise
        time.sleep(_UNTOLD_PAUSE)
