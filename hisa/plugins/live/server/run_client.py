"""Sends requests to a run's socket; a pause or a lease lasts as long as its connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from hisa.plugins.live.watched.run_socket import socket_path

__all__ = ["RunLine", "RunLines"]


Answer: TypeAlias = tuple[dict[str, Any], bytes]


class RunLine:
    """One connection to a run, made when it is first needed; requests are sent one by one."""

    def __init__(self, run_id: str) -> None:
        self._run_id, self._turn = run_id, asyncio.Lock()
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: Mapping[str, Any], seconds: float = 5.0) -> Answer:
        """Returns the answer and the picture that follows it; ``ok`` is false if none came."""
        async with self._turn:
            try:
                async with asyncio.timeout(seconds):
                    if self.streams is None:
                        path = str(socket_path(self._run_id))
                        connect = getattr(asyncio, "open_unix_connection", None)
                        if connect is None:
                            raise OSError("there are no Unix sockets on this system")
                        self.streams = await connect(path, limit=1 << 20)
                    assert self.streams is not None, "it was opened above"
                    reader, writer = self.streams
                    writer.write(json.dumps(dict(request)).encode() + b"\n")
                    await writer.drain()
                    answer: dict[str, Any] = json.loads(await reader.readline())
                    size = min(int(answer.get("bytes", 0)), 1 << 25)
                    return answer, await reader.readexactly(size)
            except (OSError, EOFError, ValueError, TypeError, AttributeError) as error:
                self.close()
                reason = "did not answer" if isinstance(error, TimeoutError) else "is not reachable"
                return {"ok": False, "error": f"run {self._run_id} {reason}"}, b""
            except BaseException:  # cancelled: the answer is still to come
                self.close()
                raise

    def close(self) -> None:
        """Lets go of the run: ends the pause and the lease of this connection."""
        if self.streams is not None:
            self.streams[1].close()
        self.streams = None


class RunLines:
    """The connections that all viewers share: for looking at runs, steering, and their state."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str], RunLine] = {}

    async def ask(self, run_id: str, request: Mapping[str, Any], purpose: str = "look") -> Answer:
        """Sends a request to a run; a pause lasts until the server ends or the run is resumed.

        Args:
            run_id: the id of the run.
            request: the request, as `hisa.plugins.live.watched.run_socket.Request` describes it.
            purpose: names the connection to use, one for each purpose.
        """
        line = self._lines.setdefault((run_id, purpose), RunLine(run_id))
        answer = await line.ask(request)
        if line.streams is None:
            self._lines.pop((run_id, purpose), None)
        return answer
