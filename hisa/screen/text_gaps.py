"""Cuts words side by side into lines where a gap is wide or a border is drawn between them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from PIL import Image

from hisa.screen.geometry import BoundingBox
from hisa.screen.ocr import Line, Word

__all__ = ["EDGE", "split_at_gaps"]

EDGE = 24
"""Steps of 255 between neighbouring pixels that make an edge, as for shapes."""
_MIN_GAP = 8
"""Pixels that may lie between two words of a line, however flat they were read."""
_BORDER = 0.15, 0.25
"""Of a capital's height, above it and below its line: the straight part of the side of Chromium's
own buttons, which are 21 pixels high and have round corners, reaches no further."""


def split_at_gaps(words: Sequence[Word], pixels: Image.Image) -> list[Line]:
    """Returns lines: cut where a gap is wider than the words are high, or has a border in it.

    Args:
        words: words side by side, from left to right.
        pixels: the grey picture that their boxes lie on.
    """
    runs: list[list[Word]] = []
    for word in words:
        last = runs[-1][-1].box if runs else None
        gap = max(last.height, word.box.height, _MIN_GAP) if last else 0
        near = last and word.box.left - last.right <= gap
        if last and near and not _is_edge_between(pixels, last, word.box):
            runs[-1].append(word)
        else:
            runs.append([word])
    return [Line(tuple(run)) for run in runs]


def _is_edge_between(pixels: Image.Image, left: BoundingBox, right: BoundingBox) -> bool:
    """Whether a border is drawn between two words: an upright line that is higher than text."""
    first, last = int(left.right), math.ceil(right.left)
    top, line = min(left.top, right.top), min(left.bottom, right.bottom)
    above, below = (share * (line - top) for share in _BORDER)
    if last <= first:
        return False
    corners = (first, max(0, int(top - above)), last, math.ceil(line + below))
    part = np.asarray(pixels.crop(corners), dtype=np.int16)
    return bool((np.abs(np.diff(part, axis=1)) >= EDGE).all(axis=0).any())
