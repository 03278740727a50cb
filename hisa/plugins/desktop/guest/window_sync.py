"""Waits until the window in front, or the window manager, has caught up.

Each gets a harmless request; its reply means that all earlier events are handled.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable
from typing import Any

from Xlib import X, Xatom
from Xlib.display import Display
from Xlib.error import XError
from Xlib.ext.res import LocalClientPIDMask
from Xlib.protocol import event

from .x_screen import Screen

__all__ = ["ManagerSync", "Pinger", "SelectionReader"]

_PING_SECONDS, _WITHOUT_PING_SECONDS = 2.0, 0.15
_READ_SECONDS = 10.0
"""Longest wait for a window to read its keys before a keycode is lent again: a browser that loads a
heavy page takes some seconds. A window that takes longer hangs; chosen by hand."""
_ASLEEP_LOOKS = 5
"""A program that answers no ping must be asleep this many times in a row; chosen by hand."""
_GLANCE_SECONDS = 0.15
"""A double click, of 0.4 s at most, has two such waits; a held button repeats after 0.2 s."""
_WORK_SECONDS, _REST_SECONDS, _REST_LOOKS = 0.02, 0.001, 2
"""Longest wait for the work on a press, of which each of 18 took less on busy cores; a program has
finished if it is asleep twice, a millisecond apart."""
_QUESTION, _ANSWER = "_NET_REQUEST_FRAME_EXTENTS", "_NET_FRAME_EXTENTS"
_ANSWER_SECONDS, _WITHOUT_ANSWER_SECONDS = 1.0, 0.05


_SELECTED_SECONDS, _SELECTED_CHARS = 0.1, 200
"""Time for a program to send its selected text, and the most characters that are kept; chosen by
hand."""


def _await(display: Any, matches: Callable[[Any], bool], seconds: float) -> bool:
    """Flush the output and read events until one matches; return False if time is up."""
    display.flush()
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        if not display.pending_events():
            select.select([display.fileno()], [], [], left)
        while display.pending_events():
            if matches(display.next_event()):
                return True
    return False


def _is_waiting(process: int) -> bool:
    """Whether a program is asleep; one that has something to read would be awake."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "RD"
    except OSError:
        return True


class Pinger:
    """Asks a window whether it has read its events, by the window manager's own ping."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._lock = threading.Lock()
        self._display: Any = Display(screen.name)
        self._root = self._display.screen().root
        self._serial = 0

    def wait(self) -> None:
        """Waits until the active window has read all events sent to it before, or time is up."""
        self._is_read(_PING_SECONDS)

    def has_read(self) -> bool:
        """Waits as `wait`, but longer, and returns whether the window has read its events."""
        return self._is_read(_READ_SECONDS)

    def _is_read(self, seconds: float) -> bool:
        with self._lock:
            number = self._screen.active_id()
            window = self._display.create_resource_object("window", number)
            if number and self._takes_ping(window):
                return self._ping(window, number, seconds)
            process = self._process(number or getattr(self._root.query_pointer().child, "id", 0))
            deadline, looks = time.monotonic() + seconds, 0
            while looks < _ASLEEP_LOOKS and time.monotonic() < deadline:
                time.sleep(_WITHOUT_PING_SECONDS / _ASLEEP_LOOKS)
                looks = looks + 1 if _is_waiting(process) else 0
            return looks >= _ASLEEP_LOOKS

    def _process(self, number: int) -> int:
        """Return the id of a window's process; 0 if unknown."""
        if not number or not self._display.has_extension("X-Resource"):
            return 0
        spec = {"client": number, "mask": LocalClientPIDMask}
        ids = self._display.res_query_client_ids([spec]).ids
        return next((int(entry.value[0]) for entry in ids if entry.value), 0)

    def glance(self) -> None:
        """Waits for the window under the pointer, for a moment at most, if there is one."""
        with self._lock:
            try:
                window = self._root.query_pointer().child
                while window and not self._takes_ping(window):
                    window = window.query_pointer().child
            except XError:  # the window has just been closed
                return
            if window:
                self._ping(window, window.id, _GLANCE_SECONDS)

    def settle_press(self) -> None:
        """Waits until the program under the pointer has read a press and is asleep again.

        A program may read its events and handle them later, as LibreOffice does on busy cores.
        """
        self.glance()
        with self._lock:
            process = self._process(getattr(self._root.query_pointer().child, "id", 0))
        deadline, looks = time.monotonic() + _WORK_SECONDS, 0
        while looks < _REST_LOOKS and time.monotonic() < deadline:
            time.sleep(_REST_SECONDS)
            looks = looks + 1 if _is_waiting(process) else 0

    def _takes_ping(self, window: Any) -> bool:
        try:
            return self._screen.atom("_NET_WM_PING") in (window.get_wm_protocols() or ())
        except XError:
            return False

    def _ping(self, window: Any, number: int, seconds: float) -> bool:
        self._serial = self._serial % 0x7FFFFFFF + 1
        data = [self._screen.atom("_NET_WM_PING"), self._serial, number, 0, 0]
        kind = self._screen.atom("WM_PROTOCOLS")
        message = event.ClientMessage(window=window, client_type=kind, data=(32, data))
        self._root.change_attributes(event_mask=X.SubstructureNotifyMask)
        window.send_event(message, event_mask=0)
        answered = _await(self._display, self._is_answer, seconds)
        self._root.change_attributes(event_mask=0)
        return answered

    def _is_answer(self, message: Any) -> bool:
        return bool(message.type == X.ClientMessage and message.data[1][1] == self._serial)


