"""Screenshots to PNG, quickly: one pass of ISA-L's deflate over unfiltered rows, changed ones only.

Screens are flat: a filter per row gains nothing on them and costs most of an encoder's time. A
screen's rows are packed in stripes that know nothing of each other, each with a chunk of its own:
most of them are as they were at the last look, and are taken from there. The file is an ordinary
PNG of the same pixels whatever came before, though not always in the same bytes;
``python -m benchmarks.png`` compares it with Pillow's encoder.
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
"""Rows of a stripe: less than a processor's cache, so few that most stay as they were, and so many
that little is lost where one begins; the 0 before each row says that it is not filtered."""
_REMEMBERED = 4
"""Shapes of pictures whose last stripes are kept: those for the log and for a grounder."""
_LARGE = 1 << 20
"""Bytes of rows from which on they are kept: parts of a screen do not come twice."""
_MODULUS = 65521
"""Of the check sum over all stripes (RFC 1950, 8.2)."""


class _Stripe(NamedTuple):
    """Some rows, packed: their chunk of the file, and what the stream's check sum needs."""

    chunk: bytes
    adler: int
    length: int


class _Picture(NamedTuple):
    """The rows that were encoded last in some shape, and their stripes from the top."""

    rows: memoryview
    stripes: tuple[_Stripe, ...]


_last: dict[tuple[int, int], _Picture] = {}
"""By width and black pixels on the right; entries are replaced whole, from whichever thread."""


def encode_rgb(
    width: int, height: int, pixels: bytes | memoryview, *, right: int = 0, below: int = 0
) -> bytes:
    """Rows of red, green and blue, a byte each, as PNG, lossless.

    Args:
        width: of what the rows show, in pixels.
        height: the same.
        pixels: the rows; they are not copied, and may not change.
        right: black pixels added on the right.
        below: and below.
    """
    view, key = memoryview(pixels), (width, right)
    stripes = tuple(_stripes(view, 3 * width, 3 * right, _last.get(key)))
    if len(view) >= _LARGE:
        _last.pop(key, None)  # the newest stands last
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
    """The rows in stripes; those that are as they were are the last picture's."""
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
    return _deflate(b"".join((b"\0", (black + b"\0").join(parts), black)))


@lru_cache(_REMEMBERED)
def _black(row: int, height: int) -> tuple[_Stripe, ...]:
    return (_deflate(bytes(height * (1 + row))),) if height else ()


def _deflate(data: bytes) -> _Stripe:
    """Data as blocks of a stream that need nothing before them and end at a byte."""
    from isal import isal_zlib

    packer = isal_zlib.compressobj(_LEVEL, isal_zlib.DEFLATED, -zlib.MAX_WBITS)
    body = packer.compress(data) + packer.flush(isal_zlib.Z_FULL_FLUSH)
    return _Stripe(_chunk(b"IDAT", body), isal_zlib.adler32(data), len(data))


def _adler(stripes: tuple[_Stripe, ...]) -> int:
    """The check sum of all, from those of each."""
    low, high = 1, 0
    for stripe in stripes:
        high += (stripe.adler >> 16) + stripe.length * (low - 1)
        low += (stripe.adler & 0xFFFF) - 1
    return (high % _MODULUS) << 16 | low % _MODULUS


def _chunk(kind: bytes, data: bytes) -> bytes:
    check = zlib.crc32(data, zlib.crc32(kind))
    return b"".join((struct.pack(">I", len(data)), kind, data, struct.pack(">I", check)))
