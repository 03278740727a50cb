"""Follows the log of a run as a stream: a numbered event for each line, and each new status."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from hisa.errors import UsageError
from hisa.plugins.live.server.server_context import is_regular
from hisa.runs.run_reader import EVENTS

__all__ = ["EventTail", "run_stream"]

_CHUNK = 1 << 21  # bytes that are read at once; HiSA writes no longer line


class EventTail:
    """Reads the new lines of a growing log after its line ``after``; it need not exist yet."""

    def __init__(self, path: Path, after: int = 0) -> None:
        self._path, self._after, self._number, self._end = path, after, 0, 0

    def read_on(self) -> list[tuple[int, str]]:
        """Returns the new complete lines that are JSON objects, with their numbers from 1."""
        if not is_regular(self._path) or (size := self._path.stat().st_size) == self._end:
            return []
        if size < self._end:  # the log was written again from its start
            self._end = self._number = self._after = 0
        with self._path.open("rb") as file:
            file.seek(self._end)
            *lines, rest = file.read(_CHUNK).split(b"\n")
        if not lines and len(rest) == _CHUNK:  # a line that HiSA did not write
            lines = [rest[:-1]]
        self._end += sum(map(len, lines)) + len(lines)
        numbered = list(enumerate(lines, self._number + 1))
        self._number += len(lines)
        return [(n, line.decode()) for n, line in numbered if n > self._after and _is_object(line)]


async def run_stream(
    folder: Path, after: int, status: Callable[[], Awaitable[dict[str, Any]]]
) -> AsyncIterator[dict[str, str]]:
    """Yields the events of a run's log and its changes of status, as server-sent events.

    Ends with an event "gone" once ``status`` or the log cannot be read.

    Args:
        folder: the folder of the run.
        after: the number of the log's line after which to begin; 0 for the first.
        status: returns the state of the run, as the page shows it.
    """
    tail, pause, known = EventTail(folder / EVENTS, after), 0.1, ""
    try:
        while True:
            lines = tail.read_on()
            for number, text in lines:
                yield {"event": "event", "id": str(number), "data": text}
            if (now := json.dumps(await status())) != known:
                yield {"event": "status", "data": (known := now)}
            pause = 0.1 if lines else min(2 * pause, 0.5)  # seconds, longer if nothing comes
            await asyncio.sleep(0 if lines else pause)
    except (OSError, UsageError):
        yield {"event": "gone", "data": "{}"}


def _is_object(line: bytes) -> bool:
    with suppress(ValueError, RecursionError):
        return isinstance(json.loads(line), dict)
    return False
