"""Outlines of pictures on buttons: a bin, a bell, a house, ..."""

from __future__ import annotations

import math
from collections.abc import Callable

from PIL import Image, ImageDraw

__all__ = ["PLAIN", "outlines"]

PLAIN = "~"
"""Begins the name of an outline that is no picture, but that one may be taken for."""
_SIZE = 96
"""Pixels of either side of an outline."""

Pen = ImageDraw.ImageDraw


def outlines() -> list[tuple[str, Image.Image]]:
    """Names and filled outlines; several of one name are ways to draw it."""
    return [(name, _draw(paint)) for name, paint in _PAINTED]


def _draw(paint: Callable[[Pen], None]) -> Image.Image:
    picture = Image.new("L", (_SIZE, _SIZE))
    paint(ImageDraw.Draw(picture))
    return picture


def _area(pen: Pen, *points: tuple[float, float]) -> None:
    pen.polygon([(x * _SIZE, y * _SIZE) for x, y in points], fill=255)


def _box(pen: Pen, left: float, top: float, right: float, bottom: float) -> None:
    pen.rectangle((left * _SIZE, top * _SIZE, right * _SIZE - 1, bottom * _SIZE - 1), fill=255)


def _oval(pen: Pen, left: float, top: float, right: float, bottom: float) -> None:
    pen.ellipse((left * _SIZE, top * _SIZE, right * _SIZE - 1, bottom * _SIZE - 1), fill=255)


def _bin(pen: Pen) -> None:
    _box(pen, 0.3, 0.0, 0.7, 0.12)
    _box(pen, 0.0, 0.12, 1.0, 0.24)
    _area(pen, (0.1, 0.24), (0.9, 0.24), (0.82, 1.0), (0.18, 1.0))


def _straight_bin(pen: Pen) -> None:
    _box(pen, 0.27, 0.0, 0.73, 0.14)
    _box(pen, 0.0, 0.14, 1.0, 0.3)
    _box(pen, 0.12, 0.3, 0.88, 1.0)


def _open_bin(pen: Pen) -> None:
    _box(pen, 0.32, 0.0, 0.68, 0.1)
    _box(pen, 0.0, 0.08, 1.0, 0.2)
    _area(pen, (0.08, 0.29), (0.92, 0.29), (0.84, 1.0), (0.16, 1.0))


def _bell(pen: Pen) -> None:
    _oval(pen, 0.17, 0.0, 0.83, 0.7)
    _area(pen, (0.17, 0.35), (0.83, 0.35), (0.86, 0.65), (1.0, 0.82), (0.0, 0.82), (0.14, 0.65))
    _oval(pen, 0.36, 0.76, 0.64, 1.0)


def _person(pen: Pen) -> None:
    _oval(pen, 0.24, 0.0, 0.76, 0.52)
    _oval(pen, 0.0, 0.6, 1.0, 1.5)


