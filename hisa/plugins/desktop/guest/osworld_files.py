"""OSWorld's routes for files."""

from __future__ import annotations

import os
import re
from urllib.parse import parse_qs

from .http_server import HttpError, Request, Response, Routes, answer_text, file_response

__all__ = ["FILE_ROUTES"]

_MAX_UPLOAD = 1 << 30  # chosen by hand
_BOUNDARY = re.compile(r'boundary="?([^";,]{1,200})"?')
_FIELD_NAME = re.compile(r'[Ff]orm-data;.*?\bname="([^"]*)"')


def _file(request: Request) -> Response:
    path = _path(_form(request))
    if not path:
        raise HttpError(400, "file_path: missing")
    return file_response(path, request.query)


def _upload(request: Request) -> Response:
    fields = _multipart(request)
    path = _path(fields)
    if "file_data" not in fields or not path:
        raise HttpError(400, "want the fields file_path and file_data")
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "wb") as file:
            file.write(fields["file_data"])
    except OSError as error:
        raise HttpError(500, f"{path}: {error}") from error
    return answer_text("File Uploaded")


FILE_ROUTES: Routes = {("POST", "/file"): _file, ("POST", "/setup/upload"): _upload}
"""Files in and out by name."""


def _path(fields: dict[str, bytes]) -> str:
    """As a person means it: ~, variables, and relative to the home folder; empty for none."""
    text = fields.get("file_path", b"").decode("utf-8", "replace")
    plain = os.path.expandvars(os.path.expanduser(text))
    return os.path.join(os.path.expanduser("~"), plain) if plain else ""


def _form(request: Request) -> dict[str, bytes]:
    """The fields of a form of either kind, or of a JSON object of texts."""
    kind = request.headers.get("Content-Type", "")
    if kind.startswith("multipart/form-data"):
        return _multipart(request)
    if kind.startswith("application/json"):
        return {key: str(value).encode("utf-8", "replace") for key, value in request.json().items()}
    fields = parse_qs(request.body().decode("utf-8", "replace"), keep_blank_values=True)
    return {name: values[-1].encode("utf-8", "replace") for name, values in fields.items()}


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
