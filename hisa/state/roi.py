"""The region of interest: the smallest box around every pixel that changed (HiSA, 3.3.1)."""

from __future__ import annotations

from dataclasses import dataclass

from PIL import ImageChops

from hisa.geometry import Box, Size
from hisa.observation import Screenshot

__all__ = ["MINIMUM_CROP", "RoiPair", "changed_box", "roi_pair", "whole_pair"]

MINIMUM_CROP = Size(64, 64)
"""Smallest crop shown to a model, in image pixels: less has no recognisable content."""


@dataclass(frozen=True, slots=True)
class RoiPair:
    """The changed part of two pictures.

    ``box`` is exactly what changed and ``shown`` what the crops hold (``box`` with a margin), both
    in image space. Where the sizes differ, the crops are the whole pictures.
    """

    box: Box
    shown: Box
    before: Screenshot
    after: Screenshot


def changed_box(before: Screenshot, after: Screenshot) -> Box | None:
    """The smallest image-space box with every pixel that differs; None where none does.

    Pictures of different sizes differ as a whole: the box is the whole of ``after``.
    """
    if before.size != after.size:
        return _whole(after)
    corners = ImageChops.difference(before.pixels, after.pixels).getbbox()
    return None if corners is None else Box(*corners)


def roi_pair(
    before: Screenshot,
    after: Screenshot,
    *,
    margin: int = 8,
    minimum: Size = MINIMUM_CROP,
) -> RoiPair | None:
    """Both pictures cropped to what changed; None where nothing did.

    Args:
        before: the picture before the action.
        after: the picture after it.
        margin: image pixels around the changed box.
        minimum: smallest crop; smaller boxes are padded, as far as the picture goes.
    """
    box = changed_box(before, after)
    if box is None:
        return None
    if before.size != after.size:
        return RoiPair(box, _whole(after), before, after)
    left, right = _widened(box.left, box.right, margin, minimum.width, after.size.width)
    top, bottom = _widened(box.top, box.bottom, margin, minimum.height, after.size.height)
    shown = Box(left, top, right, bottom)
    return RoiPair(box, shown, before.crop(shown), after.crop(shown))


def whole_pair(before: Screenshot, after: Screenshot) -> RoiPair | None:
    """Both pictures as they are; None where nothing changed."""
    box = changed_box(before, after)
    return None if box is None else RoiPair(box, _whole(after), before, after)


def _whole(picture: Screenshot) -> Box:
    return Box(0, 0, picture.size.width, picture.size.height)


def _widened(start: float, end: float, margin: int, minimum: int, extent: int) -> tuple[int, int]:
    """The range with its margin, at least ``minimum`` long and inside 0..``extent``."""
    first, last = int(start) - margin, int(end) + margin
    lack = max(0, minimum - (last - first))
    first, last = first - lack // 2, last + lack - lack // 2
    # A range pushed over one edge is moved back, so that the crop keeps its size.
    shift = -first if first < 0 else min(0, extent - last)
    return max(0, first + shift), min(extent, last + shift)
