"""Reads the text on a screenshot with PP-OCR's two nets: ``text_pp_ocr`` of ``hisa.lists``.

The first net marks where text is, tile by tile; the second reads the picture of a line. Both are
functions of the pixels that they get and of nothing else, and what they returned is remembered by
those pixels. So a look at a screen that has changed costs only the tiles and lines that changed,
and returns exactly what reading it anew would.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotInTime
from dataclasses import replace
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hisa.machine.patience import patience
from hisa.plugins.eyes.text_nets import Letter, Pixels, can_read, open_nets
from hisa.screen.geometry import BoundingBox, shift_box
from hisa.screen.observation import Screenshot
from hisa.screen.ocr import Line, OcrUnavailable, Word
from hisa.screen.text_gaps import EDGE, split_at_gaps

__all__ = ["PP_OCR", "PpOcr"]

Corners = tuple[int, int, int, int]
"""Left, top, right and bottom in pixels; right and bottom are exclusive."""
_Value = TypeVar("_Value")

_TIME_LIMIT = 60.0
"""Seconds for one picture on an idle machine: three times what a full screen of text takes."""
_THREADS = 2
_LARGEST = 1920 * 1200
"""Most pixels among which text is looked for; larger pictures are scaled down for that. Lines are
read at full size."""
_TILE = 640, 360
"""Width and height of the tiles: the least that a change costs."""
_MARGIN = 64
"""Pixels around a tile that the net sees too."""
_MARKED, _LEAST_MEAN, _UNCLIP, _LEAST_SIDE = 0.3, 0.5, 1.6, 3
"""PP-OCR's own: the chance of text in a pixel of a line and on average in its box, how far the
box is grown (in units of its area by its circumference), and its shortest side before that."""
_UPRIGHT = 1.5
"""Height by width from which a line is also read upwards and downwards; PP-OCR's own."""
_ACROSS = 0.9
"""Share of a line's picture that no letter fills from side to side, nor from top to bottom."""
_TILES, _LINES = 60, 4000
"""How many are remembered, of at most 230 kB and some 2 kB."""


class _Memory(Generic[_Value]):
    """The values that were used last, by a hash of the pixels that they are functions of.

    Args:
        most: how many values are remembered.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[bytes, _Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: bytes, compute: Callable[[], _Value]) -> _Value:
        """Returns the value of ``key``, computed if it is not remembered."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = compute()
        with self._lock:
            self._values[key] = value
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        return value


