"""Encodes screenshots as PNG quickly: ISA-L's deflate, without filters, on changed rows only.

Screens are flat: filtering rows gains nothing on them and costs most of an encoder's time. The rows
are packed in independent stripes, each in a separate chunk. Most stripes are unchanged since the
last look and are reused. The file is an ordinary PNG of the same pixels whatever came before, but
not always with the same bytes. ``python -m benchmarks.png`` compares it with Pillow's encoder.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

__all__ = ["encode_rgb"]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_LEVEL = 1
_ROWS = 48
"""Rows of a stripe: smaller than a processor's cache, few enough that most stripes stay unchanged,
and enough to lose little at each start."""
_REMEMBERED = 4
"""Shapes of pictures whose last stripes are kept: those for the log and for a grounder."""
_LARGE = 1 << 20
"""Least bytes of a picture whose stripes are kept: smaller parts are rarely encoded twice."""
_MODULUS = 65521
"""Modulus of the check sum over all stripes (RFC 1950, 8.2)."""


class _Stripe(NamedTuple):
    """Some packed rows: their chunk of the file, and their part of the stream's check sum."""

    chunk: bytes
    adler: int
    length: int


class _Picture(NamedTuple):
    """The last encoded rows of a shape, and their stripes from the top."""

    rows: memoryview
    stripes: tuple[_Stripe, ...]


_last: dict[tuple[int, int], _Picture] = {}
"""Last pictures by width and black pixels on the right; any thread may replace a whole entry."""


def encode_rgb(
    width: int, height: int, pixels: bytes | memoryview, *, right: int = 0, below: int = 0
) -> bytes:
    """Encode rows of red, green and blue, one byte each, as PNG, lossless.

    Args:
        width: width of the rows, in pixels.
        height: number of rows.
        pixels: the rows; they are not copied, and must not change.
        right: black pixels to add on the right.
        below: black rows to add below.
    """
    view, key = memoryview(pixels), (width, right)
    stripes = tuple(_stripes(view, 3 * width, 3 * right, _last.get(key)))
    if len(view) >= _LARGE:
        _last.pop(key, None)  # keeps the newest last
        while len(_last) >= _REMEMBERED:
            _last.pop(next(iter(_last)), None)
        _last[key] = _Picture(view, stripes)
    black = _black(3 * (width + right), below)
    header = struct.pack(">IIBBBBB", width + right, height + below, 8, 2, 0, 0, 0)
    end = b"\x03\x00" + struct.pack(">I", _adler((*stripes, *black)))  # an empty last block
    chunks = (
        _chunk(b"IHDR", header),
        _chunk(b"IDAT", b"\x78\x01"),
        *(stripe.chunk for stripe in (*stripes, *black)),
        _chunk(b"IDAT", end),
        _chunk(b"IEND", b""),
    )
    return _SIGNATURE + b"".join(chunks)


def _stripes(view: memoryview, row: int, beside: int, last: _Picture | None) -> Iterator[_Stripe]:
    """Yields the rows in stripes, reusing the last picture's where they are unchanged."""
    import numpy as np

    old = np.frombuffer(last.rows, np.uint8) if last else np.empty(0, np.uint8)
    new = np.frombuffer(view, np.uint8)
    size = row * _ROWS
    for number, at in enumerate(range(0, len(view), size)):
        end = min(at + size, len(view))
        if last and end <= len(old) and np.array_equal(old[at:end], new[at:end]):
            known = last.stripes[number]
            if known.length == (end - at) // row * (1 + row + beside):
                yield known
                continue
        yield _pack_rows(view[at:end], row, beside)


def _pack_rows(rows: memoryview, row: int, beside: int) -> _Stripe:
    black = bytes(beside)
    parts = [rows[at : at + row] for at in range(0, len(rows), row)]
    # PNG's filter byte before each row: 0, not filtered.
    return _deflate(b"".join((b"\0", (black + b"\0").join(parts), black)))


@lru_cache(_REMEMBERED)
def _black(row: int, height: int) -> tuple[_Stripe, ...]:
    return (_deflate(bytes(height * (1 + row))),) if height else ()


def _deflate(data: bytes) -> _Stripe:
    """Deflate data into independent blocks of a stream that end at a byte."""
    from isal import isal_zlib

    packer = isal_zlib.compressobj(_LEVEL, isal_zlib.DEFLATED, -zlib.MAX_WBITS)
    body = packer.compress(data) + packer.flush(isal_zlib.Z_FULL_FLUSH)
    return _Stripe(_chunk(b"IDAT", body), isal_zlib.adler32(data), len(data))


def _adler(stripes: tuple[_Stripe, ...]) -> int:
    """Returns the check sum of all stripes, combined from theirs."""
    low, high = 1, 0
    for stripe in stripes:
        high += (stripe.adler >> 16) + stripe.length * (low - 1)
        low += (stripe.adler & 0xFFFF) - 1
    return (high % _MODULUS) << 16 | low % _MODULUS


def _chunk(kind: bytes, data: bytes) -> bytes:
    check = zlib.crc32(data, zlib.crc32(kind))
    return b"".join((struct.pack(">I", len(data)), kind, data, struct.pack(">I", check)))
