"""Reads the bodies of stock requests."""

from __future__ import annotations

import shlex
from typing import Any
from urllib.parse import parse_qs

from .http_server import HttpError, Request

__all__ = ["read_command", "read_form"]


def read_form(request: Request) -> dict[str, str]:
    """Returns the fields of a form, or of a JSON object of texts."""
    kind = request.headers.get("Content-Type", "")
    if kind.startswith("application/json"):
        return {key: str(value) for key, value in request.json().items()}
    fields = parse_qs(request.body().decode("utf-8", "replace"), keep_blank_values=True)
    return {name: values[-1] for name, values in fields.items()}


def read_command(body: dict[str, Any]) -> list[str] | str:
    """Returns the command of a JSON body; a text that is not for a shell is split into words.

    Raises:
        HttpError: there is no command, or its quotes cannot be read.
    """
    command, shell = body.get("command"), bool(body.get("shell", False))
    if isinstance(command, list) and command:
        words = [str(word) for word in command]
        return " ".join(words) if shell else words
    if not isinstance(command, str) or not command:
        raise HttpError(400, f"command must be a text or a list, not {command!r:.80}")
    try:
        return command if shell else shlex.split(command)
    except ValueError as error:
        raise HttpError(400, f"command: {error}") from error
