"""A loopback TCP port for a guest that listens on a unix socket, for clients that know only TCP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hisa.plugins.desktop.runtime.state import Handle

__all__ = ["forwarded"]

_CHUNK = 1 << 16  # chosen by hand


@asynccontextmanager
async def forwarded(handle: Handle, port: int = 0) -> AsyncIterator[int]:
    """While entered, the guest also answers on 127.0.0.1; the port's number is given.

    Args:
        handle: a running desktop.
        port: the port wanted; 0 for any free one.

    Raises:
        OSError: the port is taken.
    """
    busy: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            busy.add(task)
        try:
            await _bridge(handle.socket, reader, writer)
        finally:
            if task is not None:
                busy.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", port)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in busy:
            task.cancel()
        await asyncio.gather(*busy, return_exceptions=True)
        await server.wait_closed()


async def _bridge(path: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        inner_reader, inner_writer = await asyncio.open_unix_connection(path)
    except OSError:
        writer.close()
        return
    try:
        await asyncio.gather(_copy(reader, inner_writer), _copy(inner_reader, writer))
    except OSError:
        return
    finally:
        inner_writer.close()
        writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(_CHUNK):
        writer.write(chunk)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
