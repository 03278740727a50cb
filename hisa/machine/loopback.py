"""HTTP to servers on this machine: plain, kept open, and in few wake-ups of the event loop.

A look at a guest of this machine is megabytes; httpx's own transport takes them in pieces of 64
KiB, each through five layers. This one takes what is there, and `LoopbackTransport.exchange` reads
a response of known length into its place. The framing is httptools', Node's parser.
"""

from __future__ import annotations

import asyncio
import json
import re
import select
import socket
from collections import defaultdict, deque
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httptools
import httpx

from hisa.machine.bounded_http import ResponseTooLong

__all__ = ["MOST", "Address", "HttpResponse", "LoopbackTransport", "address_of"]

_PIECE = 1 << 20
"""Bytes read at once, at most."""
_FIRST = 1 << 16
"""The same until the head is read: what comes with it of a body is copied three times."""
_IDLE = 8
"""Connections to one server that are kept."""
_HEAD = 1 << 16
"""Bytes of a response's head, at most; httpx's transports take twice as many."""
_IN_PLACE = range(1 << 16, 1 << 26)
"""Lengths of bodies that memory is set aside for: a shorter one comes in one piece, and no server
makes this process set aside more by saying a number."""
MOST = 1 << 28
"""Bytes of a body, unless something else is asked for: twice the largest file of a guest."""
_FIELD = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+: [^\0\r\n]*")

