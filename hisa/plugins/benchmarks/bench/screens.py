"""Whether two screens show the same: a caret and a clock may differ, a window may not.

The pictures themselves are compared, in tiles. A perceptual hash of a whole screen is too coarse
to see a dialog and leave a clock alone; the pictures are in the run folders anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops

from hisa.screen.observation import DEFAULT_IMAGE_LIMIT, Screenshot

__all__ = ["LEVELS", "SAME_TILES", "TILE", "ScreenChange", "compare_screens", "screen_change"]

TILE = 16
"""Pixels of a tile's side, on a screen brought down to 1280x720."""
LEVELS = 4
"""Difference of a colour channel, of 255, up to which a pixel is the same."""
SAME_TILES = 36
"""Changed tiles up to which a screen is the same: 1% of 1280x720. A caret changes 2 to 6 tiles, a
clock of one line up to 20, the smallest dialogs more than 50."""


@dataclass(frozen=True, slots=True)
class ScreenChange:
    """How two pictures differ."""

    tiles: int
    """Those in which any pixel differs."""
    share: float
    """Their share of the screen."""
    box: tuple[float, float, float, float]
    """The smallest box around what differs: left, top, width, height, as shares of the screen."""

    @property
    def tells(self) -> bool:
        """Whether it is more than a caret or a clock."""
        return self.tiles > SAME_TILES


def compare_screens(before: Path, now: Path) -> ScreenChange | None:
    """Compare two PNG files; None where nothing differs.

    Raises:
        OSError, ValueError: a file is not there, or no whole picture.
    """
    if before.name == now.name:  # named by hash
        return None
    return screen_change(_picture(before), Screenshot.from_png(now.read_bytes()))


def screen_change(before: Screenshot, now: Screenshot) -> ScreenChange | None:
    """Compare two pictures of screens of one size; None where nothing differs.

    What models saw may be of different sizes: both are brought to the smaller one, and never to
    more than 1280x720.
    """
    one, other = before.fitted(DEFAULT_IMAGE_LIMIT), now.fitted(DEFAULT_IMAGE_LIMIT)
    one, other = one.fitted(other.size), other.fitted(one.size)
    if one.size != other.size:
        other = Screenshot(other.pixels.resize(one.pixels.size))
    difference = ImageChops.difference(one.pixels, other.pixels)
    if difference.getbbox() is None:
        return None
    rows, columns = np.nonzero(_changed_tiles(difference))
    if not len(rows):
        return None
    width, height = (side / TILE for side in difference.size)
    left, top = int(columns.min()), int(rows.min())
    right, bottom = min(int(columns.max()) + 1, width), min(int(rows.max()) + 1, height)
    return ScreenChange(
        tiles=len(rows),
        share=min(1.0, len(rows) / (width * height)),
        box=(left / width, top / height, (right - left) / width, (bottom - top) / height),
    )


def _changed_tiles(difference: Image.Image) -> NDArray[np.bool_]:
    """Truth by row and column of tiles; those at the right and lower edge may be cut."""
    red, green, blue = difference.split()
    most = ImageChops.lighter(ImageChops.lighter(red, green), blue)
    pixels = np.asarray(most) > LEVELS
    height, width = pixels.shape
    pixels = np.pad(pixels, ((0, -height % TILE), (0, -width % TILE)))
    tall, wide = pixels.shape[0] // TILE, pixels.shape[1] // TILE
    return np.asarray(pixels.reshape(tall, TILE, wide, TILE).any(axis=(1, 3)))


@lru_cache(maxsize=4)
def _picture(path: Path) -> Screenshot:
    """The reference's, which is compared with many."""
    return Screenshot.from_png(path.read_bytes())
