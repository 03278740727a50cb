"""Asks a run at work through its socket; pause and lease live as long as the connection does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from hisa.plugins.live.watched.run_socket import socket_path

__all__ = ["RunLine", "RunLines"]


Answer: TypeAlias = tuple[dict[str, Any], bytes]


class RunLine:
    """One connection to a run, made when it is first needed; requests go one after the other."""

    def __init__(self, run_id: str) -> None:
        self._run_id, self._turn = run_id, asyncio.Lock()
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: Mapping[str, Any], seconds: float = 5.0) -> Answer:
        """Returns the answer and the picture that follows it; ``ok`` is false where none came."""
        async with self._turn:
            try:
                async with asyncio.timeout(seconds):
                    if self.streams is None:
                        path = str(socket_path(self._run_id))
                        self.streams = await asyncio.open_unix_connection(path, limit=1 << 20)
                    reader, writer = self.streams
                    writer.write(json.dumps(dict(request)).encode() + b"\n")
                    await writer.drain()
                    answer: dict[str, Any] = json.loads(await reader.readline())
                    size = min(int(answer.get("bytes", 0)), 1 << 25)
                    return answer, await reader.readexactly(size)
            except (OSError, EOFError, ValueError, TypeError, AttributeError) as error:
                self.close()
                reason = "gave no answer" if isinstance(error, TimeoutError) else "is not reached"
                return {"ok": False, "error": f"run {self._run_id} {reason}"}, b""
            except BaseException:  # cancelled: the answer is still to come
                self.close()
                raise

    def close(self) -> None:
        """Lets go of the run: what was paused or held by this connection is given back."""
        if self.streams is not None:
            self.streams[1].close()
        self.streams = None


class RunLines:
    """The connections that all viewers share: to look at a run, to steer it, to know how it is."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str], RunLine] = {}

    async def ask(self, run_id: str, request: Mapping[str, Any], purpose: str = "look") -> Answer:
        """Asks a run; a pause lasts until the server's end or the run is asked to go on."""
        line = self._lines.setdefault((run_id, purpose), RunLine(run_id))
        answer = await line.ask(request)
        if line.streams is None:
            self._lines.pop((run_id, purpose), None)
        return answer