Fields = Iterable[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Address:
    """The target of requests, parsed once; see `address_of`."""

    place: tuple[str, int]
    target: bytes
    host: tuple[bytes, bytes]


def address_of(url: str | httpx.URL) -> Address:
    """The target that a url of a server on this machine names.

    Raises:
        httpx.UnsupportedProtocol: it is not an http address.
    """
    url = httpx.URL(url)
    if url.scheme != "http":
        raise httpx.UnsupportedProtocol(f"{url.scheme}: only http goes this way")
    return Address((url.host, url.port or 80), url.raw_path, (b"Host", url.netloc))


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A whole response; ``headers`` by their names in lower case."""

    status_code: int
    headers: dict[str, str]
    content: bytes | bytearray

    @property
    def text(self) -> str:
        """The body decoded as UTF-8; invalid bytes become U+FFFD."""
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body's value.

        Raises:
            ValueError: it is not JSON.
        """
        return json.loads(self.content)


class LoopbackTransport(httpx.AsyncBaseTransport):
    """Speaks HTTP/1.1 without TLS, to unix sockets too; https addresses are refused.

    Time limits and errors are those of httpx's transports.

    Args:
        uds: path of a unix socket that every request goes to.
    """

    def __init__(self, uds: str = "") -> None:
        self._uds = uds
        self._idle: dict[tuple[str, int], list[_Connection]] = defaultdict(list)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the response's body is read from its stream."""
        address = address_of(request.url)
        limits = request.extensions.get("timeout", {})
        connection = await self._connection(address, limits.get("connect"))
        try:
            with suppress(httpx.WriteError):  # a server may refuse before it has read everything
                async with _within(limits.get("write"), httpx.WriteTimeout):
                    head = _head(request.method, address, request.headers.raw)
                    assert isinstance(request.stream, httpx.AsyncByteStream)
                    await connection.send(head, _framed(request.stream, request.headers))
            answer = await connection.head(limits.get("read"))
        except BaseException:
            connection.close()
            raise
        return httpx.Response(
            answer.status,
            headers=answer.headers,
            stream=_Body(self, address.place, connection, limits.get("read")),
            extensions={"http_version": b"HTTP/1.1", "reason_phrase": answer.reason},
        )

    async def exchange(
        self,
        method: str,
        address: Address,
        *,
        headers: Fields = (),
        body: bytes = b"",
        connect: float | None = None,
        most: int = MOST,
    ) -> HttpResponse:
        """Send a request and read the whole response, without a limit of time but that to connect.

        Redirects are responses like others.

        Args:
            method: HTTP method, not HEAD.
            address: where to.
            headers: besides Host and Content-Length.
            body: what is sent.
            connect: seconds.
            most: bytes of the longest body that is read.

        Raises:
            ResponseTooLong: the body is longer; the rest of it was not read.
            httpx.TransportError: as httpx's transports.
        """
        connection = await self._connection(address, connect)
        try:
            fields = [address.host, *headers, (b"Content-Length", b"%d" % len(body))]
            with suppress(httpx.WriteError):
                await connection.send(_head(method, address, fields), body)
            answer = await connection.head(None)
            content = await connection.whole(most)
        except BaseException:
            connection.close()
            raise
        self.take_back(address.place, connection)
        named = ((name.lower().decode("latin-1"), value) for name, value in answer.headers)
        found = {name: value.decode("latin-1") for name, value in named}
        return HttpResponse(answer.status, found, content)

    async def aclose(self) -> None:
        """Close the connections that wait for use."""
        for kept in self._idle.values():
            while kept:
                kept.pop().close()

    def take_back(self, place: tuple[str, int], connection: _Connection) -> None:
        """Keep a connection whose answer was read, where both sides go on with it."""
        if len(self._idle[place]) < _IDLE and connection.can_go_on:
            self._idle[place].append(connection)
        else:
            connection.close()

    async def _connection(self, address: Address, seconds: float | None) -> _Connection:
        return self._kept(address.place) or await self._connected(address.place, seconds)

    def _kept(self, place: tuple[str, int]) -> _Connection | None:
        while self._idle[place]:
            connection = self._idle[place].pop()
            if not connection.is_over():
                return connection
            connection.close()
        return None

    async def _connected(self, place: tuple[str, int], seconds: float | None) -> _Connection:
        loop = asyncio.get_running_loop()
        with _as(httpx.ConnectError):
            async with _within(seconds, httpx.ConnectTimeout):
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


def _head(method: str, address: Address, fields: Fields) -> bytes:
    """A request's head.

    Raises:
        httpx.LocalProtocolError: a field would end before its value does.
        httpx.UnsupportedProtocol: responses to this method are framed in another way.
    """
    if method in ("HEAD", "CONNECT"):
        raise httpx.UnsupportedProtocol(
            f"{method}: only requests with ordinary answers go this way"
        )
    lines = [b"%s: %s" % field for field in fields]
    for line in lines:
        if not _FIELD.fullmatch(line):
            name = line.partition(b":")[0].decode("latin-1")
            raise httpx.LocalProtocolError(f"illegal name or value of the header {name!r}")
    first = b"%s %s HTTP/1.1" % (method.encode("ascii"), address.target)
    return b"\r\n".join((first, *lines, b"", b""))


async def _framed(pieces: AsyncIterable[bytes], headers: httpx.Headers) -> AsyncIterator[bytes]:
    """A body as its headers announce it: httpx sends one of unknown length in chunks."""
    chunked = "transfer-encoding" in headers
    async for piece in pieces:
        if piece:
            yield b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece
    if chunked:
        yield b"0\r\n\r\n"


@dataclass(slots=True)
class _Parsed:
    """What the parser finds of one response; the methods are the parser's. See `_unparsed`."""

    parser: Any = None
    status: int = 0
    reason: bytes = b""
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    pieces: deque[bytes] = field(default_factory=deque)
    has_head: bool = False
    is_done: bool = False
    goes_on: bool = False
    length: int | None = None
    ends_by_hanging_up: bool = False
    said_too_much: bool = False

    def on_message_begin(self) -> None:
        if self.is_done:
            self.said_too_much = True

    def on_status(self, reason: bytes) -> None:
        self.reason += reason

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        self.status = self.parser.get_status_code()
        if self.status < 200 and self.status != 101:
            return
        self.has_head, self.goes_on = True, self.parser.should_keep_alive()
        known = {name.lower(): value for name, value in self.headers}
        if b"transfer-encoding" not in known:
            length = known.get(b"content-length")
            self.length = None if length is None else int(length)
        framed = b"content-length" in known or b"transfer-encoding" in known
        self.ends_by_hanging_up = not framed

    def on_body(self, piece: bytes) -> None:
        self.pieces.append(piece)

    def on_message_complete(self) -> None:
        if self.has_head:
            self.is_done = True
        else:  # one that only says that the response will come
            self.reason, self.headers = b"", []


def _unparsed() -> _Parsed:
    """A response of which nothing has come, with its parser."""
    answer = _Parsed()
    answer.parser = httptools.HttpResponseParser(answer)
    return answer


class _Connection:
    """One socket, and where its conversation stands."""

    def __init__(self, opened: socket.socket) -> None:
        self._socket = opened
        self._answer = _unparsed()
        self._sent = False

    async def send(self, head: bytes, body: bytes | AsyncIterator[bytes]) -> None:
        """Send a request."""
        loop = asyncio.get_running_loop()
        self._answer, self._sent = _unparsed(), False
        with _as(httpx.WriteError):
            if isinstance(body, bytes):
                await loop.sock_sendall(self._socket, head + body)
            else:
                waiting = head
                async for piece in body:
                    await loop.sock_sendall(self._socket, waiting + piece)
                    waiting = b""
                if waiting:
                    await loop.sock_sendall(self._socket, waiting)
        self._sent = True

    async def head(self, limit: float | None) -> _Parsed:
        """Read the response's head, with any part of its body that arrived with it."""
        answer, seen = self._answer, 0
        while not answer.has_head:
            seen += await self._more(limit)
            if seen > _HEAD and not answer.has_head:
                raise httpx.RemoteProtocolError(f"a head of more than {_HEAD} bytes")
        if answer.status == 101:
            raise httpx.RemoteProtocolError("another protocol in place of an answer")
        return answer

    async def piece(self, limit: float | None) -> bytes:
        """Returns the next piece of the body; empty at its end."""
        answer = self._answer
        while not answer.pieces and not answer.is_done:
            await self._more(limit)
        return answer.pieces.popleft() if answer.pieces else b""

    async def whole(self, most: int) -> bytes | bytearray:
        """The body, where it has no more than so many bytes."""
        answer = self._answer
        if (answer.length or 0) > most:
            raise ResponseTooLong(f"an answer of {answer.length} bytes; at most {most}")
        if not answer.is_done and (answer.length or 0) in _IN_PLACE:
            return await self._in_place(bytearray(answer.length or 0))
        pieces, size = [], 0
        while piece := await self.piece(None):
            pieces.append(piece)
            size += len(piece)
            if size > most:
                raise ResponseTooLong(f"an answer of more than {most} bytes")
        return b"".join(pieces)

    async def _in_place(self, body: bytearray) -> bytearray:
        """The body of known length, past the parser, which would copy it twice."""
        loop = asyncio.get_running_loop()
        start = b"".join(self._answer.pieces)
        body[: len(start)] = start
        at = len(start)
        with _as(httpx.ReadError), memoryview(body) as view:
            while at < len(body):
                taken = await loop.sock_recv_into(self._socket, view[at:])
                if not taken:
                    raise httpx.RemoteProtocolError(f"{at} bytes of {len(body)}, then no more")
                at += taken
        self._answer.is_done = True
        return body

    async def _more(self, limit: float | None) -> int:
        """Give the parser what comes; returns its length in bytes."""
        loop = asyncio.get_running_loop()
        answer = self._answer
        most = _PIECE if answer.has_head else _FIRST
        with _as(httpx.ReadError):
            if limit is None:
                data = await loop.sock_recv(self._socket, most)
            else:
                async with _within(limit, httpx.ReadTimeout):
                    data = await loop.sock_recv(self._socket, most)
        if not data:
            answer.goes_on = False
            if not (answer.has_head and answer.ends_by_hanging_up):
                raise httpx.RemoteProtocolError("the server hung up without a whole answer")
            answer.is_done = True
            return 0
        try:
            answer.parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            raise httpx.RemoteProtocolError(f"no HTTP answer: {error}") from error
        return len(data)

    @property
    def can_go_on(self) -> bool:
        """Whether both sides are ready for another request."""
        answer = self._answer
        return self._sent and answer.is_done and answer.goes_on and not answer.said_too_much

    def is_over(self) -> bool:
        """Whether the server has hung up, or says something that nobody asked for."""
        waiting = select.poll()
        waiting.register(self._socket, select.POLLIN)
        return bool(waiting.poll(0))

    def close(self) -> None:
        """Close the socket; may be called twice."""
        self._socket.close()


class _Body(httpx.AsyncByteStream):
    """The body of a response; closing it returns the connection for reuse."""

    def __init__(
        self,
        transport: LoopbackTransport,
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
        while piece := await connection.piece(self._limit):
            yield piece

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
    """Raise a socket's errors as httpx's transports raise them."""
    try:
        yield
    except OSError as error:
        raise failed(str(error)) from error
