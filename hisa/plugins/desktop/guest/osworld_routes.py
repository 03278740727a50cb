"""The routes of the OSWorld guest that a Linux client uses, in its formats."""

from __future__ import annotations

from . import commands
from .access import Access
from .access import ReadOptions as ElementsRequest
from .http_server import HttpError, Request, Response, Routes, answer_text, json_response
from .markup import terminal_text, to_xml
from .osworld_bodies import read_command
from .osworld_files import FileRoutes
from .osworld_windows import WindowRoutes
from .x_screen import Screen, as_png

__all__ = ["OSWorldRoutes"]

_EXECUTE_SECONDS, _PYTHON_SECONDS = 120.0, 30.0
_OUTPUT = 8 << 20  # chosen by hand
_REQUEST = ElementsRequest(limit=5000, seconds=20.0)
"""A client of these routes cannot set a time limit; HiSA's own waits 60 s for the tree."""
_PYTHON = "/usr/bin/python3"


class OSWorldRoutes:
    """All routes outside /hisa.

    Args:
        screen: the screen.
        access: reads the elements.
    """

    def __init__(self, screen: Screen, access: Access) -> None:
        self._screen = screen
        self._access = access
        self._files = FileRoutes()
        self._windows = WindowRoutes(screen)

    def routes(self) -> Routes:
        """Returns the routes by method and path."""
        own = {
            ("GET", "/screenshot"): lambda _: Response(as_png(self._screen.look()[0]), "image/png"),
            ("GET", "/accessibility"): self._accessibility,
            ("GET", "/terminal"): self._terminal,
            ("GET", "/platform"): lambda _: answer_text("Linux"),
            ("GET", "/cursor_position"): lambda _: json_response(list(self._screen.pointer())),
            ("POST", "/screen_size"): self._screen_size,
            ("POST", "/execute"): self._execute,
            ("POST", "/setup/execute"): self._execute,
            ("POST", "/run_python"): self._run_python,
        }
        return {**own, **self._files.routes(), **self._windows.routes()}

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
        command = read_command(request.json())
        try:
            result = commands.run(command, timeout=_EXECUTE_SECONDS, limit=_OUTPUT)
        except OSError as error:
            raise HttpError(500, str(error)) from error
        if result.timed_out:
            raise HttpError(500, f"timed out after {_EXECUTE_SECONDS:g} seconds")
        return json_response(
            {
                "status": "success",
                "output": result.output,
                "error": result.error,
                "returncode": result.exit_code,
            }
        )

    def _run_python(self, request: Request) -> Response:
        code = request.json().get("code")
        if not isinstance(code, str) or not code:
            raise HttpError(400, "code must be a text")
        result = commands.run([_PYTHON, "-c", code], timeout=_PYTHON_SECONDS, limit=_OUTPUT)
        failed = result.exit_code != 0
        return json_response(
            {
                "status": "error" if failed else "success",
                "message": result.error if failed else result.output,
                "need_more": False,
                "output": result.output,
                "error": result.error or None,
                "return_code": result.exit_code,
            }
        )
