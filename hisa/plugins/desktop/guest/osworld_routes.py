"""The routes of OSWorld's guest by which a client looks, acts and moves files, in its shapes."""

from __future__ import annotations

import os
import re
import shlex
from typing import Any
from urllib.parse import parse_qs

from . import commands
from .access import Access
from .access import ReadOptions as ElementsRequest
from .http_server import (
    HttpError,
    Request,
    Response,
    Routes,
    answer_text,
    file_response,
    json_response,
)
from .markup import to_xml
from .x_screen import Screen, as_png

__all__ = ["OSWorldRoutes"]

_EXECUTE_SECONDS = 120.0
_OUTPUT = 8 << 20  # chosen by hand
_MAX_UPLOAD = 1 << 30  # chosen by hand
_REQUEST = ElementsRequest(limit=5000, seconds=20.0)
"""A client of these routes cannot say how long it waits; ours gives the tree 60 s."""
_BOUNDARY = re.compile(r'boundary="?([^";,]{1,200})"?')
_FIELD_NAME = re.compile(r'[Ff]orm-data;.*?\bname="([^"]*)"')


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
        return {
            ("GET", "/screenshot"): lambda _: Response(as_png(self._screen.look()[0]), "image/png"),
            ("GET", "/accessibility"): self._accessibility,
            ("GET", "/platform"): lambda _: answer_text("Linux"),
            ("GET", "/cursor_position"): lambda _: json_response(list(self._screen.pointer())),
            ("POST", "/screen_size"): self._screen_size,
            ("POST", "/execute"): _execute,
            ("POST", "/setup/execute"): _execute,
            ("POST", "/file"): _file,
            ("POST", "/setup/upload"): _upload,
        }

    def _accessibility(self, _: Request) -> Response:
        return json_response({"AT": to_xml(self._access.read(_REQUEST))})

    def _screen_size(self, _: Request) -> Response:
        return json_response({"width": self._screen.width, "height": self._screen.height})


def _execute(request: Request) -> Response:
    try:
        done = commands.run(_command(request.json()), timeout=_EXECUTE_SECONDS, limit=_OUTPUT)
    except OSError as error:
        raise HttpError(500, str(error)) from error
    if done.timed_out:
        raise HttpError(500, f"timed out after {_EXECUTE_SECONDS:g} seconds")
    answer = {"output": done.output, "error": done.error, "returncode": done.exit_code}
    return json_response({"status": "success", **answer})


def _command(body: dict[str, Any]) -> list[str] | str:
    """The command of a JSON body; a text that is not for a shell is split into words."""
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


def _file(request: Request) -> Response:
    if request.headers.get("Content-Type", "").startswith("multipart/form-data"):
        path = _multipart(request).get("file_path", b"").decode("utf-8", "replace")
    else:
        fields = parse_qs(request.body().decode("utf-8", "replace"))
        path = fields.get("file_path", [""])[-1]
    return file_response(_expanded(path), request.query)


def _upload(request: Request) -> Response:
    fields = _multipart(request)
    path = _expanded(fields.get("file_path", b"").decode("utf-8", "replace"))
    if "file_data" not in fields:
        raise HttpError(400, "want the fields file_path and file_data")
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "wb") as file:
            file.write(fields["file_data"])
    except OSError as error:
        raise HttpError(500, f"{path}: {error}") from error
    return answer_text("File Uploaded")


def _expanded(path: str) -> str:
    """As a person means it: ~, variables, and relative to the home folder."""
    if not path:
        raise HttpError(400, "file_path: missing")
    plain = os.path.expandvars(os.path.expanduser(path))
    return os.path.join(os.path.expanduser("~"), plain)


def _multipart(request: Request) -> dict[str, bytes]:
    """The fields of a multipart form, byte for byte."""
    kind = request.headers.get("Content-Type", "")
    found = _BOUNDARY.search(kind)
    if not kind.startswith("multipart/form-data") or found is None:
        raise HttpError(400, "want multipart/form-data with a boundary")
    delimiter = b"\r\n--" + found[1].encode("latin-1", "replace")
    fields = {}
    for part in (b"\r\n" + request.body(_MAX_UPLOAD)).split(delimiter)[1:]:
        head, _, data = part.partition(b"\r\n\r\n")
        name = _FIELD_NAME.search(head.decode("utf-8", "replace"))
        if name is not None:
            fields[name[1]] = data
    return fields
