"""The routes of the OSWorld guest by which a client looks, acts and moves files."""

from __future__ import annotations

import shlex
from typing import Any

from . import commands
from .access import Access
from .access import ReadOptions as ElementsRequest
from .http_server import HttpError, Request, Response, Routes, answer_text, json_response
from .markup import terminal_text, to_xml
from .osworld_files import FILE_ROUTES
from .x_screen import Screen, as_png

__all__ = ["OSWorldRoutes"]

_EXECUTE_SECONDS = 120.0
_OUTPUT = 8 << 20  # chosen by hand
_REQUEST = ElementsRequest(limit=5000, seconds=20.0)
"""A client of these routes cannot say how long it waits; ours gives the tree 60 s."""


class OSWorldRoutes:
    """Everything outside /hisa.

    Args:
        screen: what is looked at.
        access: what knows the elements.
    """

    def __init__(self, screen: Screen, access: Access) -> None:
        self._screen = screen
        self._access = access

    def routes(self) -> Routes:
        """By method and path."""
        own = {
            ("GET", "/screenshot"): lambda _: Response(as_png(self._screen.look()[0]), "image/png"),
            ("GET", "/accessibility"): self._accessibility,
            ("GET", "/terminal"): self._terminal,
            ("GET", "/platform"): lambda _: answer_text("Linux"),
            ("GET", "/cursor_position"): lambda _: json_response(list(self._screen.pointer())),
            ("POST", "/screen_size"): self._screen_size,
            ("POST", "/execute"): self._execute,
            ("POST", "/setup/execute"): self._execute,
        }
        return {**own, **FILE_ROUTES}

    def _accessibility(self, _: Request) -> Response:
        return json_response({"AT": to_xml(self._access.read(_REQUEST))})

    def _terminal(self, _: Request) -> Response:
        reading = self._access.read(_REQUEST)
        output = terminal_text(reading.windows)
        if output is None and not reading.complete:
            raise HttpError(500, "the elements on the screen could not be read in time")
        return json_response({"output": output, "status": "success"})

    def _screen_size(self, _: Request) -> Response:
        return json_response({"width": self._screen.width, "height": self._screen.height})

    def _execute(self, request: Request) -> Response:
        command = _command(request.json())
        try:
            done = commands.run(command, timeout=_EXECUTE_SECONDS, limit=_OUTPUT)
        except OSError as error:
            raise HttpError(500, str(error)) from error
        if done.timed_out:
            raise HttpError(500, f"timed out after {_EXECUTE_SECONDS:g} seconds")
        return json_response(
            {
                "status": "success",
                "output": done.output,
                "error": done.error,
                "returncode": done.exit_code,
            }
        )


def _command(body: dict[str, Any]) -> list[str] | str:
    """The command of a JSON body; a text that is not for a shell is split into words.

    Raises:
        HttpError: there is none.
    """
    command, shell = body.get("command"), bool(body.get("shell", False))
    if isinstance(command, list) and command:
        words = [str(word) for word in command]
        return " ".join(words) if shell else words
    if not isinstance(command, str) or not command:
        raise HttpError(400, f"command: want text or a list, not {command!r:.80}")
    try:
        return command if shell else shlex.split(command)
    except ValueError as error:
        raise HttpError(400, f"command: {error}") from error
