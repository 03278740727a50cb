"""What changes on a screen by itself: the pointer that was moved, and a caret that blinks.

The guest, which stands alone, keeps its own measure of a caret for the time until a screen settles.
"""

from __future__ import annotations

from PIL import Image, ImageChops, ImageFilter

from hisa.observation import Observation

__all__ = ["CARET_HEIGHT", "CARET_WIDTH", "is_caret", "without_pointer"]

CARET_WIDTH = 3
"""Widest caret, in image pixels."""
CARET_HEIGHT = (6, 40)
"""Lowest and highest caret, in image pixels: a dot is lower, a border higher."""

_REACH = 40
"""Image pixels around the hot spot within which a pointer is drawn."""
_SHAPE = 20
"""Pixels equal at both places from which on they are a pointer: a small arrow has 60."""
_EDGE = 5
"""Size of the filter that takes the half-transparent edge of the pointer, 2 pixels, with it."""


def is_caret(mask: Image.Image) -> bool:
    """Whether a difference is one upright line without a gap; letters have gaps or are wider.

    Args:
        mask: white where two looks differ, black elsewhere.
    """
    corners = mask.getbbox()
    if corners is None:
        return False
    width, height = corners[2] - corners[0], corners[3] - corners[1]
    lowest, highest = CARET_HEIGHT
    if width > CARET_WIDTH or not lowest <= height <= highest:
        return False
    return mask.crop(corners).histogram()[0] == 0


def without_pointer(mask: Image.Image, before: Observation, after: Observation) -> Image.Image:
    """The difference of two looks without the pointer, where it moved and looks as it did.

    What the pointer showed at its old place it shows now at the new one: pixels that are equal
    there are the pointer's. A change around or beside it stays.
    """
    old, new = _pixel(before), _pixel(after)
    if old is None or new is None or old == new:
        return mask
    was = before.screenshot.pixels.crop(_reach(old))
    now = after.screenshot.pixels.crop(_reach(new))
    red, green, blue = ImageChops.difference(was, now).split()
    apart = ImageChops.lighter(ImageChops.lighter(red, green), blue)
    same = apart.point([255] + [0] * 255)
    mask = mask.copy()
    # Both are read before either is written: the two places may overlap.
    shapes = [ImageChops.darker(same, mask.crop(_reach(place))) for place in (old, new)]
    for place, shape in zip((old, new), shapes, strict=True):
        if shape.histogram()[255] >= _SHAPE:
            left, top = _reach(place)[:2]
            mask.paste(0, (left, top), shape.filter(ImageFilter.MaxFilter(_EDGE)))
    return mask


def _pixel(look: Observation) -> tuple[int, int] | None:
    """The pointer's place in the picture; None where it is not known."""
    return None if look.cursor is None else look.convert(look.cursor, "image").rounded()


def _reach(place: tuple[int, int]) -> tuple[int, int, int, int]:
    x, y = place
    return x - _REACH, y - _REACH, x + _REACH, y + _REACH