class PpOcr:
    """See `hisa.grounder.base.TextReader`; reads one picture at a time, in two threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tiles: _Memory[Pixels] = _Memory(_TILES)
        self._lines: _Memory[tuple[Line, ...]] = _Memory(_LINES)

    def available(self) -> bool:
        """Whether the nets and ONNX Runtime are installed; loads neither."""
        return can_read()

    def read_text(
        self, screenshot: Screenshot, box: BoundingBox | None, *, least: float
    ) -> tuple[Line, ...]:
        """Returns the lines on a picture; see `hisa.screen.ocr.read_text`.

        Args:
            screenshot: the picture.
            box: the part to read, in pixels of the picture; None: all of it.
            least: least confidence of a word, 0 to 1.
        """
        full = BoundingBox(0, 0, screenshot.size.width, screenshot.size.height)
        part = full if box is None else BoundingBox(box.left, box.top, box.right, box.bottom)
        inside = part.intersection(full)
        if inside is None or inside.width < 1 or inside.height < 1:
            return ()
        corners = (int(inside.left), int(inside.top), int(inside.right), int(inside.bottom))
        limit = patience(_TIME_LIMIT)
        try:
            with self._lock, ThreadPoolExecutor(_THREADS) as pool:
                open_nets()  # before threads do so twice
                lines = self._read(screenshot.pixels, corners, pool, limit)
        except NotInTime as error:
            raise OcrUnavailable(f"PP-OCR took longer than {limit:.0f} s") from error
        words = [[word for word in line.words if word.confidence >= least] for line in lines]
        likely = [Line(tuple(run)) for run in words if run]
        return tuple(sorted(likely, key=lambda line: (line.box.top, line.box.left)))

    def _read(
        self, picture: Image.Image, part: Corners, pool: ThreadPoolExecutor, limit: float
    ) -> list[Line]:
        """Returns the lines inside a part of a picture, in its pixels.

        Args:
            picture: the picture.
            part: the part to read, in pixels.
            pool: runs the nets.
            limit: most seconds for each of the nets.
        """
        scale = min(1.0, math.sqrt(_LARGEST / (picture.width * picture.height)))
        small = picture.resize((round(picture.width * scale), round(picture.height * scale)))
        marks = self._mark_text(np.asarray(small), _scale_corners(part, scale), pool, limit)
        boxes = [_scale_corners(box, 1 / scale) for box in _find_boxes(marks)]
        places = [place for place in (_clip(box, part) for box in boxes) if place]
        crops = [picture.crop(place) for place in places]
        readings = pool.map(self._read_line, crops, timeout=limit)
        return [
            Line(tuple(replace(word, box=shift_box(word.box, *place[:2])) for word in line.words))
            for place, lines in zip(places, readings, strict=True)
            for line in lines
        ]

    def _mark_text(
        self, pixels: Pixels, part: Corners, pool: ThreadPoolExecutor, limit: float
    ) -> Pixels:
        """Returns the chance that text is there for all pixels inside a part, as 0 to 255.

        Args:
            pixels: the picture.
            part: where to look; elsewhere the chance is 0.
            pool: runs the net.
            limit: most seconds.
        """
        height, width = pixels.shape[:2]
        chances = np.zeros((height, width), dtype=np.uint8)
        tiles = [tile for tile in _list_tiles(width, height) if _clip(tile, part)]
        maps = pool.map(lambda tile: self._mark_tile(pixels, tile), tiles, timeout=limit)
        for tile, marks in zip(tiles, maps, strict=True):
            chances[_slices(tile)] = marks
        inside = np.zeros_like(chances)
        inside[_slices(part)] = chances[_slices(part)]
        return inside

    def _mark_tile(self, pixels: Pixels, tile: Corners) -> Pixels:
        height, width = pixels.shape[:2]
        left, top, right, bottom = tile
        wide = (left - _MARGIN, top - _MARGIN, right + _MARGIN, bottom + _MARGIN)
        around = _clip(wide, (0, 0, width, height)) or tile
        inner = (left - around[0], top - around[1], right - around[0], bottom - around[1])
        part = np.ascontiguousarray(pixels[_slices(around)])
        return self._tiles.get(
            _hash_pixels(part, inner), lambda: open_nets().mark(part)[_slices(inner)].copy()
        )

    def _read_line(self, crop: Image.Image) -> tuple[Line, ...]:
        pixels = np.asarray(crop)
        return self._lines.get(_hash_pixels(pixels, crop.size), lambda: _read_crop(crop))


PP_OCR = PpOcr()


def _hash_pixels(pixels: Pixels, place: Sequence[int]) -> bytes:
    shape = repr((pixels.shape, tuple(place))).encode()
    return hashlib.blake2b(pixels.tobytes(), digest_size=16, key=shape[:64]).digest()


def _list_tiles(width: int, height: int) -> Iterator[Corners]:
    """Yields the tiles of a picture."""
    across, down = _TILE
    for top in range(0, height, down):
        for left in range(0, width, across):
            yield (left, top, min(left + across, width), min(top + down, height))


def _clip(box: Corners, part: Corners) -> Corners | None:
    """Returns what two boxes have in common; None: nothing."""
    left, top = max(box[0], part[0]), max(box[1], part[1])
    right, bottom = min(box[2], part[2]), min(box[3], part[3])
    return (left, top, right, bottom) if left < right and top < bottom else None


def _scale_corners(box: Corners, scale: float) -> Corners:
    """Returns the box on a picture ``scale`` times as large, rounded outwards."""
    return (
        math.floor(box[0] * scale),
        math.floor(box[1] * scale),
        math.ceil(box[2] * scale),
        math.ceil(box[3] * scale),
    )


def _slices(box: Corners) -> tuple[slice, slice]:
    return slice(box[1], box[3]), slice(box[0], box[2])


def _find_boxes(chances: Pixels) -> list[Corners]:
    """Returns boxes around lines of text, grown as PP-OCR grows them.

    Args:
        chances: the chance of text for all pixels, 0 to 255.
    """
    from scipy import ndimage  # heavy

    mask = ndimage.binary_dilation(chances > _MARKED * 255, np.ones((2, 2)))
    labels, _ = ndimage.label(mask, np.ones((3, 3)))
    boxes = []
    for rows, columns in ndimage.find_objects(labels):
        height, width = rows.stop - rows.start, columns.stop - columns.start
        if min(height, width) < _LEAST_SIDE:
            continue
        if chances[rows, columns].mean() < _LEAST_MEAN * 255:
            continue
        by = round(_UNCLIP * height * width / (2 * (height + width)))
        boxes.append((columns.start - by, rows.start - by, columns.stop + by, rows.stop + by))
    return boxes


def _read_crop(crop: Image.Image) -> tuple[Line, ...]:
    """Returns the lines on the picture of one, in its pixels: a wide gap begins another."""
    level = open_nets().read(crop)
    if crop.height >= _UPRIGHT * crop.width:
        turns = (Image.Transpose.ROTATE_90, Image.Transpose.ROTATE_270)
        upright = [open_nets().read(crop.transpose(turn)) for turn in turns]
        surest = max((level, *upright), key=lambda reading: reading.confidence)
        if surest is not level and surest.text:
            word = Word(surest.text, BoundingBox(0, 0, *crop.size), surest.confidence)
            return (Line((word,)),)
    if not level.text:
        return ()
    words = _place_words(level.letters, np.asarray(crop))
    return tuple(split_at_gaps(words, crop.convert("L")))


def _place_words(letters: Sequence[Letter], pixels: Pixels) -> list[Word]:
    """Returns the words of a line: cut at blanks, and where a gap is as wide as the line is high.

    Args:
        letters: the letters and blanks, from left to right.
        pixels: the picture of the line; the words' boxes lie on it.
    """
    ink = _find_ink(pixels)
    top, bottom = _find_extent(np.asarray(ink.any(axis=1)), len(ink) // 2, 0)
    columns = np.asarray(ink[top:bottom].any(axis=0))
    middles = [min(int(letter.place * len(columns)), len(columns) - 1) for letter in letters]
    visible = [at for at, letter in enumerate(letters) if letter.text.strip()]
    tolerance = max(2, (bottom - top) // 4)
    lefts = [_find_extent(columns, middles[visible[0]], tolerance)[0]]
    rights, runs = [], [[letters[visible[0]]]]
    for last, at in itertools.pairwise(visible):
        end, begin = _find_gap(columns, middles[last], middles[at])
        if at - last > 1 or begin - end > bottom - top:
            rights.append(end)
            lefts.append(begin)
            runs.append([])
        runs[-1].append(letters[at])
    rights.append(_find_extent(columns, middles[visible[-1]], tolerance)[1])
    return [
        Word(
            "".join(letter.text for letter in run),
            BoundingBox(left, top, max(right, left + 1), bottom),
            sum(letter.confidence for letter in run) / len(run),
        )
        for left, right, run in zip(lefts, rights, runs, strict=True)
    ]


def _find_ink(pixels: Pixels) -> NDArray[np.bool_]:
    """Returns which pixels differ from the background.

    What lies across most of the picture is a border, or beyond one, and does not count.
    """
    background = np.median(pixels.reshape(-1, 3), axis=0)
    ink: NDArray[np.bool_] = (np.abs(pixels - background) >= EDGE).any(axis=2)
    ink[ink.mean(axis=1) >= _ACROSS] = False
    inner = ink[ink.any(axis=1)]
    if len(inner):
        ink[:, inner.mean(axis=0) >= _ACROSS] = False
    return ink


def _find_extent(ink: NDArray[np.bool_], middle: int, tolerance: int) -> tuple[int, int]:
    """Returns where the ink around a place begins and ends.

    Args:
        ink: where there is ink.
        middle: the place; from it to the nearest ink may be any distance.
        tolerance: pixels without ink that do not end it.
    """
    places = np.flatnonzero(ink)
    if not len(places):
        return 0, len(ink)
    start = int(np.abs(places - middle).argmin())
    breaks = np.flatnonzero(np.diff(places) > tolerance + 1)
    before, after = breaks[breaks < start], breaks[breaks >= start]
    first = places[before[-1] + 1] if len(before) else places[0]
    last = places[after[0]] if len(after) else places[-1]
    return int(first), int(last) + 1


def _find_gap(columns: NDArray[np.bool_], first: int, last: int) -> tuple[int, int]:
    """Returns where the widest gap between two columns begins and ends; if none, their middle."""
    ink = np.flatnonzero(columns[first : last + 1])
    stops = np.concatenate(([-1], ink, [max(last - first, 0) + 1]))
    widths = np.diff(stops) - 1
    widest = int(widths.argmax())
    if widths[widest] <= 0:
        return (first + last) // 2, (first + last + 1) // 2
    return first + int(stops[widest]) + 1, first + int(stops[widest + 1])
