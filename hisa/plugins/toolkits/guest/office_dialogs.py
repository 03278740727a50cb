"""Finds a process's modal dialogs, and its window in front, on the X display.

UNO does not list LibreOffice's dialogs: under GTK they are GTK's windows. Only ``libX11`` is used,
which every program with a window has loaded; importing python-xlib takes longer than the whole
search.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

__all__ = ["front_title", "modal_dialogs"]

Answer = TypeVar("Answer")
_ANY_TYPE = 0
_LONGS = 4096
"""Longs of a property that are read: more windows than any desktop has."""


def modal_dialogs(pid: int) -> list[str]:
    """Returns the titles of a process's modal windows; empty also if the display is not there."""
    return _ask(lambda display: list(display.modal(pid)), [])


def front_title(pid: int) -> str:
    """Returns the title of the window in front, if it is one of that process; else empty."""
    return _ask(lambda display: display.front(pid), "")


def _ask(question: Callable[[_Display], Answer], unknown: Answer) -> Answer:
    try:
        x11 = ctypes.CDLL(ctypes.util.find_library("X11") or "libX11.so.6")
    except OSError:
        return unknown
    display = _Display.open(x11)
    if display is None:
        return unknown
    try:
        return question(display)
    finally:
        display.close()


class _Display:
    def __init__(self, x11: Any, handle: int) -> None:
        self._x11, self._handle = x11, ctypes.c_void_p(handle)

    @classmethod
    def open(cls, x11: Any) -> _Display | None:
        x11.XOpenDisplay.restype = ctypes.c_void_p
        x11.XDefaultRootWindow.restype = ctypes.c_ulong
        x11.XInternAtom.restype = ctypes.c_ulong
        handle = x11.XOpenDisplay(None)
        if not handle:
            return None
        x11.XSetErrorHandler(_IGNORE)  # a window may be gone by the time it is asked
        return cls(x11, handle)

    def close(self) -> None:
        self._x11.XCloseDisplay(self._handle)

    def modal(self, pid: int) -> Iterator[str]:
        root = self._x11.XDefaultRootWindow(self._handle)
        modal = self._atom("_NET_WM_STATE_MODAL")
        for window in self._longs(root, "_NET_CLIENT_LIST"):
            is_own = pid in self._longs(window, "_NET_WM_PID")
            if is_own and modal in self._longs(window, "_NET_WM_STATE"):
                yield self._text(window, "_NET_WM_NAME")

    def front(self, pid: int) -> str:
        root = self._x11.XDefaultRootWindow(self._handle)
        for window in self._longs(root, "_NET_ACTIVE_WINDOW"):
            if pid in self._longs(window, "_NET_WM_PID"):
                return self._text(window, "_NET_WM_NAME")
        return ""

    def _atom(self, name: str) -> int:
        return int(self._x11.XInternAtom(self._handle, name.encode(), 0))

    def _longs(self, window: int, name: str) -> list[int]:
        data, count = self._property(window, name)
        if data.value is None or not count:
            return []
        values = ctypes.cast(data, ctypes.POINTER(ctypes.c_ulong))[:count]
        self._x11.XFree(data)
        return list(values)

    def _text(self, window: int, name: str) -> str:
        data, count = self._property(window, name)
        if data.value is None:
            return ""
        text = ctypes.string_at(data, count).decode(errors="replace")
        self._x11.XFree(data)
        return text

    def _property(self, window: int, name: str) -> tuple[ctypes.c_void_p, int]:
        kind, size = ctypes.c_ulong(), ctypes.c_int()
        count, left = ctypes.c_ulong(), ctypes.c_ulong()
        data = ctypes.c_void_p()
        self._x11.XGetWindowProperty(
            self._handle,
            ctypes.c_ulong(window),
            ctypes.c_ulong(self._atom(name)),
            ctypes.c_long(0),
            ctypes.c_long(_LONGS),
            0,
            ctypes.c_ulong(_ANY_TYPE),
            ctypes.byref(kind),
            ctypes.byref(size),
            ctypes.byref(count),
            ctypes.byref(left),
            ctypes.byref(data),
        )
        return data, count.value


_IGNORE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(lambda *_: 0)
