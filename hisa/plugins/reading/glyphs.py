"""The simplest signs of interfaces, recognised by their shape: crosses, triangles, stars, ..."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from PIL import Image, ImageDraw, ImageFont

from hisa.plugins.reading.pictograms import PLAIN, outlines

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Soft = NDArray[np.floating[Any]]
    """How much each pixel belongs to the sign, 0..1."""

__all__ = ["GRID", "Glyph", "recognise"]

GRID = 16
"""Signs are compared at this size, whatever their own."""
_DRAWN = 96
"""Pixels of a template before it is brought to `GRID`."""
_LIKE = 0.8
"""Correlation from which a sign is taken to be one."""
_CLEAR = 0.05
"""How much better it must be than the next one that means something else."""
_LESS_LIKE, _QUITE_CLEAR = 0.7, 0.25
"""The same of a coarse sign that is like nothing else."""
_NARROW, _WIDE = 0.55, 1.8
"""Width by height within which a sign looks like itself."""

_LIKE_PICTURE = 0.84
"""Correlation from which an outline is taken to be a picture's."""
_PLAINLY = 0.88
"""Correlation from which a sign is no picture that only looks like it."""
_FINE = 8
"""Pixels; a smaller picture has no outline of its own."""
_COARSE = 5
"""Pixels; a sign that is smaller in both ways looks like any other."""

Line = tuple[tuple[float, float], ...]
_STROKES = (0.1, 0.16, 0.24, 0.34, 0.46)
_LINES: dict[str, tuple[tuple[Line, ...], ...]] = {
    "cross": ((((0.0, 0.0), (1.0, 1.0)), ((0.0, 1.0), (1.0, 0.0))),),
    "plus": ((((0.5, 0.0), (0.5, 1.0)), ((0.0, 0.5), (1.0, 0.5))),),
    "check": (
        (((0.0, 0.55), (0.36, 0.95), (1.0, 0.05)),),
        (((0.0, 0.5), (0.4, 0.9), (1.0, 0.1)),),
    ),
    "chevron down": ((((0.0, 0.1), (0.5, 0.9), (1.0, 0.1)),),),
    "chevron up": ((((0.0, 0.9), (0.5, 0.1), (1.0, 0.9)),),),
    "chevron right": ((((0.1, 0.0), (0.9, 0.5), (0.1, 1.0)),),),
    "chevron left": ((((0.9, 0.0), (0.1, 0.5), (0.9, 1.0)),),),
    "square": ((((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0), (0.0, 0.0)),),),
    "arrow right": ((((0.0, 0.5), (1.0, 0.5)), ((0.55, 0.05), (1.0, 0.5), (0.55, 0.95))),),
    "arrow left": ((((0.0, 0.5), (1.0, 0.5)), ((0.45, 0.05), (0.0, 0.5), (0.45, 0.95))),),
    "arrow up": ((((0.5, 0.0), (0.5, 1.0)), ((0.05, 0.45), (0.5, 0.0), (0.95, 0.45))),),
    "arrow down": ((((0.5, 0.0), (0.5, 1.0)), ((0.05, 0.55), (0.5, 1.0), (0.95, 0.55))),),
}
_BLOCK_ARROW: Line = (
    *((0.0, 0.5), (0.52, 0.0), (0.52, 0.27), (1.0, 0.27)),
    *((1.0, 0.73), (0.52, 0.73), (0.52, 1.0)),
)
"""A thick arrow from its point on: how far along, and how far across."""
_WAYS: dict[str, Callable[[float, float], tuple[float, float]]] = {
    "left": lambda along, off: (along, off),
    "right": lambda along, off: (1.0 - along, off),
    "up": lambda along, off: (off, along),
    "down": lambda along, off: (off, 1.0 - along),
}
_FILLED: dict[str, Line] = {
    "triangle down": ((0.0, 0.0), (1.0, 0.0), (0.5, 1.0)),
    "triangle up": ((0.0, 1.0), (1.0, 1.0), (0.5, 0.0)),
    "triangle right": ((0.0, 0.0), (1.0, 0.5), (0.0, 1.0)),
    "triangle left": ((1.0, 0.0), (0.0, 0.5), (1.0, 1.0)),
    "block": ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)),
    **{
        f"arrow {way}": tuple(point(along, off) for along, off in _BLOCK_ARROW)
        for way, point in _WAYS.items()
    },
}

_LETTERS = "ABDEFGHKLMNPQRSTUWYZ2345679"
"""What may be taken for a sign; other letters and numbers are drawn as one."""


