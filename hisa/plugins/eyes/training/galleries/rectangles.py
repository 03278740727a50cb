"""Rectangles (left, top, right, bottom) as the galleries report them; needs Python alone."""

from __future__ import annotations

__all__ = ["Rect", "cut", "meet"]

Rect = tuple[float, float, float, float]

_LEAST_HEIGHT = 0.55
"""Of a widget that scrolls out of sight: less shows no line of text."""
_LEAST_WIDTH = 0.25
_ENOUGH = 24
"""Pixels of a large widget that show what it is."""


def meet(first: Rect, second: Rect) -> Rect:
    """Return the intersection of two rectangles; an empty one has no area."""
    left, top = max(first[0], second[0]), max(first[1], second[1])
    return left, top, min(first[2], second[2]), min(first[3], second[3])


def cut(box: Rect, clip: Rect) -> Rect | None:
    """Return the part of a box inside ``clip``; None: too little of it is left."""
    left, top, right, bottom = meet(box, clip)
    across = min(_ENOUGH, _LEAST_WIDTH * (box[2] - box[0]))
    down = min(_ENOUGH, _LEAST_HEIGHT * (box[3] - box[1]))
    if right - left < max(1, across) or bottom - top < max(1, down):
        return None
    return left, top, right, bottom
