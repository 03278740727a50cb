"""Pictures of a run made small, for the view of all desktops."""

from __future__ import annotations

import io
import re
from functools import lru_cache
from pathlib import Path

from PIL import Image

from hisa.runs.read import IMAGES

__all__ = ["SHA256", "UNREADABLE", "small"]

_WIDTH, _PIXELS = 320, 40_000_000
"""Of a small picture; and of the largest one that is opened: a screen of 8K has 33 million."""
UNREADABLE = OSError, SyntaxError, ValueError, Image.DecompressionBombError
SHA256 = re.compile(r"[0-9a-f]{64}")


@lru_cache(512)
def small(folder: Path, sha256: str) -> bytes:
    """A run's picture as WebP of 320 pixels at most; raises one of ``UNREADABLE``."""
    path = folder / IMAGES / f"{sha256}.png"
    if not SHA256.fullmatch(sha256) or path.is_symlink():
        raise ValueError("not a picture of a run")
    buffer = io.BytesIO()
    with Image.open(path, formats=("PNG",)) as file:
        if file.width * file.height > _PIXELS:
            raise ValueError("too large")
        picture = file if file.mode == "RGB" else file.convert("RGB")
        # Averaging whole pixels takes a third of the time that scaling does.
        picture = picture.reduce(max(1, picture.width // _WIDTH))
    picture.thumbnail((_WIDTH, _WIDTH))
    picture.save(buffer, "WEBP", quality=70, method=1)
    return buffer.getvalue()