def _person_in_lines(pen: Pen) -> None:
    _oval(pen, 0.22, 0.0, 0.78, 0.54)
    pen.arc((0.02 * _SIZE, 0.66 * _SIZE, 0.98 * _SIZE, 1.5 * _SIZE), 180, 360, 255, _SIZE // 8)


def _pencil(pen: Pen) -> None:
    _area(pen, (0.0, 1.0), (0.08, 0.68), (0.74, 0.0), (1.0, 0.26), (0.32, 0.92))


def _eye(pen: Pen) -> None:
    upper = [(i / 24, 0.5 - 0.5 * math.sin(math.pi * i / 24)) for i in range(25)]
    _area(pen, *upper, *((x, 1.0 - y) for x, y in reversed(upper)))


def _heart(pen: Pen) -> None:
    _oval(pen, 0.0, 0.0, 0.54, 0.58)
    _oval(pen, 0.46, 0.0, 1.0, 0.58)
    _area(pen, (0.03, 0.4), (0.5, 0.2), (0.97, 0.4), (0.5, 1.0))


def _house(pen: Pen) -> None:
    roof = ((0.5, 0.0), (1.0, 0.48), (0.86, 0.48), (0.86, 1.0))
    _area(pen, *roof, *((1.0 - x, y) for x, y in reversed(roof)))


def _gear(pen: Pen) -> None:
    teeth = []
    for i in range(32):
        turn = 2 * math.pi * (i - 0.5) / 32
        far = 0.5 if i % 4 < 2 else 0.37
        teeth.append((0.5 + far * math.cos(turn), 0.5 + far * math.sin(turn)))
    _area(pen, *teeth)


def _lock(pen: Pen) -> None:
    _box(pen, 0.0, 0.42, 1.0, 1.0)
    _oval(pen, 0.16, 0.0, 0.84, 0.9)


def _funnel(pen: Pen) -> None:
    _area(pen, (0.0, 0.0), (1.0, 0.0), (0.6, 0.5), (0.6, 0.85), (0.4, 1.0), (0.4, 0.5))


def _pin(pen: Pen) -> None:
    _oval(pen, 0.0, 0.0, 1.0, 0.72)
    _area(pen, (0.02, 0.45), (0.98, 0.45), (0.5, 1.0))


def _plane(pen: Pen) -> None:
    _area(pen, (0.5, 0.0), (0.6, 0.35), (1.0, 0.6), (1.0, 0.7), (0.6, 0.6), (0.58, 0.85))
    _area(pen, (0.5, 0.0), (0.4, 0.35), (0.0, 0.6), (0.0, 0.7), (0.4, 0.6), (0.42, 0.85))
    _area(pen, (0.4, 0.3), (0.6, 0.3), (0.58, 0.85), (0.72, 1.0), (0.28, 1.0), (0.42, 0.85))


def _cup(pen: Pen) -> None:
    _area(pen, (0.0, 0.0), (1.0, 0.0), (0.84, 1.0), (0.16, 1.0))


def _diamond(pen: Pen) -> None:
    _area(pen, (0.5, 0.0), (1.0, 0.5), (0.5, 1.0), (0.0, 0.5))


def _slope(pen: Pen) -> None:
    _area(pen, (0.0, 1.0), (0.0, 0.85), (0.85, 0.0), (1.0, 0.0), (1.0, 0.15), (0.15, 1.0))


def _arrow_up(pen: Pen) -> None:
    half = ((0.5, 0.0), (1.0, 0.52), (0.74, 0.52), (0.74, 1.0))
    _area(pen, *half, *((1.0 - x, y) for x, y in reversed(half)))


_PAINTED: tuple[tuple[str, Callable[[Pen], None]], ...] = (
    ("bin", _bin), ("bin", _straight_bin), ("bin", _open_bin), ("bell", _bell), ("person", _person),
    ("person", _person_in_lines), ("pencil", _pencil), ("eye", _eye), ("heart", _heart),
    ("house", _house), ("gear", _gear), ("padlock", _lock), ("funnel", _funnel), ("pin", _pin),
    ("plane", _plane), (f"{PLAIN}arrow up", _arrow_up), (f"{PLAIN}cup", _cup),
    (f"{PLAIN}diamond", _diamond), (f"{PLAIN}slope", _slope),
    (f"{PLAIN}block", lambda pen: _box(pen, 0.0, 0.0, 1.0, 1.0)),
    (f"{PLAIN}disc", lambda pen: _oval(pen, 0.0, 0.0, 1.0, 1.0)),
    (f"{PLAIN}triangle up", lambda pen: _area(pen, (0.0, 1.0), (1.0, 1.0), (0.5, 0.0))),
    (f"{PLAIN}triangle down", lambda pen: _area(pen, (0.0, 0.0), (1.0, 0.0), (0.5, 1.0))),
    (f"{PLAIN}half", lambda pen: _area(pen, (0.0, 1.0), (1.0, 1.0), (1.0, 0.0))),
)  # fmt: skip
