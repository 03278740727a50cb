"""Asks a run at work through its socket; pause and lease live as long as the connection does."""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from hisa.plugins.live.watched.run_socket import socket_path

__all__ = ["RunLine", "RunLines"]

_LINE, _PICTURE = 1 << 20, 1 << 25  # bytes of an answer and of a picture at most
_FRESH = 0.4  # seconds for which a status serves every viewer; chosen by hand

Answer = tuple[dict[str, Any], bytes]


class RunLine:
    """One connection to a run, made when it is first needed; requests go one after the other."""

    def __init__(self, run_id: str) -> None:
        self._run_id, self._turn = run_id, asyncio.Lock()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    @property
    def connected(self) -> bool:
        """Whether pause and lease that were got by it are still held."""
        return self._streams is not None

    async def ask(self, request: Mapping[str, Any], seconds: float = 5.0) -> Answer:
        """Returns the answer, and the picture that follows it, if any.

        Where nobody listens or the time is over, its ``ok`` is false and the connection closed.
        """
        async with self._turn:
            try:
                async with asyncio.timeout(seconds):
                    return await self._ask(json.dumps(dict(request)).encode() + b"\n")
            except (OSError, EOFError, ValueError) as error:
                self.close()
                reason = "gave no answer" if isinstance(error, TimeoutError) else "is not reached"
                return {"ok": False, "error": f"run {self._run_id} {reason}"}, b""
            except BaseException:  # cancelled: the answer is still to come
                self.close()
                raise

    async def _ask(self, line: bytes) -> Answer:
        if self._streams is None:
            path = str(socket_path(self._run_id))
            self._streams = await asyncio.open_unix_connection(path, limit=_LINE)
        reader, writer = self._streams
        writer.write(line)
        await writer.drain()
        answer = json.loads(await reader.readline())
        size = answer.get("bytes", 0) if isinstance(answer, dict) else None
        if not isinstance(size, int) or not 0 <= size <= _PICTURE:
            raise ValueError("not an answer")
        return answer, await reader.readexactly(size)

    def close(self) -> None:
        """Lets go of the run: what was paused or held by this connection is given back."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


class RunLines:
    """The connections that all viewers share: to steer a run, to look at it, to know how it is."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str], RunLine] = {}
        self._known: dict[str, Any] = defaultdict(dict)
        self._asked: dict[str, float] = {}

    async def ask(self, run_id: str, request: Mapping[str, Any], purpose: str = "look") -> Answer:
        """Asks a run; a pause lasts until the server's end or the run is asked to go on."""
        line = self._lines.setdefault((run_id, purpose), RunLine(run_id))
        answer = await line.ask(request)
        if not line.connected:
            self._lines.pop((run_id, purpose), None)
        return answer

    async def status(self, run_id: str) -> dict[str, Any] | None:
        """Returns how the run is, as of half a second ago at most; None where nobody says so."""
        if time.monotonic() - self._asked.get(run_id, 0.0) > _FRESH:
            self._asked[run_id] = time.monotonic()  # others do not ask meanwhile
            self._known[run_id] = (await self.ask(run_id, {"do": "status"}, "status"))[0]
        known = self._known[run_id]
        return {name: known[name] for name in known if name != "ok"} if known.get("ok") else None
