"""Bodies of HTTP responses, given up once they are too long, also where they come packed."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable, AsyncIterator

import httpx

__all__ = ["ResponseTooLong", "bounded_pieces", "read_bounded"]


class ResponseTooLong(httpx.RemoteProtocolError):
    """A response is longer than its reader takes; the rest of it was not read."""


async def bounded_pieces(
    pieces: AsyncIterable[bytes], encoding: str, most: int
) -> AsyncIterator[bytes]:
    """Yields a body, unpacked, piece by piece.

    Args:
        pieces: of the body as they come.
        encoding: the header Content-Encoding.
        most: bytes of the longest body that is taken, as they are once unpacked.

    Raises:
        ResponseTooLong: it is longer.
        httpx.DecodingError: it cannot be unpacked, or is packed in a way that cannot be unpacked
            piece by piece.
    """
    if encoding not in ("", "identity", "gzip", "deflate"):
        raise httpx.DecodingError(f"an answer packed as {encoding!r}, which nobody asked for")
    # 32: gzip and zlib are told apart by their first bytes.
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
            raise ResponseTooLong(f"an answer of more than {most} bytes")
        yield piece


async def read_bounded(response: httpx.Response, most: int) -> bytes:
    """The body of a response that is being streamed; see `bounded_pieces`."""
    if response.is_stream_consumed:  # made in this process, and unpacked
        return response.content
    encoding = response.headers.get("content-encoding", "")
    pieces = bounded_pieces(response.aiter_raw(), encoding, most)
    return b"".join([piece async for piece in pieces])
