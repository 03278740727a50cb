"""Computes the part of a scaled-down picture that its pointer covers."""

from __future__ import annotations

import math

from PIL import Image

from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Screenshot, UnderPointer

__all__ = ["fitted_cover"]

_REACH = 3
"""Pixels of the smaller picture into which Lanczos's filter blends a pointer's edge."""


def fitted_cover(picture: Screenshot, under: UnderPointer, size: Size) -> UnderPointer:
    """Returns the part under the pointer as it would be in a picture scaled to another size.

    Args:
        picture: the full picture.
        under: the part that its pointer covers, in its pixels.
        size: the size to which the picture is scaled.
    """
    across, down = picture.size.width / size.width, picture.size.height / size.height
    left = max(0, math.floor(under.box.left / across) - _REACH)
    top = max(0, math.floor(under.box.top / down) - _REACH)
    right = min(size.width, math.ceil(under.box.right / across) + _REACH)
    bottom = min(size.height, math.ceil(under.box.bottom / down) + _REACH)
    # The area that the filter reads around the part, in whole pixels of the full picture.
    first = max(0, math.floor((left - _REACH) * across)), max(0, math.floor((top - _REACH) * down))
    last = (
        min(picture.size.width, math.ceil((right + _REACH) * across)),
        min(picture.size.height, math.ceil((bottom + _REACH) * down)),
    )
    around = picture.crop(BoundingBox(*first, *last)).pixels.copy()
    at = int(under.box.left) - first[0], int(under.box.top) - first[1]
    around.paste(under.picture.pixels, at)
    inside = (
        left * across - first[0],
        top * down - first[1],
        right * across - first[0],
        bottom * down - first[1],
    )
    scaled = around.resize((right - left, bottom - top), Image.Resampling.LANCZOS, box=inside)
    return UnderPointer(BoundingBox(left, top, right, bottom), Screenshot(scaled), full=under)
