"""Small compact shapes on a picture: what icons, arrows, ticks and handles look like."""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hisa.plugins.reading.glyphs import Glyph, recognise
from hisa.screen.colours import colour_word
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Screenshot

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]
    Soft = NDArray[np.floating[Any]]

__all__ = ["Blob", "Sides", "find_blobs", "look_at_boxes", "measure_steps"]

Sides = tuple[int, int, int, int]
"""Left, top, right, bottom; the last two exclusive."""
_EDGE = 24
"""Steps of 255 between neighbouring pixels that make an edge."""
_LARGEST, _SMALLEST = 48, 3
"""Pixels of either side of a shape."""
_MOST = 3_000
"""Shapes of one picture; more than these are a photograph."""
_FAINT = 28
"""Steps of 255 from its background that make a shape."""
_RIM = 0.82
"""How much of its rim a frame or a filled box covers."""


@dataclass(frozen=True)
class Blob:
    """A shape; ``box`` in the pixels of the picture.

    ``glyph`` is what it is, or what stands in it where ``framed`` tells that it is a small box
    or disc around something. ``colour`` is the word for its colour.
    """

    box: BoundingBox
    glyph: Glyph
    framed: bool = False
    colour: str = ""


_known: weakref.WeakKeyDictionary[Screenshot, tuple[Blob, ...]] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def find_blobs(screenshot: Screenshot) -> tuple[Blob, ...]:
    """The shapes on a picture, looked for once. Call it from a thread: some 0.1 s."""
    with _lock:
        blobs = _known.get(screenshot)
        if blobs is None:
            blobs = _known[screenshot] = _find(screenshot)
    return blobs


def _find(screenshot: Screenshot) -> tuple[Blob, ...]:
    import numpy as np

    pixels = np.asarray(screenshot.pixels)
    boxes = _without_words(pixels, _with_triples(_find_compact(pixels)))
    boxes = [box for box in boxes if not _is_word(box)][:_MOST]
    return _keep_outermost(look_at_boxes(pixels, boxes))


def look_at_boxes(pixels: Pixels, boxes: list[Sides]) -> list[Blob]:
    """The shapes in boxes of a picture, each with some of its background around it."""
    signs = [_look(pixels, box) for box in boxes]
    glyphs = recognise([s.sign for s in signs])
    return [
        Blob(_box(s.box), _name_empty(s) or glyph, s.framed, s.colour)
        for s, glyph in zip(signs, glyphs, strict=True)
    ]


def _keep_outermost(blobs: list[Blob]) -> tuple[Blob, ...]:
    """Without what stands in a frame: the frame tells of it."""
    import numpy as np

    frames = [b.box for b in blobs if b.framed]
    sides = np.array([(f.left, f.top, f.right, f.bottom, f.area) for f in frames]).reshape(-1, 5)
    outer = []
    for blob in blobs:
        at = blob.box.centre
        across = (sides[:, 0] <= at.x) & (at.x < sides[:, 2])
        down = (sides[:, 1] <= at.y) & (at.y < sides[:, 3])
        if not (across & down & (blob.box.area < sides[:, 4])).any():
            outer.append(blob)
    return tuple(outer)


def _name_empty(sign: _Sign) -> Glyph | None:
    return Glyph("square", 0.9) if sign.empty and sign.framed else None


def _box(sides: Sides) -> BoundingBox:
    left, top, right, bottom = sides
    return BoundingBox(left, top, right, bottom)


# ---------------------------------------------------------------- shapes by their edges


def _find_compact(pixels: Pixels) -> list[Sides]:
    """The boxes of edges that hang together and are small; frames tell themselves by their rim."""
    import numpy as np
    from scipy import ndimage

    edges = np.zeros(pixels.shape[:2], dtype=bool)
    across = measure_steps(pixels[:, 1:], pixels[:, :-1]) > _EDGE
    edges[:, 1:] |= across
    edges[:, :-1] |= across
    down = measure_steps(pixels[1:], pixels[:-1]) > _EDGE
    edges[1:] |= down
    edges[:-1] |= down
    labels, _ = ndimage.label(edges, structure=np.ones((3, 3), dtype=int))
    boxes = []
    for rows, columns in ndimage.find_objects(labels):
        height, width = rows.stop - rows.start, columns.stop - columns.start
        if min(height, width) >= _SMALLEST and max(height, width) <= _LARGEST:
            boxes.append((columns.start, rows.start, columns.stop, rows.stop))
    return boxes


