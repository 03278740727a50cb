"""Watches the messages of a server: how many there are, how large, and what they ask for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest

from hisa.text.prompt_text import excerpt

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectSendStream
    from mcp.client._transport import ReadStream, TransportStreams

__all__ = ["MESSAGE_BYTES", "Watch", "watch_transport"]

MESSAGE_BYTES = 8 << 20
"""Bytes of the largest message of a server. A tool's output is cut to a few thousand characters
anyway; a picture of a large screen takes 5 MB. Parsing so much takes about 50 ms."""
_MESSAGES = 10_000
"""Most messages that a server may send for one request, such as progress and log lines."""
_ASKING = {
    "sampling/createMessage": "asked for the answer of a model",
    "elicitation/create": "asked for a question to a person",
    "roots/list": "asked for folders",
}


class Watch:
    """Notes what a server does besides answering, each kind once.

    Args:
        note: takes a line on what the server did.
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._noted: set[str] = set()
        self._messages = 0
        self.refuse: Callable[[str], None] = self.note
        """Takes the reason why the request in progress gets no answer."""
        self.ended = anyio.Event()
        """Set once no more messages come."""

    def note(self, text: str) -> None:
        """Note a text, unless it was noted before."""
        if text not in self._noted:
            self._noted.add(text)
            self._note(text)

    def begin(self, refuse: Callable[[str], None]) -> None:
        """Begin a new count of messages, for a request that ``refuse`` can end."""
        self._messages = 0
        self.refuse = refuse

    def see(self, message: SessionMessage | Exception) -> bool:
        """Count and check a message; returns whether it is passed on."""
        self._messages += 1
        if self._messages > _MESSAGES:
            self.refuse(f"it sends more than {_MESSAGES:,} messages and no answer")
            return False
        if isinstance(message, Exception):
            self.note("sent something that is not a message of the protocol; it is ignored")
            return False
        match message.message:
            case JSONRPCRequest(method=method) if method in _ASKING:
                self.note(f"{_ASKING[method]}; it was told that this is not available")
            case JSONRPCNotification(method="notifications/tools/list_changed"):
                self.note("changed its tools; a run keeps those that it began with")
            case JSONRPCRequest(method=method) if method != "ping":
                self.note(f"asked for {excerpt(method, 60)!r}; it was told that this is unknown")
            case _:
                pass
        return True

    def too_large(self) -> None:
        """Refuse the request in progress, as a message was dropped for its size."""
        self.refuse(f"its answer has more than {MESSAGE_BYTES >> 20} MB")


@asynccontextmanager
async def watch_transport(
    transport: AbstractAsyncContextManager[TransportStreams], watch: Watch
) -> AsyncIterator[TransportStreams]:
    """Yields a transport whose messages a watch sees first.

    Args:
        transport: the transport, not entered yet.
        watch: sees each message, and decides whether it is passed on.
    """
    send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    async with send, receive, transport as (read, write), anyio.create_task_group() as group:
        group.start_soon(_pass_on, read, send, watch)
        try:
            yield receive, write
        finally:
            group.cancel_scope.cancel()


async def _pass_on(
    read: ReadStream[SessionMessage | Exception],
    send: MemoryObjectSendStream[SessionMessage | Exception],
    watch: Watch,
) -> None:
    async with send:
        try:
            async for message in read:
                if watch.see(message):
                    await send.send(message)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass  # the session has ended
    watch.ended.set()
