"""Words for colours, as people call them."""

from __future__ import annotations

import colorsys

from PIL import ImageStat

from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Screenshot

__all__ = ["colour_of", "colour_word"]

_HUES = (
    (15, "red"), (45, "orange"), (70, "yellow"), (170, "green"), (255, "blue"), (320, "purple"),
    (361, "red"),
)  # fmt: skip
"""Upper limit of each colour in degrees of the colour circle."""


def colour_word(red: float, green: float, blue: float) -> str:
    """Name a colour in one word, including black, white and grey.

    Args:
        red: its red part, 0 to 1.
        green: its green part, 0 to 1.
        blue: its blue part, 0 to 1.
    """
    hue, saturation, value = colorsys.rgb_to_hsv(red, green, blue)
    if saturation < 0.2 or value < 0.2:
        return "black" if value < 0.3 else "white" if value > 0.9 else "grey"
    return next(name for limit, name in _HUES if hue * 360 < limit)


def colour_of(screenshot: Screenshot, box: BoundingBox) -> str:
    """Name the main colour of a box, given in pixels of the picture."""
    left, top = int(box.left) + 1, int(box.top) + 1
    right, bottom = max(left + 1, int(box.right) - 1), max(top + 1, int(box.bottom) - 1)
    part = screenshot.pixels.crop((left, top, right, bottom))
    return colour_word(*(middle / 255 for middle in ImageStat.Stat(part).median))
