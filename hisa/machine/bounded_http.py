"""Bodies of HTTP responses, given up once they are too long, also where they come packed."""

from __future__ import annotations

import zlib

import httpx

__all__ = ["BoundedBody", "ResponseTooLong", "read_bounded"]


class ResponseTooLong(httpx.RemoteProtocolError):
    """A response is longer than its reader takes; the rest of it was not read."""


class BoundedBody:
    """A body that is gathered piece by piece.

    Args:
        most: bytes of the longest that is taken, as they are once unpacked.
        encoding: how it is packed, as its head says; empty: not at all.

    Raises:
        httpx.DecodingError: it is packed in a way that cannot be unpacked piece by piece.
    """

    def __init__(self, most: int, encoding: str = "") -> None:
        if encoding not in ("", "identity", "gzip", "deflate"):
            raise httpx.DecodingError(f"an answer packed as {encoding!r}, which nobody asked for")
        self._most = most
        packed = encoding in ("gzip", "deflate")
        # 32: gzip and zlib are told apart by their first bytes.
        self._unpacker = zlib.decompressobj(32 + zlib.MAX_WBITS) if packed else None
        self._body = bytearray()

    def add(self, piece: bytes | bytearray, /) -> None:
        """Take the next piece.

        Raises:
            ResponseTooLong: the body is longer than its limit.
            httpx.DecodingError: it cannot be unpacked.
        """
        if self._unpacker is not None:
            try:
                piece = self._unpacker.decompress(piece, self._most + 1 - len(self._body))
            except zlib.error as error:
                raise httpx.DecodingError(str(error)) from error
        self._body += piece
        if len(self._body) > self._most:
            raise ResponseTooLong(f"an answer of more than {self._most} bytes")

    @property
    def content(self) -> bytes:
        """All of it so far."""
        return bytes(self._body)


async def read_bounded(response: httpx.Response, most: int) -> bytes:
    """The body of a response that is being streamed; see `BoundedBody`."""
    if response.is_stream_consumed:  # made in this process, and unpacked
        return response.content
    body = BoundedBody(most, response.headers.get("content-encoding", ""))
    async for piece in response.aiter_raw():
        body.add(piece)
    return body.content
