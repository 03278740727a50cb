"""The region of interest: the part of the screen that an action changed (HiSA, 3.3.1).

The pointer's own move and a blinking caret are no change; see `hisa.state.screen_noise`.
"""

from __future__ import annotations

from dataclasses import dataclass

from PIL import Image, ImageChops

from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Observation, Screenshot
from hisa.state.screen_noise import UNSEEN, is_caret, without_pointer

__all__ = [
    "MINIMUM_CROP",
    "RoiPair",
    "changed_mask",
    "changed_pixels",
    "exact_pair",
    "roi_pair",
    "whole_pair",
]

MINIMUM_CROP = Size(64, 64)
"""Smallest crop shown to a model, in image pixels: less has no recognisable content."""

_BESIDE = 72
"""More image pixels at either side of a crop: some ten letters."""


@dataclass(frozen=True, slots=True)
class RoiPair:
    """The changed part of two pictures.

    ``box`` is exactly what changed, ``shown`` what the pictures hold, with a margin; both in image
    space. Where the sizes of two looks differ, the pictures are whole.
    """

    box: BoundingBox
    shown: BoundingBox
    before: Screenshot
    after: Screenshot


def roi_pair(
    before: Observation,
    after: Observation,
    *,
    margin: int = 8,
    minimum: Size = MINIMUM_CROP,
) -> RoiPair | None:
    """Both pictures cropped to what changed; None where nothing but pointer or caret did.

    A crop is wider than what changed: of "500 €" that was "100 €" one digit alone would be shown.

    Args:
        before: the look before the action.
        after: the look after it.
        margin: image pixels above and below what changed; beside it there are more.
        minimum: smallest crop; a smaller one is padded, as far as the picture goes.
    """
    old, new = before.screenshot, after.screenshot
    if old.size != new.size:
        return RoiPair(_whole(new), _whole(new), old, new)
    mask = changed_mask(before, after)
    box = _bounds(mask)
    if mask is None or box is None:
        return None
    shown = _with_margin(box, margin, minimum, new.size)
    return RoiPair(box, shown, old.parts((shown,)), new.parts((shown,)))


def whole_pair(before: Observation, after: Observation) -> RoiPair | None:
    """Both pictures as they are; None where nothing but pointer or caret changed."""
    old, new = before.screenshot, after.screenshot
    mask = None if old.size != new.size else changed_mask(before, after)
    box = _whole(new) if old.size != new.size else _bounds(mask)
    if box is None:
        return None
    return RoiPair(box, _whole(new), old, new)


def exact_pair(before: Observation, after: Observation) -> RoiPair | None:
    """Both pictures cropped to all that differs, pointer and caret too, as in the paper (3.3.1)."""
    old, new = before.screenshot, after.screenshot
    if old.size != new.size:
        return RoiPair(_whole(new), _whole(new), old, new)
    box = _bounds(changed_pixels(old, new, unseen=0))
    return None if box is None else RoiPair(box, box, old.parts((box,)), new.parts((box,)))


def changed_mask(before: Observation, after: Observation) -> Image.Image | None:
    """White where the looks are seen to differ in more than pointer and caret; None: nowhere.

    A browser that paints a part anew paints single pixels of it one step lighter.
    """
    mask = changed_pixels(before.screenshot, after.screenshot)
    if mask is None:
        return None
    mask = without_pointer(mask, before, after)
    return None if is_caret(mask) else mask


def changed_pixels(
    before: Screenshot, after: Screenshot, unseen: int = UNSEEN
) -> Image.Image | None:
    """White where two pictures of one size differ by more than ``unseen``; None: nowhere."""
    apart = ImageChops.difference(before.pixels, after.pixels)
    box = apart.getbbox()
    if box is None:
        return None
    red, green, blue = apart.crop(box).split()  # most of a screen stays as it was
    most = ImageChops.lighter(ImageChops.lighter(red, green), blue)
    changed = most.point([0] * (unseen + 1) + [255] * (255 - unseen))
    if changed.getbbox() is None:
        return None
    mask = Image.new("L", apart.size)
    mask.paste(changed, box[:2])
    return mask


def _bounds(mask: Image.Image | None) -> BoundingBox | None:
    corners = mask.getbbox() if mask is not None else None
    return None if corners is None else BoundingBox(*corners)


def _whole(picture: Screenshot) -> BoundingBox:
    return BoundingBox(0, 0, picture.size.width, picture.size.height)


def _with_margin(box: BoundingBox, margin: int, minimum: Size, extent: Size) -> BoundingBox:
    beside = margin + _BESIDE
    left, right = _widened(box.left, box.right, beside, minimum.width, extent.width)
    top, bottom = _widened(box.top, box.bottom, margin, minimum.height, extent.height)
    return BoundingBox(left, top, right, bottom)


def _widened(start: float, end: float, margin: int, minimum: int, extent: int) -> tuple[int, int]:
    """The range with its margin, at least ``minimum`` long and inside 0..``extent``."""
    first, last = int(start) - margin, int(end) + margin
    lack = max(0, minimum - (last - first))
    first, last = first - lack // 2, last + lack - lack // 2
    # A range pushed over one edge is moved back, so that the crop keeps its size.
    shift = -first if first < 0 else min(0, extent - last)
    return max(0, first + shift), min(extent, last + shift)