@dataclass(frozen=True)
class Glyph:
    """A sign and how surely it is one, 0..1; an empty name is none of the signs known."""

    name: str = ""
    sure: float = 0.0


def recognise(signs: Sequence[Soft]) -> list[Glyph]:
    """Name each of the signs; each is cut at its edges.

    Args:
        signs: any sizes, higher than 0 where the sign is.
    """
    glyphs = _compare(signs, _templates())
    unclear = [
        i
        for i, glyph in enumerate(glyphs)
        if glyph.sure < _PLAINLY and min(signs[i].shape) >= _FINE
    ]
    pictures = _compare([_fill_holes(signs[i]) for i in unclear], _outlines(), picture=True)
    for i, picture in zip(unclear, pictures, strict=True):
        if picture.sure > glyphs[i].sure:
            glyphs[i] = picture
    return glyphs


@dataclass(frozen=True)
class _Templates:
    names: tuple[str, ...]
    starts: list[int]
    """Where the templates of each name begin."""
    drawn: Soft


def _compare(signs: Sequence[Soft], known: _Templates, *, picture: bool = False) -> list[Glyph]:
    import numpy as np

    if not signs:
        return []
    products = np.stack([_normal(sign) for sign in signs]) @ known.drawn.T
    likeness = np.maximum.reduceat(products, known.starts, axis=1)
    order = np.argsort(likeness, axis=1)[:, :-3:-1]
    best = np.take_along_axis(likeness, order, axis=1)
    judge = _judge_picture if picture else _judge
    return [
        judge(sign, known.names[first], float(like), float(next_like))
        for sign, (first, _), (like, next_like) in zip(signs, order, best, strict=True)
    ]


def _judge_picture(sign: Soft, name: str, like: float, next_like: float) -> Glyph:
    """The same for a picture by its outline."""
    height, width = sign.shape
    shape = _NARROW <= width / height <= _WIDE
    if name.startswith(PLAIN) or not shape or like < _LIKE_PICTURE or like - next_like < _CLEAR:
        return Glyph()
    return Glyph(name, like)


def _fill_holes(sign: Soft) -> Soft:
    """A sign with what its lines enclose."""
    import numpy as np
    from scipy import ndimage

    filled = ndimage.binary_fill_holes(sign > 0.4)
    rows, columns = np.flatnonzero(filled.any(axis=1)), np.flatnonzero(filled.any(axis=0))
    if not rows.size:
        return sign
    cut: Soft = filled[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].astype(np.float32)
    return cut


def _judge(sign: Soft, name: str, like: float, next_like: float) -> Glyph:
    """The best template and how much the sign is like it, and like the next best."""
    height, width = sign.shape
    if max(height, width) < _COARSE:
        return Glyph()
    if plain := _bar(sign, width / height) or _find_triple(sign):
        return plain
    square = _NARROW <= width / height <= _WIDE
    turned = name.startswith(("triangle", "chevron")) and 1 / 3 <= width / height <= 3
    clear = (like >= _LIKE and like - next_like >= _CLEAR) or (
        like >= _LESS_LIKE and like - next_like >= _QUITE_CLEAR
    )
    known = clear and (square or turned) and not name.startswith(PLAIN)
    return Glyph(name, like) if known else Glyph()


def _bar(sign: Soft, shape: float) -> Glyph | None:
    """A line across or down fills its box."""
    full = float(sign.mean())
    if full < 0.8 or 1 / 2 < shape < 2:
        return None
    return Glyph("minus" if shape >= 2 else "bar", full)


def _find_triple(sign: Soft) -> Glyph | None:
    """Three dots, or three lines one above the other."""
    height, width = sign.shape
    if min(height, width) < 2 or max(height, width) < 7:
        return None
    if height < 2.2 * width:
        full = sign.mean(axis=1)
        lines = _runs(full)
        crisp = not ((full > 0.12) & (full < 0.75)).any() and sum(lines) < 0.75 * height
        return Glyph("three lines", 0.9) if len(lines) == 3 and _even(lines) and crisp else None
    if max(height, width) < 2.2 * min(height, width):
        return None
    dots = _runs(sign.max(axis=0 if width > height else 1))
    if len(dots) == 3 and _even(dots) and max(dots) <= 1.6 * min(height, width):
        return Glyph("three dots", 0.9)
    return None


def _runs(profile: Soft) -> list[int]:
    """The lengths of what is more than half as strong as the strongest."""
    strong = [value > 0.6 * float(profile.max()) for value in profile.tolist()]
    return [sum(1 for _ in run) for is_on, run in groupby(strong) if is_on]


def _even(lengths: list[int]) -> bool:
    return max(lengths) - min(lengths) <= 1


