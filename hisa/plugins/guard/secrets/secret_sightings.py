"""Finds parts of pictures that showed a secret again in later pictures, in place or moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hisa.screen.geometry import BoundingBox

__all__ = ["Sighting"]

_OTHER = 24
"""Difference, of 255, above which a colour is another one; a hovered button differs by less."""
_SAME = 0.7
"""Share of the pixels of a part that must be as they were: a caret, the edge of a selection and a
frame that lost the focus change fewer than the rest."""
_EDGES = 6
"""Least changes of colour along a piece of a row; one with fewer would be found everywhere."""
_NARROWEST = 12
"""Least pixels of a row to look for: two letters."""

_Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Sighting:
    """A part of a picture: its place and its looks."""

    box: BoundingBox
    pixels: _Pixels
    rows: tuple[tuple[int, int, bytes], ...]
    """Pieces of its rows that are searched for: x and y in the part, and their bytes."""

    @classmethod
    def of(cls, picture: Image.Image, box: BoundingBox) -> Self:
        """Returns the part of a picture in a box of whole pixels."""
        corners = (int(box.left), int(box.top), int(box.right), int(box.bottom))
        pixels = np.asarray(picture.crop(corners))
        return cls(box, pixels, tuple(_pick_pieces(pixels)))

    def covers(self, box: BoundingBox) -> bool:
        """Whether the part was seen in exactly this box."""
        return self.box == box

    def find_again(self, picture: Image.Image) -> list[BoundingBox]:
        """Returns the boxes, from left to right, in which a picture shows the part again."""
        picture_pixels = np.asarray(picture)
        data = picture.tobytes()
        places = {(int(self.box.left), int(self.box.top))}
        for x, y, row in self.rows:
            places |= {(left - x, top - y) for left, top in _find_row(data, row, picture.width)}
        return [
            box for place in sorted(places) if (box := self._at(picture_pixels, *place)) is not None
        ]

    def _at(self, picture_pixels: _Pixels, left: int, top: int) -> BoundingBox | None:
        height, width = self.pixels.shape[:2]
        right, bottom = (
            min(left + width, picture_pixels.shape[1]),
            min(top + height, picture_pixels.shape[0]),
        )
        first, above = max(left, 0), max(top, 0)
        if first >= right or above >= bottom:
            return None
        section: Any = picture_pixels[above:bottom, first:right].astype(np.int16)
        expected = self.pixels[above - top : bottom - top, first - left : right - left]
        other = np.abs(section - expected).max(axis=2) > _OTHER
        if 1.0 - other.mean() < _SAME or not _shows_as_much(expected, other):
            return None
        return BoundingBox(first, above, right, bottom)


def _shows_as_much(expected: _Pixels, other: Any) -> bool:
    """Whether the strokes are there too, as most pixels of a part are only its background."""
    plain = np.median(expected.reshape(-1, 3), axis=0)
    strokes = np.abs(expected.astype(np.int16) - plain).max(axis=2) > _OTHER
    return not strokes.any() or 1.0 - other[strokes].mean() >= _SAME / 2


def _pick_pieces(pixels: _Pixels) -> list[tuple[int, int, bytes]]:
    """The pieces of rows with most changes of colour: one of the left, the middle, the right."""
    height, width = pixels.shape[:2]
    if height < 1 or width < _NARROWEST:
        return []
    edges = (np.diff(pixels.astype(np.int16), axis=1) != 0).any(axis=2)
    pieces = []
    for first, last in ((0, width // 2), (width // 4, 3 * width // 4), (width // 2, width)):
        counts = edges[:, first : max(first + 1, last - 1)].sum(axis=1)
        row = int(counts.argmax())
        if last - first >= _NARROWEST // 2 and counts[row] >= _EDGES:
            pieces.append((first, row, pixels[row, first:last].tobytes()))
    return pieces


def _find_row(data: bytes, row: bytes, width: int) -> list[tuple[int, int]]:
    """The places, at most 50, of a piece of a row: more would be a page of the same words."""
    places: list[tuple[int, int]] = []
    at = data.find(row)
    while at >= 0 and len(places) < 50:
        left, top = (at // 3) % width, at // (3 * width)
        if at % 3 == 0 and left + len(row) // 3 <= width:
            places.append((left, top))
        at = data.find(row, at + 1)
    return places
