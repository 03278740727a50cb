"""Parses the responses of an OSWorld guest; an unusable one is a ValueError with the reason."""

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

__all__ = ["command_result", "cursor", "elements", "file_bytes", "picture", "uploaded", "windows"]


def _usable(response: HttpResponse) -> None:
    if response.status_code != 200:
        raise ValueError(reason(response))


def _json(response: HttpResponse) -> dict[str, Any]:
    _usable(response)
    try:
        said = response.json()
    except (ValueError, RecursionError) as error:
        raise ValueError(f"no JSON: {response.text[:200]!r}") from error
    if not isinstance(said, dict):
        raise ValueError(f"JSON of another shape: {said!r:.200}")
    return said


def command_result(response: HttpResponse) -> CommandResult:
    """Parse the result of a command."""
    done = _json(response)
    code = done.get("returncode")
    if not isinstance(code, int):
        raise ValueError(f"answered without a returncode: {done!r:.200}")
    return CommandResult(code, str(done.get("output") or ""), str(done.get("error") or ""))


def picture(response: HttpResponse) -> Screenshot:
    """A whole picture."""
    kind = response.headers.get("content-type", "")
    if response.status_code != 200 or not kind.startswith("image/"):
        raise ValueError(f"HTTP {response.status_code}, {kind or 'no content type'}")
    return Screenshot.from_png(response.content)


def cursor(response: HttpResponse) -> Point | None:
    """Returns the pointer's place in screen pixels; None where it is not told as ``[x, y]``."""
    try:
        _usable(response)
        x, y = (float(number) for number in response.json())
    except (ValueError, TypeError, RecursionError):
        return None
    return Point(x, y, "screen") if math.isfinite(x) and math.isfinite(y) else None


def elements(response: HttpResponse) -> Tree:
    """The accessibility tree."""
    said = _json(response)
    if not isinstance(said.get("AT"), str):
        raise ValueError(f"no tree in it: {said!r:.200}")
    return parse_tree(said["AT"])


def file_bytes(response: HttpResponse) -> bytes | None:
    """The bytes of a file; None where there is no such file.

    A gateway in between says "not found" and "come back later" as web pages; a guest says the
    first as JSON, and sends a file as an attachment, pages too.
    """
    if response.status_code == 404 and "error" in _refusal(response):
        return None
    _usable(response)
    kind = response.headers.get("content-type", "")
    if kind.startswith("text/html") and "content-disposition" not in response.headers:
        raise ValueError(f"a web page instead of a file: {response.text[:200]!r}")
    return response.content


def _refusal(response: HttpResponse) -> dict[str, Any]:
    try:
        said = response.json()
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def uploaded(response: HttpResponse) -> None:
    """A few words, which Flask calls HTML; a page is from somebody else."""
    _usable(response)
    if response.text.lstrip().startswith("<"):
        raise ValueError(f"a web page instead of an answer: {response.text[:200]!r}")


_LISTED = re.compile(
    r"(?P<id>0x[0-9a-f]+)\s+-?\d+\s+"
    r"(?:-?\d+\s+-?\d+\s+(?P<width>\d+)\s+(?P<height>\d+)\s+)?"
    r"(?P<kind>\S+)\s+\S+(?:\s+(?P<title>.*))?"
)
"""A line of ``wmctrl -lGx``: number, desktop, place, size, class, machine and title."""


def windows(text: str) -> tuple[Window, ...]:
    """Lines of ``wmctrl -lGx`` and one of xprop; wmctrl's places are wrong under a frame."""
    active = re.search(r"window id # (0x[0-9a-f]+)", text)
    front = int(active.group(1), 16) if active else 0
    found = []
    for line in text.splitlines():
        told = _LISTED.fullmatch(line)
        if told is None:
            continue
        number, wide = int(told["id"], 16), int(told["width"] or 0)
        found.append(
            Window(
                id=hex(number),
                title=plain_title(told["title"] or ""),
                app=told["kind"].rpartition(".")[2],
                active=number == front,
                size=Size(wide, int(told["height"])) if wide else None,
            )
        )
    return tuple(found)
