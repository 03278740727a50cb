"""The transport to a server that is a child process: one JSON message a line, by its streams.

That of the ``mcp`` package reads a line of any length, in quadratic time: 100 MB took it more than
100 seconds, and everything else paused for most of a second at a time.
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import anyio
import mcp_types
from mcp.shared.message import SessionMessage

from hisa.machine.patience import Deadline
from hisa.plugins.mcp.client.mcp_watch import MESSAGE_BYTES, Watch
from hisa.text.prompt_text import excerpt

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams

__all__ = ["LastWords", "child"]

_GRACE = 2.0
"""Seconds for a server to end by itself once its input is closed, and again once it is asked to; as
in the protocol's own library."""
_CHUNK = 1 << 16
_WORDS = 4_096
"""Bytes of standard error that are kept."""


class LastWords:
    """The end of what a server wrote to its standard error."""

    def __init__(self) -> None:
        self._output = b""

    def add(self, chunk: bytes) -> None:
        """Take the next piece of it."""
        self._output = (self._output + chunk)[-_WORDS:]

    def __str__(self) -> str:
        lines = self._output.decode("utf-8", "replace").splitlines()
        return excerpt(next((line for line in reversed(lines) if line.strip()), ""), 200)


@asynccontextmanager
async def child(
    command: Sequence[str], environ: Mapping[str, str], *, watch: Watch, words: LastWords
) -> AsyncIterator[TransportStreams]:
    """Starts a server and yields a transport of the ``mcp`` package to it; ends it afterwards.

    Args:
        command: the program and its arguments.
        environ: all the variables that it gets.
        watch: is told of messages that are too large.
        words: gets its standard error.

    Raises:
        OSError: the program cannot be started.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=environ,
        limit=MESSAGE_BYTES,
        start_new_session=True,
    )
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with read, write, anyio.create_task_group() as group:
            group.start_soon(_read, process, incoming, watch)
            group.start_soon(_write, process, outgoing)
            group.start_soon(_listen, process, words)
            try:
                yield read, write
            finally:
                with anyio.CancelScope(shield=True):
                    await _end(process)
                group.cancel_scope.cancel()
    finally:
        incoming.close()
        outgoing.close()
        _release(process)


async def _read(
    process: Process,
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
    watch: Watch,
) -> None:
    assert process.stdout is not None
    gone = skipping = False
    async with incoming:
        while True:
            try:
                line = await process.stdout.readuntil()
            except asyncio.IncompleteReadError:
                return
            except asyncio.LimitOverrunError as error:  # the line is skipped to its end
                await process.stdout.readexactly(error.consumed)
                if not skipping:
                    watch.too_large()
                skipping = True
                continue
            if not (gone or skipping) and line.strip():
                try:
                    await incoming.send(_parse_line(line))
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    gone = True  # reads on: a server that writes to a full pipe cannot end
            skipping = False


def _parse_line(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def _write(process: Process, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
    assert process.stdin is not None
    async with outgoing:
        async for item in outgoing:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                process.stdin.write(f"{text}\n".encode())
                await process.stdin.drain()
            except (ConnectionError, RuntimeError):  # the server has ended, as reading will show
                return


async def _listen(process: Process, words: LastWords) -> None:
    assert process.stderr is not None
    while chunk := await process.stderr.read(_CHUNK):
        words.add(chunk)


async def _end(process: Process) -> None:
    """End a server as the protocol says: close its input, then ask it, then kill its group."""
    assert process.stdin is not None
    process.stdin.close()
    for number in (signal.SIGTERM, signal.SIGKILL):
        if await _has_ended(process):
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
    await _has_ended(process)


async def _has_ended(process: Process) -> bool:
    """Whether a process ends in time; others may hold its pipes open for longer."""
    deadline = Deadline(_GRACE)
    while process.returncode is None and not deadline.passed:  # noqa: ASYNC110 - see above
        await asyncio.sleep(0.01)
    return process.returncode is not None


def _release(process: Process) -> None:
    """Close the pipes, which a descendant may still hold; asyncio offers no public way."""
    transport = getattr(process, "_transport", None)
    if isinstance(transport, asyncio.SubprocessTransport):
        transport.close()
