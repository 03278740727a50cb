"""A response body that raises an error if it, or one of its lines, is too long."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx

from hisa.machine.bounded_http import ResponseTooLong, bounded_pieces

__all__ = ["BoundedBody"]


class BoundedBody(httpx.AsyncByteStream):
    """A body, unpacked and counted as it is read.

    Args:
        body: the body from the server.
        encoding: the header Content-Encoding.
        most: most bytes of the whole body, once unpacked.
        longest_line: most bytes of a line: the reader of events buffers a whole line.
    """

    def __init__(
        self,
        body: httpx.SyncByteStream | httpx.AsyncByteStream,
        encoding: str,
        *,
        most: int,
        longest_line: int,
    ) -> None:
        assert isinstance(body, httpx.AsyncByteStream)
        self._body, self._encoding = body, encoding
        self._most, self._longest_line = most, longest_line

    async def __aiter__(self) -> AsyncIterator[bytes]:
        line = 0
        async for piece in bounded_pieces(self._body, self._encoding, self._most):
            _, ended, rest = piece.rpartition(b"\n")
            line = len(rest) + (0 if ended else line)
            if line > self._longest_line:
                raise ResponseTooLong(f"a line of more than {self._longest_line} bytes")
            yield piece

    async def aclose(self) -> None:
        """Close the connection, or return it to the pool."""
        await self._body.aclose()
