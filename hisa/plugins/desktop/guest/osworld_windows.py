"""OSWorld's routes that start programs and handle windows."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import time
from typing import Any

from Xlib import X
from Xlib.protocol import event

from .http_server import HttpError, Request, Response, Routes, answer_text, json_response
from .osworld_bodies import read_command, read_form
from .spawning import spawn
from .x_screen import Screen, TopWindow

__all__ = ["WindowRoutes"]

_OPEN_SECONDS = 30.0  # chosen by hand
_POLL_SECONDS = 0.1  # chosen by hand
_CLOSE, _ACTIVATE = "_NET_CLOSE_WINDOW", "_NET_ACTIVE_WINDOW"


class WindowRoutes:
    """Starts programs, and activates and closes windows.

    Args:
        screen: the screen.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def routes(self) -> Routes:
        """Returns the routes by method and path."""
        return {
            ("POST", "/setup/launch"): self._launch,
            ("POST", "/setup/open_file"): self._open_file,
            ("POST", "/setup/activate_window"): self._activate,
            ("POST", "/setup/close_window"): self._close,
            ("POST", "/window_size"): self._window_size,
        }

    def _launch(self, request: Request) -> Response:
        command = read_command(request.json())
        words = ["bash", "-c", command] if isinstance(command, str) else list(command)
        if platform.machine() == "aarch64" and words[0] == "google-chrome":
            words[0] = "chromium"
        self._start(words)
        return answer_text(f"{' '.join(words)} launched successfully")

    def _start(self, words: list[str]) -> None:
        null = subprocess.DEVNULL
        try:
            spawn(words, stdin=null, stdout=null, stderr=null, start_new_session=True)
        except OSError as error:
            raise HttpError(500, str(error)) from error

    def _open_file(self, request: Request) -> Response:
        path = os.path.expandvars(os.path.expanduser(str(request.json().get("path") or "")))
        if not os.path.exists(path):
            raise HttpError(404, f"{path}: no such file")
        if shutil.which("xdg-open") is None:
            raise HttpError(501, "no xdg-open on this machine")
        before = {window.id for window in self._screen.windows()}
        self._start(["xdg-open", path])
        stem = os.path.splitext(os.path.basename(path))[0]
        deadline = time.monotonic() + _OPEN_SECONDS
        while time.monotonic() < deadline:
            windows = self._screen.windows()
            if any(stem in window.title or window.id not in before for window in windows):
                return answer_text("File opened successfully")
            time.sleep(_POLL_SECONDS)
        raise HttpError(500, f"no window for {path} in {_OPEN_SECONDS:g} seconds")

    def _window_size(self, request: Request) -> Response:
        name = read_form(request).get("app_class_name", "")
        for window in reversed(self._screen.windows()):
            if name and name.lower() in window.app.lower():
                left, top, right, bottom = window.box
                return json_response({"width": right - left, "height": bottom - top})
        raise HttpError(404, f"no window of class {name!r}")

    def _activate(self, request: Request) -> Response:
        self._tell(self._find(request.json()), _ACTIVATE, [2, X.CurrentTime, 0, 0, 0])
        return answer_text("Window activated successfully")

    def _close(self, request: Request) -> Response:
        self._tell(self._find(request.json()), _CLOSE, [X.CurrentTime, 2, 0, 0, 0])
        return answer_text("Window closed successfully")

    def _find(self, body: dict[str, Any]) -> TopWindow:
        name = body.get("window_name")
        if not isinstance(name, str) or not name:
            raise HttpError(400, "window_name: missing")
        strict, by_class = bool(body.get("strict")), bool(body.get("by_class"))
        for window in reversed(self._screen.windows()):
            text = window.app if by_class else window.title
            if name == text if strict else name.lower() in text.lower():
                return window
        raise HttpError(404, f"no window {name!r}")

    def _tell(self, window: TopWindow, atom_name: str, data: list[int]) -> None:
        with self._screen.lock:
            target = self._screen.display.create_resource_object("window", window.id)
            kind = self._screen.atom(atom_name)
            message = event.ClientMessage(window=target, client_type=kind, data=(32, data))
            mask = X.SubstructureRedirectMask | X.SubstructureNotifyMask
            self._screen.root.send_event(message, event_mask=mask)
            self._screen.display.sync()