class ManagerSync:
    """Waits until the window manager has let a click through.

    The manager holds each click until it has raised the window, while keys pass it. So it is asked
    for the frame of a window that is never shown: managers do one thing after the other, so the
    click has gone through once the reply is there.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._display: Any = Display(screen.name)
        self._root = self._display.screen().root
        self._window = self._root.create_window(-10, -10, 1, 1, 0, X.CopyFromParent)
        self._window.change_attributes(event_mask=X.PropertyChangeMask)
        self._display.sync()

    def wait(self) -> None:
        """Waits until the manager has done everything that it was asked before."""
        if not self._screen.has_window_manager():
            return
        if not self._screen.manager_supports(_QUESTION):
            time.sleep(_WITHOUT_ANSWER_SECONDS)
            return
        kind = self._screen.atom(_QUESTION)
        message = event.ClientMessage(window=self._window, client_type=kind, data=(32, [0] * 5))
        mask = X.SubstructureRedirectMask | X.SubstructureNotifyMask
        self._root.send_event(message, event_mask=mask)
        _await(self._display, self._is_answer, _ANSWER_SECONDS)

    def _is_answer(self, message: Any) -> bool:
        return bool(message.type == X.PropertyNotify and message.atom == self._screen.atom(_ANSWER))


class SelectionReader:
    """Reads the text that was selected last, by mouse or keys: X's primary selection."""

    def __init__(self, screen: Screen) -> None:
        self._atom = screen.atom
        self._lock = threading.Lock()
        self._display: Any = Display(screen.name)
        self._window = self._display.screen().root.create_window(
            -10, -10, 1, 1, 0, X.CopyFromParent
        )

    def text(self) -> str:
        """Returns the text; empty if there is none, or if its program does not send it."""
        with self._lock:
            kind, place = self._atom("UTF8_STRING"), self._atom("HISA_SELECTED")
            self._window.delete_property(place)
            self._window.convert_selection(Xatom.PRIMARY, kind, place, X.CurrentTime)
            _await(self._display, lambda got: got.type == X.SelectionNotify, _SELECTED_SECONDS)
            answer = self._window.get_full_property(place, kind)
        selection = answer.value if answer is not None else b""
        return selection[: 4 * _SELECTED_CHARS].decode("utf-8", "replace")[:_SELECTED_CHARS]
