"""Asks a run at work through its socket; pause and lease live as long as the connection does."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Any

from hisa.plugins.live.watched.run_socket import socket_path

__all__ = ["RunLine", "RunLines"]

_SECONDS = 5.0
_LINE = 1 << 20
"""Bytes of an answer."""
_PICTURE = 1 << 25
"""Bytes of a picture: one of a screen of 8K without loss fits."""
_FRESH = 0.4
"""Seconds for which a status serves every viewer; chosen by hand."""

Answer = tuple[dict[str, Any], bytes]


class RunLine:
    """One connection to a run, made when it is first needed; requests go one after the other.

    Args:
        run_id: of the run.
    """

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._turn = asyncio.Lock()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    @property
    def connected(self) -> bool:
        """Whether pause and lease that were got by it are still held."""
        return self._streams is not None

    async def ask(self, request: Mapping[str, Any], seconds: float = _SECONDS) -> Answer:
        """Returns the answer, and the picture that follows it, if any.

        The answer has ``ok`` false where nobody listens or the time is over; the connection is
        closed then.
        """
        async with self._turn:
            try:
                async with asyncio.timeout(seconds):
                    return await self._ask(json.dumps(dict(request)).encode() + b"\n")
            except (OSError, EOFError, ValueError, TimeoutError) as error:
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
        if (
            not isinstance(answer, dict)
            or not 0 <= (size := int(answer.get("bytes", 0))) < _PICTURE
        ):
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
        self._known: dict[str, tuple[float, dict[str, Any]]] = {}

    async def look(self, run_id: str, request: Mapping[str, Any]) -> Answer:
        """Asks for a picture; see `hisa.plugins.live.server.server_context.AskRun`."""
        return await self._ask(run_id, "look", request)

    async def steer(self, run_id: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Asks for a pause and the like, which lasts as long as the server does."""
        return (await self._ask(run_id, "steer", request))[0]

    async def status(self, run_id: str) -> dict[str, Any] | None:
        """Returns how the run is, as of half a second ago at most; None where nobody says so."""
        at, known = self._known.get(run_id, (0.0, {}))
        if time.monotonic() - at > _FRESH:
            self._known[run_id] = time.monotonic(), known  # others do not ask meanwhile
            known = (await self._ask(run_id, "status", {"do": "status"}))[0]
            self._known[run_id] = time.monotonic(), known
        if known.get("ok"):
            return {name: value for name, value in known.items() if name != "ok"}
        self._known.pop(run_id, None)
        return None

    @staticmethod
    def is_there(run_id: str) -> bool:
        """Whether a run listens, or did when it was killed."""
        return socket_path(run_id).is_socket()

    async def _ask(self, run_id: str, purpose: str, request: Mapping[str, Any]) -> Answer:
        line = self._lines.setdefault((run_id, purpose), RunLine(run_id))
        answer = await line.ask(request)
        if not line.connected:
            self._lines.pop((run_id, purpose), None)
        return answer