def _normal(sign: Soft) -> Soft:
    """A sign in the common size, with mean 0 and length 1."""
    import numpy as np

    picture = Image.fromarray(sign.astype(np.float32), "F")
    small = np.asarray(picture.resize((GRID, GRID), Image.Resampling.BOX))
    # A pixel up or down is the same sign.
    padded = np.pad(small, 1, mode="edge")
    soft: Soft = (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]) / 8
    flat: Soft = (soft + small / 2).ravel()
    flat = flat - flat.mean()
    length = float(np.linalg.norm(flat))
    scaled: Soft = flat / max(length, 1e-6)
    return scaled


@cache
def _templates() -> _Templates:
    """The signs that are known, each in several weights."""
    drawn = [
        (name, _draw_strokes(lines, stroke))
        for name, ways in _LINES.items()
        for lines in ways
        for stroke in _STROKES
    ]
    drawn += [(name, _polygon(points)) for name, points in _FILLED.items()]
    for ratio in (0.38, 0.45, 0.52):
        drawn.append(("star", _polygon(_star(ratio))))
        drawn.append(("star", _draw_outline(_star(ratio))))
    for stroke in _STROKES[:3]:
        drawn += [("magnifier", _magnifier(stroke, lens)) for lens in (0.62, 0.7, 0.8)]
        drawn.append(("ring", _disc(stroke)))
    drawn.append(("disc", _disc(0.5)))
    drawn += [(f"{PLAIN}{letter}", _letter(letter)) for letter in _LETTERS]
    return _prepare(drawn)


@cache
def _outlines() -> _Templates:
    return _prepare(outlines())


def _prepare(drawn: list[tuple[str, Image.Image]]) -> _Templates:
    import numpy as np

    drawn = sorted(drawn, key=lambda pair: pair[0])  # those of one name follow one another
    masks = [_normal(np.asarray(_cut(picture)).astype(np.float32) / 255) for _, picture in drawn]
    names = [name for name, _ in drawn]
    starts = [i for i, name in enumerate(names) if name not in names[:i]]
    return _Templates(tuple(dict.fromkeys(names)), starts, np.stack(masks))


def _canvas() -> tuple[Image.Image, ImageDraw.ImageDraw]:
    picture = Image.new("L", (2 * _DRAWN, 2 * _DRAWN))
    return picture, ImageDraw.Draw(picture)


def _at(points: Line) -> list[tuple[float, float]]:
    return [(_DRAWN / 2 + x * _DRAWN, _DRAWN / 2 + y * _DRAWN) for x, y in points]


def _cut(picture: Image.Image) -> Image.Image:
    return picture.crop(picture.getbbox())


def _draw_strokes(lines: Sequence[Line], stroke: float) -> Image.Image:
    picture, pen = _canvas()
    for line in lines:
        pen.line(_at(line), fill=255, width=round(stroke * _DRAWN), joint="curve")
    return picture


def _letter(letter: str) -> Image.Image:
    picture, pen = _canvas()
    pen.text((0, 0), letter, fill=255, font=ImageFont.load_default(_DRAWN))
    return picture


def _polygon(points: Line) -> Image.Image:
    picture, pen = _canvas()
    pen.polygon(_at(points), fill=255)
    return picture


def _draw_outline(points: Line) -> Image.Image:
    picture, pen = _canvas()
    pen.line(_at((*points, points[0], points[1])), fill=255, width=_DRAWN // 10, joint="curve")
    return picture


def _star(ratio: float) -> Line:
    corners = [
        (math.sin(i * math.pi / 5), -math.cos(i * math.pi / 5), 1.0 if i % 2 == 0 else ratio)
        for i in range(10)
    ]
    return tuple((0.5 + x * far / 2, 0.5 + y * far / 2) for x, y, far in corners)


def _disc(stroke: float) -> Image.Image:
    picture, pen = _canvas()
    (left, top), (right, bottom) = _at(((0.0, 0.0), (1.0, 1.0)))
    if stroke >= 0.5:
        pen.ellipse((left, top, right, bottom), fill=255)
    else:
        pen.ellipse((left, top, right, bottom), outline=255, width=round(stroke * _DRAWN))
    return picture


def _magnifier(stroke: float, lens: float) -> Image.Image:
    picture, pen = _canvas()
    (left, top), (right, bottom) = _at(((0.0, 0.0), (lens, lens)))
    width = round(stroke * _DRAWN)
    pen.ellipse((left, top, right, bottom), outline=255, width=width)
    pen.line(_at(((0.83 * lens, 0.83 * lens), (1.0, 1.0))), fill=255, width=width)
    return picture
