"""HTTP to servers next door: plain, kept open, and in few wake-ups of the event loop.

A look at a guest of this machine is megabytes; httpx's own transport takes them in pieces of 64
KiB, each through five layers. This one takes what is there. The framing is h11's, as in httpx.
"""

from __future__ import annotations

import asyncio
import select
import socket
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import h11
import httpx

__all__ = ["NearbyTransport"]

_PIECE = 1 << 20
"""Bytes that are taken at once, at most."""
_IDLE = 8
"""Connections to one server that are kept."""


class NearbyTransport(httpx.AsyncBaseTransport):
    """Speaks HTTP/1.1 without TLS, to unix sockets too; https addresses are refused.

    Limits of time and errors are those of httpx's transports.

    Args:
        uds: path of a unix socket that every request goes to.
    """

    def __init__(self, uds: str = "") -> None:
        self._uds = uds
        self._idle: dict[tuple[str, int], list[_Connection]] = defaultdict(list)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the answer's body is read from its stream."""
        if request.url.scheme != "http":
            raise httpx.UnsupportedProtocol(f"{request.url.scheme}: only http goes this way")
        place = (request.url.host, request.url.port or 80)
        limits = request.extensions.get("timeout", {})
        connection = self._kept(place) or await self._connected(place, limits)
        try:
            head = await connection.ask(request, limits)
        except BaseException:
            connection.close()
            raise
        return httpx.Response(
            head.status_code,
            headers=list(head.headers),
            stream=_Body(self, place, connection, limits.get("read")),
            extensions={"http_version": b"HTTP/1.1", "reason_phrase": bytes(head.reason)},
        )

    async def aclose(self) -> None:
        """Close the connections that wait for use."""
        for kept in self._idle.values():
            while kept:
                kept.pop().close()

    def take_back(self, place: tuple[str, int], connection: _Connection) -> None:
        """Keep a connection whose answer was read, where both sides go on with it."""
        if len(self._idle[place]) < _IDLE and connection.reset():
            self._idle[place].append(connection)
        else:
            connection.close()

    def _kept(self, place: tuple[str, int]) -> _Connection | None:
        while self._idle[place]:
            connection = self._idle[place].pop()
            if not connection.is_over():
                return connection
            connection.close()
        return None

    async def _connected(self, place: tuple[str, int], limits: dict[str, Any]) -> _Connection:
        loop = asyncio.get_running_loop()
        with _as(httpx.ConnectError):
            async with _within(limits.get("connect"), httpx.ConnectTimeout):
                if self._uds:
                    return _Connection(await _opened(socket.AF_UNIX, self._uds))
                found = await loop.getaddrinfo(*place, type=socket.SOCK_STREAM)
                for number, (family, _, _, _, address) in enumerate(found, 1):
                    try:
                        return _Connection(await _opened(family, address))
                    except OSError:
                        if number == len(found):
                            raise
        raise httpx.ConnectError(f"no address for {place[0]}")


async def _opened(family: int, address: Any) -> socket.socket:
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setblocking(False)
        if family != socket.AF_UNIX:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(opened, address)
    except BaseException:
        opened.close()
        raise
    return opened


class _Connection:
    """One socket, and where its conversation stands."""

    def __init__(self, opened: socket.socket) -> None:
        self._socket = opened
        self._state = h11.Connection(our_role=h11.CLIENT)

    async def ask(self, request: httpx.Request, limits: dict[str, Any]) -> h11.Response:
        """Send the request; returns the head of the answer."""
        with suppress(httpx.WriteError):  # a server may refuse before it has read everything
            async with _within(limits.get("write"), httpx.WriteTimeout):
                await self._send(request)
        while True:
            event = await self.next_event(limits.get("read"))
            if isinstance(event, h11.Response):
                return event
            if not isinstance(event, h11.InformationalResponse):
                raise httpx.RemoteProtocolError(f"{type(event).__name__} in place of an answer")

    async def _send(self, request: httpx.Request) -> None:
        loop = asyncio.get_running_loop()
        head = h11.Request(
            method=request.method, target=request.url.raw_path, headers=request.headers.raw
        )
        with _as(httpx.WriteError):
            waiting = self._state.send(head) or b""
            assert isinstance(request.stream, httpx.AsyncByteStream)
            async for piece in request.stream:
                waiting += self._state.send(h11.Data(data=piece)) or b""
                await loop.sock_sendall(self._socket, waiting)
                waiting = b""
            waiting += self._state.send(h11.EndOfMessage()) or b""
            if waiting:
                await loop.sock_sendall(self._socket, waiting)

    async def next_event(self, limit: float | None) -> Any:
        """What comes next of the answer."""
        loop = asyncio.get_running_loop()
        with _as(httpx.ReadError):
            while (event := self._state.next_event()) is h11.NEED_DATA:
                async with _within(limit, httpx.ReadTimeout):
                    data = await loop.sock_recv(self._socket, _PIECE)
                if not data and self._state.their_state is h11.SEND_RESPONSE:
                    raise httpx.RemoteProtocolError("the server hung up without an answer")
                self._state.receive_data(data)
        return event

    def reset(self) -> bool:
        """Make ready for another request; returns whether there can be one."""
        if self._state.our_state is h11.DONE and self._state.their_state is h11.DONE:
            self._state.start_next_cycle()
            return True
        return False

    def is_over(self) -> bool:
        """Whether the server has hung up, or says something that nobody asked for."""
        waiting = select.poll()
        waiting.register(self._socket, select.POLLIN)
        return bool(waiting.poll(0))

    def close(self) -> None:
        """Close the socket; may be called twice."""
        self._socket.close()


class _Body(httpx.AsyncByteStream):
    """The body of an answer; its connection goes back when it is closed."""

    def __init__(
        self,
        transport: NearbyTransport,
        place: tuple[str, int],
        connection: _Connection,
        limit: float | None,
    ) -> None:
        self._transport, self._place = transport, place
        self._connection: _Connection | None = connection
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        connection = self._connection
        if connection is None:
            raise httpx.StreamClosed()
        while isinstance(event := await connection.next_event(self._limit), h11.Data):
            yield bytes(event.data)

    async def aclose(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._transport.take_back(self._place, connection)


@asynccontextmanager
async def _within(seconds: float | None, late: type[httpx.TimeoutException]) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise late(f"nothing within {seconds:g} s" if seconds else str(error)) from error


@contextmanager
def _as(failed: type[httpx.NetworkError]) -> Iterator[None]:
    """What sockets and h11 raise, as httpx's transports raise it."""
    try:
        yield
    except OSError as error:
        raise failed(str(error)) from error
    except h11.RemoteProtocolError as error:
        raise httpx.RemoteProtocolError(str(error)) from error
    except h11.LocalProtocolError as error:
        raise httpx.LocalProtocolError(str(error)) from error
