"""Follows the log of a run: each new line as one numbered event of a stream, and each new status."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from hisa.runs.read import EVENTS

__all__ = ["EventTail", "run_stream"]

_CHUNK = 1 << 20
"""Bytes that are read at once; a line of a log is shorter, and one that is not is passed over."""
_PAUSE, _LONGEST_PAUSE = 0.1, 0.5
"""Seconds between two looks at a file, just after it grew and when it is quiet."""
_STATUS_PAUSE = 0.5  # seconds; chosen by hand

Status = Callable[[], Awaitable[dict[str, Any] | None]]


class EventTail:
    """Reads on in a file of lines that grows; lines are numbered from 1.

    Args:
        path: need not be there yet.
        after: number of the last line that is known already.
    """

    def __init__(self, path: Path, after: int = 0) -> None:
        self._path = path
        self._after = after
        self._number = 0
        self._end = 0
        self._overlong = False

    def read_on(self) -> list[tuple[int, str]]:
        """Returns whole new lines that are JSON objects, with their numbers; at most 1 MiB."""
        chunk = self._chunk()
        whole = chunk.rfind(b"\n") + 1
        if not whole and len(chunk) == _CHUNK:
            self._overlong, whole = True, _CHUNK
        self._end += whole
        found = []
        for line in chunk[:whole].splitlines(keepends=True) if chunk else ():
            if not line.endswith(b"\n"):
                continue
            self._number += 1
            fits, self._overlong = not self._overlong, False
            if fits and self._number > self._after and _is_object(line):
                found.append((self._number, line.decode("utf-8", "replace").rstrip("\n")))
        return found

    def _chunk(self) -> bytes:
        try:
            about = self._path.lstat()
            if not stat.S_ISREG(about.st_mode) or about.st_size == self._end:
                return b""
            if about.st_size < self._end:  # written anew
                self._end = self._number = self._after = 0
            with self._path.open("rb") as file:
                return os.pread(file.fileno(), _CHUNK, self._end)
        except OSError:
            return b""


async def run_stream(folder: Path, after: int, status: Status) -> AsyncIterator[dict[str, str]]:
    """Yields what a run does as events of a stream, until its folder is gone.

    Args:
        folder: the run's.
        after: number of the last event that the viewer has.
        status: how the run is now; None where nobody can say.
    """
    tail = EventTail(folder / EVENTS, after)
    pause, known, due = _PAUSE, None, 0.0
    while True:
        lines = tail.read_on()
        for number, text in lines:
            yield {"event": "event", "id": str(number), "data": text}
        if time.monotonic() >= due:
            present = await status()
            if present is not None and present != known:
                known = present
                yield {"event": "status", "data": json.dumps(present)}
            due = time.monotonic() + _STATUS_PAUSE
        if not lines and not folder.is_dir():
            yield {"event": "gone", "data": "{}"}
            return
        pause = _PAUSE if lines else min(2 * pause, _LONGEST_PAUSE)
        await asyncio.sleep(0 if lines else pause)


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
