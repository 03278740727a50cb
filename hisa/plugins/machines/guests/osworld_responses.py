"""Parses the responses of an OSWorld guest; an unusable one raises ValueError with the reason."""

from __future__ import annotations

import math
import re
from typing import Any

from hisa.environments.transport.base import HttpResponse, reason
from hisa.plugins.machines.guests.osworld_xml import Tree, parse_tree
from hisa.protocols import CommandResult
from hisa.screen.geometry import Point, Size
from hisa.screen.observation import Screenshot, Window
from hisa.text.window_titles import plain_title

__all__ = [
    "check_upload",
    "command_result",
    "cursor",
    "elements",
    "file_bytes",
    "picture",
    "windows",
]


def _require_success(response: HttpResponse) -> None:
    if response.status_code != 200:
        raise ValueError(reason(response))


def _json(response: HttpResponse) -> dict[str, Any]:
    _require_success(response)
    try:
        body = response.json()
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {response.text[:200]!r}") from error
    if not isinstance(body, dict):
        raise ValueError(f"not a JSON object: {body!r:.200}")
    return body


def command_result(response: HttpResponse) -> CommandResult:
    """Parses the result of a command."""
    body = _json(response)
    code = body.get("returncode")
    if not isinstance(code, int):
        raise ValueError(f"a response without a returncode: {body!r:.200}")
    return CommandResult(code, str(body.get("output") or ""), str(body.get("error") or ""))


def picture(response: HttpResponse) -> Screenshot:
    """Parses a screenshot."""
    kind = response.headers.get("content-type", "")
    if response.status_code != 200 or not kind.startswith("image/"):
        raise ValueError(f"HTTP {response.status_code}, {kind or 'no content type'}")
    return Screenshot.from_png(response.content)


def cursor(response: HttpResponse) -> Point | None:
    """Returns the pointer's position in screen pixels; None unless it was sent as ``[x, y]``."""
    try:
        _require_success(response)
        x, y = (float(number) for number in response.json())
    except (ValueError, TypeError, RecursionError):
        return None
    return Point(x, y, "screen") if math.isfinite(x) and math.isfinite(y) else None


def elements(response: HttpResponse) -> Tree:
    """Parses the accessibility tree."""
    body = _json(response)
    if not isinstance(body.get("AT"), str):
        raise ValueError(f"a response without a tree: {body!r:.200}")
    return parse_tree(body["AT"])


def file_bytes(response: HttpResponse) -> bytes | None:
    """Returns the bytes of a file; None if there is no such file.

    A gateway in between sends its errors ("not found", "try again later") as web pages. A guest
    sends "not found" as JSON, and any file, even a web page, as an attachment.
    """
    if response.status_code == 404 and "error" in _refusal(response):
        return None
    _require_success(response)
    kind = response.headers.get("content-type", "")
    if kind.startswith("text/html") and "content-disposition" not in response.headers:
        raise ValueError(f"a web page instead of a file: {response.text[:200]!r}")
    return response.content


def _refusal(response: HttpResponse) -> dict[str, Any]:
    try:
        body = response.json()
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def check_upload(response: HttpResponse) -> None:
    """Refuses a web page, which is not from the guest; the guest's own words are HTML to Flask."""
    _require_success(response)
    if response.text.lstrip().startswith("<"):
        raise ValueError(f"a web page instead of a response: {response.text[:200]!r}")


_LISTED = re.compile(
    r"(?P<id>0x[0-9a-f]+)\s+-?\d+\s+"
    r"(?:-?\d+\s+-?\d+\s+(?P<width>\d+)\s+(?P<height>\d+)\s+)?"
    r"(?P<kind>\S+)\s+\S+(?:\s+(?P<title>.*))?"
)
"""A line of ``wmctrl -lGx``: id, desktop, position, size, class, machine and title."""


def windows(text: str) -> tuple[Window, ...]:
    """Parses lines of ``wmctrl -lGx`` and one of xprop; skips positions, wrong if framed."""
    active = re.search(r"window id # (0x[0-9a-f]+)", text)
    front = int(active.group(1), 16) if active else 0
    open_windows = []
    for line in text.splitlines():
        match = _LISTED.fullmatch(line)
        if match is None:
            continue
        number, wide = int(match["id"], 16), int(match["width"] or 0)
        open_windows.append(
            Window(
                id=hex(number),
                title=plain_title(match["title"] or ""),
                app=match["kind"].rpartition(".")[2],
                active=number == front,
                size=Size(wide, int(match["height"])) if wide else None,
            )
        )
    return tuple(open_windows)
