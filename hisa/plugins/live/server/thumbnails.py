"""Small pictures of screens, each made once, in one thread."""

from __future__ import annotations

import io
import re
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from PIL import Image

from hisa.runs.read import IMAGES

__all__ = ["WIDTH", "Thumbnails"]

WIDTH = 320
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PIXELS = 40_000_000
"""Pixels of the largest picture that is opened: a screen of 8K has 33 million."""


class Thumbnails:
    """Keeps the newest pictures, by their hash.

    Args:
        limit: bytes that are kept.
    """

    def __init__(self, limit: int = 8 << 20) -> None:
        self.pool = ThreadPoolExecutor(1, thread_name_prefix="thumbnails")
        """Where `of` is to be called: one thread, so never more than one core."""
        self._limit, self._size = limit, 0
        self._kept: OrderedDict[str, bytes] = OrderedDict()

    def of(self, folder: Path, sha256: str) -> bytes | None:
        """Returns a picture of a run as WebP, 320 pixels wide at most.

        None where it is missing, no whole picture or too large.
        """
        if (kept := self._kept.get(sha256)) is not None:
            self._kept.move_to_end(sha256)
            return kept
        path = folder / IMAGES / f"{sha256}.png"
        if not _SHA256.fullmatch(sha256) or path.is_symlink():
            return None
        made = _small(path)
        if made is not None:
            self._keep(sha256, made)
        return made

    def _keep(self, sha256: str, made: bytes) -> None:
        self._kept[sha256] = made
        self._size += len(made)
        while self._size > self._limit:
            self._size -= len(self._kept.popitem(last=False)[1])


def _small(path: Path) -> bytes | None:
    buffer = io.BytesIO()
    try:
        with Image.open(path, formats=("PNG",)) as file:
            if file.width * file.height > _PIXELS:
                return None
            picture = file if file.mode == "RGB" else file.convert("RGB")
            # Whole pixels are averaged first: a fifth of the time, and text stays as legible.
            picture.load()
            picture = picture.reduce(max(1, picture.width // WIDTH))
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None
    picture.thumbnail((WIDTH, picture.height), reducing_gap=1.0)
    picture.save(buffer, "WEBP", quality=70, method=1)
    return buffer.getvalue()
