"""Serves the socket of a run: lines of JSON in, lines of JSON and pictures out."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from hisa.plugins.live.watched.gate import Refused
from hisa.plugins.live.watched.person_acts import Act, Strict

__all__ = ["Answer", "Request", "serving", "socket_path"]

_LIMIT = 64 * 1024
"""Bytes of the longest request, including its line break."""
_CONNECTIONS, _WAITING, _OLD = 100, 8, 86_400.0
"""Most connections at once; most waiting requests of one; seconds after which a socket is old."""
Word = Annotated[str, Field(max_length=200)]
Answer = tuple[dict[str, Any], bytes]
Handle = Callable[["Request", object], Awaitable[Answer]]


class Request(Strict):
    """A request to a run: what to do, and the fields that it needs."""

    do: Literal["status", "pause", "resume", "stop", "take", "give", "input", "answer", "frame"]
    viewer: Annotated[str, Field(min_length=1, max_length=80)] = "somebody"
    lease: Word = ""
    acts: Annotated[tuple[Act, ...], Field(max_length=50)] = ()
    question: Word = ""
    kind: Literal["", "once", "kind", "stop", "refuse"] = ""
    text: Annotated[str, Field(max_length=2_000)] = ""
    since: Word = ""


def socket_path(run_id: str) -> Path:
    """Returns the path of a run's socket, which exists while the run does."""
    name = f"hisa-{_user()}/live/{run_id}.sock"
    path = Path(os.environ.get("XDG_RUNTIME_DIR") or "/tmp", name)
    return path if len(os.fsencode(path)) < 104 else Path("/tmp", name)  # no kernel takes more


def _user() -> int:
    """Returns the number of the user; 0 where users have none."""
    return int(getattr(os, "getuid", int)())


@asynccontextmanager
async def serving(
    path: Path, handle: Handle, left: Callable[[object], Awaitable[object]]
) -> AsyncIterator[None]:
    """Listen at a path until the block ends, then close all connections.

    Args:
        path: the path of the socket.
        handle: answers a request of a connection, with the bytes that follow the answer.
        left: called once a connection has ended.

    Raises:
        OSError: the socket cannot be made, or its folder is open to others.
    """
    listen = getattr(asyncio, "start_unix_server", None)
    if listen is None:
        raise OSError("there are no Unix sockets on this system")
    _clear(path)
    tasks = set[asyncio.Task[Any]]()

    async def answer(lines: asyncio.Queue[bytes], writer: asyncio.StreamWriter) -> None:
        while True:
            reply, data = await _answer_line(await lines.get(), handle, writer)
            writer.write(json.dumps(reply).encode() + b"\n" + data)
            await writer.drain()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines: asyncio.Queue[bytes] = asyncio.Queue(_WAITING)
        work = asyncio.create_task(answer(lines, writer))
        tasks.add(own := asyncio.current_task() or work)
        with suppress(OSError, asyncio.CancelledError, asyncio.IncompleteReadError):
            while len(tasks) <= _CONNECTIONS:  # reads while it answers, so that it sees the end
                try:
                    await lines.put(await reader.readuntil(b"\n"))
                except asyncio.LimitOverrunError:
                    await lines.put(b"")
                    await asyncio.sleep(0.2)  # so that the answer is sent
                    break
        work.cancel()
        with suppress(Exception, asyncio.CancelledError):
            await asyncio.wait([work])
            await left(writer)
        writer.close()
        with suppress(Exception, asyncio.CancelledError):
            await writer.wait_closed()
        tasks.discard(own)

    server = await listen(serve, path, limit=_LIMIT)
    os.chmod(path, 0o600)  # its folder lets nobody else in before
    try:
        yield
    finally:
        with suppress(OSError):
            os.unlink(path)
        server.close()
        for _ in range(3):  # so that a connection that was just accepted has its task
            await asyncio.sleep(0)
        for task in [*tasks]:
            task.cancel()
        if tasks:
            await asyncio.wait([*tasks], timeout=2.0)


async def _answer_line(line: bytes, handle: Handle, owner: object) -> Answer:
    """Returns the answer to a line; it never repeats the line, which may hold a password."""
    try:
        if not line:
            raise Refused(f"a request has at most {_LIMIT} bytes")
        reply, data = await handle(Request.model_validate_json(line), owner)
        return {"ok": True, **reply}, data
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        place = ".".join(str(part)[:40] for part in first["loc"])
        why = f"not a request: {place} {first['msg']}"[:300]
    except Refused as error:
        why = str(error)
    except Exception as error:  # noqa: BLE001 - a watcher's trouble is not the run's
        why = f"this failed: {type(error).__name__}"
    return {"ok": False, "error": why}, b""


def _clear(path: Path) -> None:
    """Make the folder, for this user alone, and remove old sockets at which nobody listens.

    Newer sockets are not tried: each try would be a connection to a running run.
    """
    for folder in (path.parent.parent, path.parent):
        folder.mkdir(mode=0o700, exist_ok=True)
        state = folder.lstat()
        if state.st_uid != _user() or state.st_mode & 0o077 or folder.is_symlink():
            raise PermissionError(f"{folder} is open to others")
    family = getattr(socket, "AF_UNIX", socket.AF_INET)
    path.unlink(missing_ok=True)  # left over by this run, if it was killed
    for other in path.parent.glob("*.sock"):
        with suppress(OSError):
            if time.time() - other.lstat().st_mtime < _OLD:
                continue
        with socket.socket(family, socket.SOCK_STREAM) as probe, suppress(OSError):
            probe.setblocking(False)
            if probe.connect_ex(os.fspath(other)) == errno.ECONNREFUSED:
                other.unlink()
