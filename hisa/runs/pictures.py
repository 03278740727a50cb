"""Compresses screenshots, so that a page can contain them."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

__all__ = ["Picture", "as_picture", "embed"]

THUMBNAIL = (192, 108)
"""Largest width and height of a thumbnail, in pixels."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as ``data:`` addresses; ``width`` and ``height`` in pixels."""

    width: int
    height: int
    data: str
    thumbnail: str


def embed(paths: Iterable[tuple[str, Path]]) -> dict[str, Picture]:
    """Returns pictures by name; files that are not complete pictures are left out."""
    with ThreadPoolExecutor() as pool:
        pictures = pool.map(lambda item: (item[0], _picture(item[1])), paths)
        return {name: picture for name, picture in pictures if picture is not None}


def _picture(path: Path) -> Picture | None:
    try:
        with Image.open(path, formats=("PNG",)) as file:
            return as_picture(file.convert("RGB"))
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None


def as_picture(image: Image.Image) -> Picture:
    """Returns an RGB image as a picture for a page."""
    thumbnail = image.copy()
    thumbnail.thumbnail(THUMBNAIL)
    return Picture(
        width=image.width,
        height=image.height,
        # Drawn screens are smallest without loss, photographs with an invisible loss.
        data=min(
            _webp(image, lossless=True, quality=20, method=1),
            _webp(image, quality=80, method=2),
            key=len,
        ),
        thumbnail=_webp(thumbnail, quality=70, method=2),
    )


def _webp(image: Image.Image, **options: int) -> str:
    buffer = io.BytesIO()
    image.save(buffer, "WEBP", **options)
    return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode()
