"""The transport to a server that already runs, over streamable HTTP, with a limit on answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx2
from mcp.client.streamable_http import streamable_http_client

from hisa.plugins.mcp.client.mcp_watch import MESSAGE_BYTES, Watch

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

__all__ = ["remote"]

_CONNECT = 30.0
"""Seconds to connect and to send; the default of the ``mcp`` package."""


class _Limited(httpx2.AsyncByteStream):
    """A body that fails once it is too large, or if the connection breaks."""

    def __init__(self, inner: httpx2.AsyncByteStream, limit: int | None, watch: Watch) -> None:
        self._inner = inner
        self._limit = limit
        self._watch = watch

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for chunk in self._inner:
                size += len(chunk)
                if self._limit is not None and size > self._limit:
                    self._watch.too_large()
                    raise httpx2.StreamError(f"a body of more than {self._limit} bytes")
                yield chunk
        except httpx2.TransportError as error:  # this would make the package end the session
            raise httpx2.StreamError(str(error) or type(error).__name__) from error

    async def aclose(self) -> None:
        await self._inner.aclose()


class _LimitedTransport(httpx2.AsyncHTTPTransport):
    """Limits the answers of a server; a failure is an error of that one request.

    A compressed answer is refused, since a small one can unpack to a large one.
    """

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self._watch = watch

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await super().handle_async_request(request)
        except httpx2.TransportError as error:
            return _build_error(f"it cannot be reached: {str(error) or type(error).__name__}")
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            return _build_error("its answer is compressed, which was not asked for")
        if isinstance(response.stream, httpx2.AsyncByteStream):
            # A stream of events may go on as long as the session; each event has a limit.
            streams = response.headers.get("content-type", "").startswith("text/event-stream")
            limit = None if streams else MESSAGE_BYTES
            response.stream = _Limited(response.stream, limit, self._watch)
        return response


def _build_error(why: str) -> httpx2.Response:
    """A response that the ``mcp`` package reads as an error of the request."""
    error = {"code": -32000, "message": why}
    return httpx2.Response(502, json={"jsonrpc": "2.0", "id": None, "error": error})


@asynccontextmanager
async def remote(
    url: str, headers: Mapping[str, str], *, seconds: float, watch: Watch
) -> AsyncIterator[TransportStreams]:
    """Yields a transport of the ``mcp`` package to a server at an address.

    Args:
        url: its address. Redirections are followed only within its origin.
        headers: headers of each request.
        seconds: longest wait between two pieces of an answer.
        watch: is told of answers that are too large.
    """
    client = httpx2.AsyncClient(
        headers={**headers, "Accept-Encoding": "identity"},
        timeout=httpx2.Timeout(_CONNECT, read=seconds),
        transport=_LimitedTransport(watch),
    )
    async with (
        client,
        streamable_http_client(
            url, http_client=client, max_sse_event_size=MESSAGE_BYTES
        ) as streams,
    ):
        yield streams
