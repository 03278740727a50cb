"""OSWorld's routes for files and folders."""

from __future__ import annotations

import os
import re
from typing import Any

from .http_server import (
    HttpError,
    Request,
    Response,
    Routes,
    answer_text,
    file_response,
    json_response,
)
from .osworld_bodies import read_form

__all__ = ["FileRoutes"]

_MAX_UPLOAD = 1 << 30  # chosen by hand
_MAX_TREE = 20_000  # chosen by hand
_BOUNDARY = re.compile(r'boundary="?([^";,]{1,200})"?')
_FIELD_NAME = re.compile(r'[Ff]orm-data;.*?\bname="([^"]*)"')


class FileRoutes:
    """Uploads and downloads files by name."""

    def routes(self) -> Routes:
        """Returns the routes by method and path."""
        return {
            ("POST", "/file"): self._file,
            ("POST", "/list_directory"): self._list_directory,
            ("POST", "/desktop_path"): lambda _: json_response({"desktop_path": _home("Desktop")}),
            ("POST", "/setup/upload"): self._upload,
        }

    # ---------------------------------------------------------------- files

    def _file(self, request: Request) -> Response:
        return file_response(_expand_path(_field(_form(request), "file_path")), request.query)

    def _list_directory(self, request: Request) -> Response:
        path = _expand_path(_field(request.json(), "path"))
        if not os.path.isdir(path):
            raise HttpError(400, f"{path}: no such folder")
        return json_response({"directory_tree": _tree(path, [_MAX_TREE])})

    def _upload(self, request: Request) -> Response:
        fields = _multipart(request)
        path = _expand_path(fields.get("file_path", b"").decode("utf-8", "replace"))
        if "file_data" not in fields or not path:
            raise HttpError(400, "the request needs the fields file_path and file_data")
        try:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            with open(path, "wb") as file:
                file.write(fields["file_data"])
        except OSError as error:
            raise HttpError(500, f"{path}: {error}") from error
        return answer_text("File Uploaded")


def _home(name: str) -> str:
    return os.path.join(os.path.expanduser("~"), name)


def _expand_path(path: str) -> str:
    """Expand ~ and variables; a relative path is relative to the home folder."""
    plain = os.path.expandvars(os.path.expanduser(path))
    return os.path.join(os.path.expanduser("~"), plain) if plain else ""


def _field(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise HttpError(400, f"{name}: missing")
    return value


def _form(request: Request) -> dict[str, Any]:
    kind = request.headers.get("Content-Type", "")
    if kind.startswith("multipart/form-data"):
        fields = _multipart(request)
        return {name: value.decode("utf-8", "replace") for name, value in fields.items()}
    return dict(read_form(request))


def _multipart(request: Request) -> dict[str, bytes]:
    """Return the fields of a multipart form, byte for byte."""
    kind = request.headers.get("Content-Type", "")
    match = _BOUNDARY.search(kind)
    if not kind.startswith("multipart/form-data") or match is None:
        raise HttpError(400, "the body must be multipart/form-data with a boundary")
    delimiter = b"\r\n--" + match[1].encode("latin-1", "replace")
    fields = {}
    for part in (b"\r\n" + request.body(_MAX_UPLOAD)).split(delimiter)[1:]:
        head, _, data = part.partition(b"\r\n\r\n")
        name = _FIELD_NAME.search(head.decode("utf-8", "replace"))
        if name is not None:
            fields[name[1]] = data
    return fields


def _tree(path: str, left: list[int]) -> dict[str, Any]:
    name = os.path.basename(path.rstrip("/")) or path
    if os.path.islink(path) or not os.path.isdir(path):
        return {"type": "file", "name": name}
    children = []
    try:
        names = sorted(os.listdir(path))
    except OSError:
        names = []
    for child in names:
        left[0] -= 1
        if left[0] < 0:
            break
        children.append(_tree(os.path.join(path, child), left))
    return {"type": "directory", "name": name, "children": children}
