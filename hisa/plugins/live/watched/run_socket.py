"""The socket of a run: lines of JSON in, lines of JSON and pictures out."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from hisa.plugins.live.watched.gate import Refused
from hisa.plugins.live.watched.socket_requests import Request, read_request

__all__ = ["REQUEST_LIMIT", "Handle", "Left", "serving", "socket_path"]

REQUEST_LIMIT = 64 * 1024
"""Bytes of the longest request, its line break included."""
_CONNECTIONS, _WAITING = 100, 8
"""Connections at once; requests of one that wait."""
_LONGEST = 103
"""Bytes of a Unix socket's path that the kernel takes."""

Handle = Callable[[Request, object], Awaitable[tuple[dict[str, Any], bytes]]]
"""Answers a request of a connection, with the bytes that follow the answer."""
Left = Callable[[object], Awaitable[object]]
"""Called once a connection has ended."""


def socket_path(run_id: str) -> Path:
    """The path of the socket that a run has while it lives.

    Raises:
        OSError: it would be too long for a socket.
    """
    root = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    path = Path(root) / f"hisa-{os.getuid()}" / "live" / f"{run_id}.sock"
    if len(os.fsencode(path)) > _LONGEST:
        path = Path("/tmp") / f"hisa-{os.getuid()}" / "live" / path.name
    return path


@asynccontextmanager
async def serving(path: Path, handle: Handle, left: Left) -> AsyncIterator[None]:
    """Listen at a path until the end; everybody is let go then.

    Raises:
        OSError: the socket cannot be made, or its folder is somebody else's.
    """
    _own_folder(path.parent)
    _remove_dead(path)
    connections = _Connections(handle, left)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(os.fspath(path))
    finally:
        os.umask(before)
    server = await asyncio.start_unix_server(connections.serve, sock=listener, limit=REQUEST_LIMIT)
    try:
        yield
    finally:
        with suppress(OSError):
            os.unlink(path)
        server.close()
        await connections.close()


def _own_folder(folder: Path) -> None:
    for each in (folder.parent, folder):
        each.mkdir(mode=0o700, exist_ok=True)
        state = each.lstat()
        if state.st_uid != os.getuid() or state.st_mode & 0o077 or each.is_symlink():
            raise PermissionError(f"{each} is open to others")


def _remove_dead(own: Path) -> None:
    """Remove sockets that nobody listens at, that of this run's killed process among them."""
    for path in own.parent.glob("*.sock"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, suppress(OSError):
            probe.setblocking(False)
            try:
                probe.connect(os.fspath(path))
            except ConnectionRefusedError:
                path.unlink(missing_ok=True)
    own.unlink(missing_ok=True)


class _Connections:
    """The connections of one socket."""

    def __init__(self, handle: Handle, left: Left) -> None:
        self._handle, self._left = handle, left
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        task = asyncio.current_task()
        assert task is not None
        if len(self._tasks) >= _CONNECTIONS:
            writer.close()
            return
        self._tasks.add(task)
        lines: asyncio.Queue[bytes] = asyncio.Queue(_WAITING)
        owner = object()
        work = asyncio.create_task(self._answer(lines, writer, owner))
        try:
            await self._read(reader, lines)
        except (asyncio.CancelledError, OSError):
            pass
        finally:
            work.cancel()
            with suppress(Exception):
                await asyncio.wait([work])
                await self._left(owner)
            writer.close()
            self._tasks.discard(task)

    async def close(self) -> None:
        """End all connections."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=2.0)

    async def _read(self, reader: asyncio.StreamReader, lines: asyncio.Queue[bytes]) -> None:
        """Pass lines on while the other side is there; an answer that waits sees its end too."""
        while True:
            try:
                line = await reader.readuntil(b"\n")
            except asyncio.IncompleteReadError:
                return
            except asyncio.LimitOverrunError:
                await lines.put(b"")
                await asyncio.sleep(0.2)
                return
            await lines.put(line)

    async def _answer(
        self, lines: asyncio.Queue[bytes], writer: asyncio.StreamWriter, owner: object
    ) -> None:
        while True:
            line = await lines.get()
            answer, data = await self._answered(line, owner)
            text = json.dumps(answer, ensure_ascii=True, separators=(",", ":"))
            writer.write(text.encode() + b"\n" + data)
            try:
                await writer.drain()
            except OSError:
                return

    async def _answered(self, line: bytes, owner: object) -> tuple[dict[str, Any], bytes]:
        try:
            if not line:
                raise Refused(f"a request has at most {REQUEST_LIMIT} bytes")
            answer, data = await self._handle(read_request(line), owner)
        except Refused as error:
            return {"ok": False, "error": str(error)}, b""
        except Exception as error:  # noqa: BLE001 - a watcher's trouble is not the run's
            return {"ok": False, "error": f"this failed: {type(error).__name__}"}, b""
        return {"ok": True, **answer}, data
