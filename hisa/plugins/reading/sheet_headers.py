"""The headers of a spreadsheet's rows and columns, as they are drawn beside its cells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hisa.grounder.thing import Thing
from hisa.plugins.reading.blobs import steps
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["sheet_headers"]

_ADDRESS = re.compile(r"([A-Z]{1,3})([1-9]\d{0,6})")
_LEAST = 6
"""Cells with an address that make a sheet."""
_INK = 60
"""Steps of 255 from the header's colour that make its letter or number."""
_OTHER = 12
"""Steps of 255 between the colours of a marked header and others."""
_WIDE = 64
"""Pixels of the screen left of the first column in which the numbers of rows are looked for."""
_OFF = 2
"""Pixels of the screen by which a strip of headers that is told may lie off the cells."""


@dataclass(frozen=True)
class _Band:
    """The strip of headers in which one may stand, in screen space."""

    name: str
    role: str
    box: BoundingBox
    cell: Thing
    is_told: bool = False
    """The box is the header's own; else it may begin before that."""


def sheet_headers(things: Iterable[Thing], observation: Observation) -> list[Thing]:
    """A header for each row and column of a sheet beside which its name is seen.

    Where the strip of headers is told, they are in it: rows that are frozen may lie between it and
    the cells. Else where the letter or number stands tells how wide it is: it is in the middle.
    """
    things = list(things)
    cells = [
        (match[1], int(match[2]), thing)
        for thing in things
        if thing.role == "table cell" and (match := _ADDRESS.fullmatch(thing.element.name))
    ]
    if len(cells) < _LEAST:
        return []
    left = min(t.box.left for _, _, t in cells)
    top = min(t.box.top for _, _, t in cells)
    heads = {c: t for c, _, t in reversed(cells) if t.box.top <= top + 2}
    rows = {r: t for _, r, t in reversed(cells) if t.box.left <= left + 2}
    panels = [t.box for t in things if t.role == "panel" and not t.element.name]
    over = max((b for b in panels if _is_over(b, left, top)), key=lambda b: b.bottom, default=None)
    beside = next((b for b in panels if _is_beside(b, left, top)), None)
    columns = [
        _Band(name, "table column header", _over(cell.box, over), cell, over is not None)
        for name, cell in heads.items()
    ]
    numbers = [
        _Band(str(number), "table row header", _before(cell.box, beside), cell, beside is not None)
        for number, cell in rows.items()
    ]
    return _seen(columns, observation) + _seen(numbers, observation)


def _is_over(panel: BoundingBox, left: float, top: float) -> bool:
    """Whether a panel may hold the headers of columns that begin at a place."""
    level = abs(panel.left - left) <= _OFF and panel.bottom <= top + _OFF
    return level and panel.height <= _WIDE <= panel.width


def _is_beside(panel: BoundingBox, left: float, top: float) -> bool:
    """Whether a panel may hold the headers of rows that begin at a place."""
    level = abs(panel.right - left) <= _OFF and abs(panel.top - top) <= _OFF
    return level and panel.width <= _WIDE <= panel.height


def _over(cell: BoundingBox, told: BoundingBox | None) -> BoundingBox:
    top, bottom = max(0.0, cell.top - 1.3 * cell.height), cell.top
    if told is not None:
        top, bottom = told.top, told.bottom
    return BoundingBox(cell.left, top, cell.right, bottom, "screen")


def _before(cell: BoundingBox, told: BoundingBox | None) -> BoundingBox:
    left, right = max(0.0, cell.left - _WIDE), cell.left
    if told is not None:
        left, right = told.left, told.right
    return BoundingBox(left, cell.top, right, cell.bottom, "screen")


def _seen(bands: list[_Band], observation: Observation) -> list[Thing]:
    """The headers in which something is written; marked where their colour is not the usual."""
    read = [(band, *ink) for band in bands if (ink := _ink(band, observation))]
    if not read:
        return []
    middle = sorted(at for _, at, _ in read)[len(read) // 2]
    usual = Counter(ground for _, _, ground in read).most_common(1)[0][0]
    return [
        _header(band, _strip(band, middle), is_marked=_differ(ground, usual))
        for band, _, ground in read
    ]


def _strip(band: _Band, middle: float) -> BoundingBox:
    """From the cells to as far beyond the middle, where the toolkit tells no box."""
    box = band.box
    if band.is_told:
        return box
    if band.role == "table column header":
        return BoundingBox(box.left, 2 * middle - box.bottom, box.right, box.bottom, "screen")
    return BoundingBox(max(0.0, 2 * middle - box.right), box.top, box.right, box.bottom, "screen")


_Colour = tuple[int, int, int]


def _differ(one: _Colour, other: _Colour) -> bool:
    return max(abs(a - b) for a, b in zip(one, other, strict=True)) > _OTHER


def _ink(band: _Band, observation: Observation) -> tuple[float, _Colour] | None:
    """The middle of what is written, across the strip and in screen space; the strip's colour."""
    import numpy as np

    at = observation.convert_box(band.box, "image")
    across = band.role == "table column header"
    sides = (round(at.left) + 2, round(at.top) + 2, round(at.right) - 2, round(at.bottom) - 2)
    if sides[2] - sides[0] < 5 or sides[3] - sides[1] < 4:
        return None
    pixels = np.asarray(observation.screenshot.pixels.crop(sides))
    ground = _usual(pixels[-3:] if across else pixels[:, -3:])
    ink = steps(pixels, np.broadcast_to(ground, pixels.shape)) > _INK
    span = _last_run(np.atleast_1d(ink.any(axis=1 if across else 0)))
    if span is None:
        return None
    scale = observation.screen.width / observation.image.width
    middle = ((sides[1] if across else sides[0]) + (span[0] + span[1]) / 2) * scale
    red, green, blue = (int(value) for value in ground)
    return middle, (red, green, blue)


def _usual(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    import numpy as np

    flat = pixels.reshape(-1, 3)
    colours, counts = np.unique(flat, axis=0, return_counts=True)
    usual: NDArray[np.uint8] = colours[counts.argmax()]
    return usual


def _last_run(filled: NDArray[np.bool_]) -> tuple[int, int] | None:
    """Returns begin and end of what is nearest to the cells; digits stand close together."""
    import numpy as np

    on = np.flatnonzero(filled)
    if not on.size or on[-1] >= filled.size - 1:
        return None
    start = on[-1]
    for at in on[::-1]:
        if start - at > 4:
            break
        start = at
    return int(start), int(on[-1]) + 1


def _header(band: _Band, box: BoundingBox, *, is_marked: bool) -> Thing:
    e = band.cell.element
    element = Element(
        band.role,
        band.name,
        box,
        states=frozenset({"selected"} if is_marked else ()),
        app=e.app,
        window=e.window,
        description=f"{'column' if 'column' in band.role else 'row'} {band.name}",
    )
    return Thing(element, box, (), band.cell.front, 0.9)
