"""Screenshots to PNG, quickly: one pass of ISA-L's deflate over unfiltered rows.

Screens are flat: a filter per row gains nothing on them and costs most of an encoder's time. The
file is an ordinary PNG; ``python -m benchmarks.png`` compares it with Pillow's encoder.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["encode_png"]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_LEVEL = 1


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def encode_png(image: Image.Image) -> bytes:
    """An RGB picture as PNG, lossless.

    Raises:
        ValueError: the picture is not RGB.
    """
    if image.mode != "RGB":
        raise ValueError(f"picture of mode {image.mode!r}; only 'RGB' is encoded")
    import numpy as np
    from isal import isal_zlib

    width, height = image.size
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # the leading 0 says: not filtered
    rows[:, 1:] = np.asarray(image).reshape(height, 3 * width)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = isal_zlib.compress(rows.data, _LEVEL)
    chunks = (_chunk(b"IHDR", header), _chunk(b"IDAT", body), _chunk(b"IEND", b""))
    return _SIGNATURE + b"".join(chunks)