def measure_steps(pixels: Pixels, other: Pixels) -> Pixels:
    """The largest difference of the three colours, for each pixel."""
    import numpy as np

    far = np.maximum(pixels, other) - np.minimum(pixels, other)
    most: Pixels = np.maximum(np.maximum(far[..., 0], far[..., 1]), far[..., 2])
    return most


def _with_triples(boxes: list[Sides]) -> list[Sides]:
    """Three dots in a row or a column as one shape, and three lines above each other."""
    small = {((b[0] + b[2]) // 2, (b[1] + b[3]) // 2): b for b in boxes if _is_dash(b)}
    joined: dict[Sides, tuple[Sides, Sides, Sides]] = {}
    for (x, y), first in small.items():
        wide, high = first[2] - first[0], first[3] - first[1]
        for step in range(high, 3 * high + 1):
            steps_on = [(0, step), (step, 0)] if wide <= 1.5 * high else [(0, step)]
            for across, down in steps_on:
                second = _find_near(small, x + across, y + down, first)
                third = _find_near(small, x + 2 * across, y + 2 * down, first) if second else None
                if second and third:
                    joined_box = (first[0], first[1], third[2], third[3])
                    joined.setdefault(joined_box, (first, second, third))
    alone = [w for w in joined if not _goes_on(w, joined[w], boxes)]
    parts = {part for joined_box in alone for part in joined[joined_box]}
    return [box for box in boxes if box not in parts] + alone


def _is_dash(box: Sides) -> bool:
    width, height = box[2] - box[0], box[3] - box[1]
    return height <= 8 and (width <= 8 or 2 * height < width <= _LARGEST / 1.5)


def _find_near(small: dict[tuple[int, int], Sides], x: int, y: int, like: Sides) -> Sides | None:
    """The small shape there, or a pixel aside, of the same size."""
    for at in ((x, y), (x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
        box = small.get(at)
        if box and box != like and _size_difference(box, like) <= 1:
            return box
    return None


def _size_difference(first: Sides, second: Sides) -> int:
    return max(abs((first[2 + i] - first[i]) - (second[2 + i] - second[i])) for i in (0, 1))


def _goes_on(joined_box: Sides, parts: tuple[Sides, ...], boxes: list[Sides]) -> bool:
    """Whether more stands close on the same line or in the same column: text, or a pattern."""
    gap = max(joined_box[2] - joined_box[0], joined_box[3] - joined_box[1]) // 2 + 2
    across = joined_box[2] - joined_box[0] >= joined_box[3] - joined_box[1]
    for box in boxes:
        if box in parts:
            continue
        beside = box[1] < joined_box[3] and box[3] > joined_box[1]
        stacked = box[0] < joined_box[2] and box[2] > joined_box[0]
        if across and beside and box[0] < joined_box[2] + gap and box[2] > joined_box[0] - gap:
            return True
        if not across and stacked and box[1] < joined_box[3] + gap and box[3] > joined_box[1] - gap:
            return True
    return False


def _without_words(pixels: Pixels, boxes: list[Sides]) -> list[Sides]:
    """Without letters: shapes that stand close beside others of about their height."""
    cells: dict[tuple[int, int], list[Sides]] = {}
    for box in boxes:
        for row in range(box[1] // _CELL, (box[3] - 1) // _CELL + 1):
            cells.setdefault((box[0] // _CELL, row), []).append(box)
    letters: set[Sides] = set()
    for box in boxes:
        for other in _find_right_of(box, cells):
            if not (_is_frame(pixels, box) or _is_frame(pixels, other)):
                letters |= {box, other}
    return [box for box in boxes if box not in letters]


def _is_word(box: Sides) -> bool:
    """Letters that run into one another are much wider than high."""
    width, height = box[2] - box[0], box[3] - box[1]
    return height > _LINE and width > 3.3 * height


_LINE = 6
"""Pixels; what is as high as this and wide is a line."""
_CELL = 16
"""Pixels of the squares in which neighbours are looked for."""


def _find_right_of(box: Sides, cells: dict[tuple[int, int], list[Sides]]) -> list[Sides]:
    _left, top, right, bottom = box
    high = bottom - top
    reach = int(0.12 * high)
    neighbours = []
    for column in range((right - 2) // _CELL, (right + reach) // _CELL + 1):
        for row in range(top // _CELL, (bottom - 1) // _CELL + 1):
            for other in cells.get((column, row), ()):
                shared = min(bottom, other[3]) - max(top, other[1])
                low, tall = sorted((high, other[3] - other[1]))
                close = -2 <= other[0] - right <= reach and other is not box
                if close and shared >= 0.6 * low and tall <= 2.2 * low:
                    neighbours.append(other)
    return neighbours


def _is_frame(pixels: Pixels, box: Sides) -> bool:
    if min(box[2] - box[0], box[3] - box[1]) < 9:
        return False
    return _look(pixels, box).framed


# ---------------------------------------------------------------- one shape


@dataclass(frozen=True)
class _Sign:
    box: Sides
    sign: Soft
    framed: bool
    empty: bool
    colour: str


def _look(pixels: Pixels, box: Sides) -> _Sign:
    """The sign against its background, and the sign in it where it is a frame."""
    left, top, right, bottom = box
    part = pixels[top:bottom, left:right]
    mask = _against(part, _ring(part))
    rows, columns = _find_extent(mask)
    tight = (left + columns.start, top + rows.start, left + columns.stop, top + rows.stop)
    sign, colour = mask[rows, columns], _colour(part[rows, columns], mask[rows, columns])
    if min(sign.shape) >= 8 and _rim(sign) >= _RIM:
        inside = part[rows, columns][2:-2, 2:-2]
        inner = _against(inside, _ring(inside))
        if (own := _colour(inside, inner)) not in ("", "black", "grey", "white"):
            colour = own
        rows, columns = _find_extent(inner)
        return _Sign(tight, inner[rows, columns], True, not inner.any(), colour)
    return _Sign(tight, sign, False, not sign.any(), colour)


def _ring(part: Pixels) -> Pixels:
    """The usual colour of the pixels along the edges."""
    import numpy as np

    edge = np.concatenate([part[0], part[-1], part[:, 0], part[:, -1]])
    usual: Pixels = np.sort(edge, axis=0)[len(edge) // 2]
    return usual


def _against(part: Pixels, ground: Pixels) -> Soft:
    """0..1: how far each pixel is from the background, as a share of the furthest."""
    import numpy as np

    far = measure_steps(part, np.broadcast_to(ground, part.shape)).astype(np.float32)
    most = float(far.max(initial=0.0))
    # What is clearly not background counts in full, whatever its shading.
    return np.minimum(1.0, far / (0.7 * most)) if most >= _FAINT else np.zeros_like(far)


def _find_extent(mask: Soft) -> tuple[slice, slice]:
    """The rows and columns that the sign takes; everything where there is none."""
    import numpy as np

    strong = mask > 0.3
    rows, columns = np.flatnonzero(strong.any(axis=1)), np.flatnonzero(strong.any(axis=0))
    if not rows.size:
        return slice(0, mask.shape[0]), slice(0, mask.shape[1])
    return slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)


def _rim(sign: Soft) -> float:
    """Returns the share of the edge that is covered; corners may be round."""
    sides = (sign[0, 2:-2], sign[-1, 2:-2], sign[2:-2, 0], sign[2:-2, -1])
    return min(float((side > 0.4).mean()) for side in sides)


def _colour(part: Pixels, mask: Soft) -> str:
    """The word for the colour of a sign; black, white and grey are colours too."""
    import numpy as np

    if not mask.any():
        return ""
    red, green, blue = np.median(part[mask > 0.6], axis=0) / 255
    return colour_word(float(red), float(green), float(blue))
