"""Reads bodies of HTTP responses up to a limit, which also holds for compressed bodies."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable, AsyncIterator

import httpx

__all__ = ["ResponseTooLong", "bounded_pieces", "read_bounded"]


class ResponseTooLong(httpx.RemoteProtocolError):
    """A response is longer than the limit; the rest of it was not read."""


async def bounded_pieces(
    pieces: AsyncIterable[bytes], encoding: str, most: int
) -> AsyncIterator[bytes]:
    """Yields a body, decompressed, piece by piece.

    Args:
        pieces: the pieces of the body as they arrive.
        encoding: the header Content-Encoding.
        most: most bytes of the body, counted after decompression.

    Raises:
        ResponseTooLong: the body is longer.
        httpx.DecodingError: it cannot be decompressed, or has an encoding that is not supported.
    """
    if encoding not in ("", "identity", "gzip", "deflate"):
        raise httpx.DecodingError(f"a response encoded as {encoding!r}, which was not asked for")
    # 32: zlib distinguishes gzip and zlib by their first bytes.
    packed = encoding in ("gzip", "deflate")
    unpacker = zlib.decompressobj(32 + zlib.MAX_WBITS) if packed else None
    size = 0
    async for piece in pieces:
        if unpacker is not None:
            try:
                piece = unpacker.decompress(piece, most + 1 - size)
            except zlib.error as error:
                raise httpx.DecodingError(str(error)) from error
        size += len(piece)
        if size > most:
            raise ResponseTooLong(f"a response of more than {most} bytes")
        yield piece


async def read_bounded(response: httpx.Response, most: int) -> bytes:
    """Returns the body of a response that is being streamed; see `bounded_pieces`."""
    if response.is_stream_consumed:  # made in this process, and already decompressed
        return response.content
    encoding = response.headers.get("content-encoding", "")
    pieces = bounded_pieces(response.aiter_raw(), encoding, most)
    return b"".join([piece async for piece in pieces])
