"""Server-sent events: an answer that comes while it is written."""

from __future__ import annotations

from collections.abc import AsyncIterator

from hisa.machine.bounded_http import ResponseTooLong
from hisa.models.response_body import MOST_BYTES

__all__ = ["event_data"]


async def event_data(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yields the data of each event; empty for a comment, by which a server says that it works.

    Lines are those of the bytes: text may hold other characters that end lines.

    Raises:
        ResponseTooLong: one event is longer than a whole answer may be.
    """
    rest, data, size = bytearray(), list[bytes](), 0
    async for piece in pieces:
        size += len(piece)
        if size > MOST_BYTES:
            raise ResponseTooLong(f"one event of more than {MOST_BYTES} bytes")
        *lines, last = piece.split(b"\n")
        for line in lines:
            line = bytes(rest + line).rstrip(b"\r")
            rest.clear()
            if line.startswith((b"data:", b"error:")):  # the latter by older llama.cpp
                data.append(line.partition(b":")[2].removeprefix(b" "))
            elif line.startswith(b":"):
                yield b""
            elif not line and data:
                yield b"\n".join(data)
                data.clear()
            size = sum(map(len, data)) + len(last)
        rest += last
    if data:  # a server that leaves out the last blank line
        yield b"\n".join(data)
