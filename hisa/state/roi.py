"""The region of interest: the part of the screen that an action changed (HiSA, 3.3.1).

A moved pointer and a blinking caret are no change. (The guest imports nothing of HiSA, so it
recognises a caret by itself when it waits for the screen to settle.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PIL import Image, ImageChops, ImageFilter

from hisa.screen.caret import CARET_HEIGHT, CARET_WIDTH
from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Observation, Screenshot

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "UNSEEN",
    "RoiPair",
    "changed_mask",
    "changed_pixels",
    "exact_pair",
    "is_caret",
    "roi_pair",
]
__all__ += ["full_pair", "without_pointer"]

UNSEEN = 2
"""Largest difference of a colour channel (0 to 255) that nobody sees; the faintest highlights have
8."""

_MINIMUM = 64
"""Least width and height of a crop, in image pixels: less has no recognisable content."""
_MARGIN = 8
"""Image pixels added around the changed box."""

_BESIDE = 72
"""Further image pixels added at the left and right: some ten letters."""


_APART = 48
"""Unchanged rows of pixels between two changes that are cropped apart; toolbars have less."""
_MOST_BANDS = 3
"""Most crops of one change: a dialog, a status line and a title bar are three."""
_SAVED = 0.5
"""Changes are cropped apart if they cover at most this share of the box around them all."""


@dataclass(frozen=True, slots=True)
class RoiPair:
    """The changed parts of two pictures.

    ``box`` is exactly what changed. ``shown`` are the boxes that the pictures show, each with a
    margin, one below the other. All are in image space. If the two looks differ in size, the
    pictures are whole.
    """

    box: BoundingBox
    shown: tuple[BoundingBox, ...]
    before: Screenshot
    after: Screenshot


def roi_pair(before: Observation, after: Observation) -> RoiPair | None:
    """Crop both pictures to what changed; None if nothing but pointer or caret did.

    A crop is wider than the change: if "100 €" becomes "500 €", it would show a single digit.
    Changes far above one another are cropped apart: if the title bar and a status line change, one
    box around them would be the whole screen.
    """
    box, mask = _difference(before, after)
    if box is None:
        return None
    parts = [box] if mask is None else _bands(mask, box)
    shown = tuple(_with_margin(part, after.image) for part in parts)
    return _pair(before, after, box, shown)


def full_pair(before: Observation, after: Observation) -> RoiPair | None:
    """Returns both pictures whole; None if nothing but pointer or caret changed."""
    box, _ = _difference(before, after)
    return None if box is None else _pair(before, after, box, (_full_box(after.screenshot),))


def exact_pair(before: Observation, after: Observation) -> RoiPair | None:
    """Crop both pictures to all that differs, pointer and caret too, as in the paper (3.3.1)."""
    old, new = before.screenshot, after.screenshot
    if old.size != new.size:
        return _pair(before, after, _full_box(new), (_full_box(new),))
    changed = changed_pixels(old, new, unseen=0)
    return None if changed is None else _pair(before, after, changed[1], (changed[1],))


def _difference(
    before: Observation, after: Observation
) -> tuple[BoundingBox | None, Image.Image | None]:
    """Returns the box of the visible differences and their mask.

    Looks of different sizes differ everywhere, and have no mask.
    """
    if before.screenshot.size != after.screenshot.size:
        return _full_box(after.screenshot), None
    mask = changed_mask(before, after)
    corners = mask.getbbox() if mask is not None else None
    return (None, None) if corners is None else (BoundingBox(*corners), mask)


def _bands(mask: Image.Image, box: BoundingBox) -> list[BoundingBox]:
    """Returns a box for each of the changes far above one another, if this saves much; else one."""
    import numpy as np

    changed = mask.crop((int(box.left), int(box.top), int(box.right), int(box.bottom)))
    rows = np.flatnonzero(np.asarray(changed).any(axis=1)) + int(box.top)
    gaps = np.diff(rows)
    widest = np.sort(np.argsort(gaps, kind="stable")[::-1][: _MOST_BANDS - 1])
    cuts = [int(at) + 1 for at in widest if gaps[at] > _APART]
    bands = []
    for part in np.split(rows, cuts):
        top, bottom = int(part[0]), int(part[-1]) + 1
        left, _, right, _ = mask.crop((0, top, mask.width, bottom)).getbbox() or (0, 0, 0, 0)
        bands.append(BoundingBox(left, top, right, bottom))
    return bands if sum(band.area for band in bands) <= _SAVED * box.area else [box]


def _pair(
    before: Observation, after: Observation, box: BoundingBox, shown: tuple[BoundingBox, ...]
) -> RoiPair:
    old, new = before.screenshot, after.screenshot
    if shown == (_full_box(new),):
        return RoiPair(box, shown, old, new)
    return RoiPair(box, shown, old.join_parts(shown), new.join_parts(shown))


def changed_mask(before: Observation, after: Observation) -> Image.Image | None:
    """Returns a mask that is white where two looks visibly differ; None if they do not.

    Pointer and caret are left out, and so are the smallest differences of colour: a browser that
    repaints a part may paint single pixels one level lighter.
    """
    difference = changed_pixels(before.screenshot, after.screenshot)
    if difference is None:
        return None
    changed, box = difference  # the rest is black: most of the screen
    mask = Image.new("L", (after.image.width, after.image.height))
    mask.paste(_white(changed), (int(box.left), int(box.top)))
    mask = without_pointer(mask, before, after)
    return None if is_caret(mask) else mask


def changed_pixels(
    before: Screenshot, after: Screenshot, unseen: int = UNSEEN
) -> tuple[NDArray[np.bool_], BoundingBox] | None:
    """Returns the pixels that differ in two pictures, and the box that they are in.

    Args:
        before: a picture.
        after: another one of the same size.
        unseen: largest difference of a colour channel, 0 to 255, that does not count.

    Returns:
        A boolean array of the size of the box, and the box in image pixels; None if no pixel
        differs.
    """
    import numpy as np

    rows = _differing_rows(before, after)
    if rows is None:
        return None
    top, bottom = rows
    row = 3 * before.size.width
    old, new = (
        np.frombuffer(picture.rgb, np.uint8)[row * top : row * bottom].reshape(-1, row)
        for picture in (before, after)
    )
    exact = _box(old != new)
    if exact is None:
        return None
    left, first, right, last = exact  # most of a screen lies outside and is not compared again
    old, new = (part[first:last, 3 * left : 3 * right] for part in (old, new))
    differ = np.maximum(old, new) - np.minimum(old, new) > unseen
    bounds = _box(differ)
    if bounds is None:
        return None
    differ = differ[bounds[1] : bounds[3], 3 * bounds[0] : 3 * bounds[2]]
    right, last = left + bounds[2], first + bounds[3]
    left, first = left + bounds[0], first + bounds[1]
    pixels = differ[:, 0::3] | differ[:, 1::3] | differ[:, 2::3]
    return pixels, BoundingBox(left, top + first, right, top + last)


def _box(differ: NDArray[np.bool_]) -> tuple[int, int, int, int] | None:
    """Returns left, top, right and bottom of the true bytes, in pixels of three bytes each.

    None if no byte is true.
    """
    import numpy as np

    (upright,), (level,) = (np.nonzero(differ.any(axis=axis)) for axis in (0, 1))
    if not upright.size:
        return None
    return int(upright[0]) // 3, int(level[0]), int(upright[-1]) // 3 + 1, int(level[-1]) + 1


def _differing_rows(before: Screenshot, after: Screenshot) -> tuple[int, int] | None:
    """Returns the first row and the one after the last of the stripes that differ; None if none.

    Stripes are compared from the top and from the bottom up to the first difference, since most of
    a screen stays the same.
    """
    import numpy as np

    old, new = (np.frombuffer(picture.rgb, np.uint8) for picture in (before, after))
    step = 3 * before.size.width * _STRIPE
    starts = range(0, len(old), step)

    def differs(at: int) -> bool:
        return not np.array_equal(old[at : at + step], new[at : at + step])

    first = next(filter(differs, starts), None)
    if first is None:
        return None
    last = next(filter(differs, reversed(starts)))
    return first // step * _STRIPE, min(last // step * _STRIPE + _STRIPE, before.size.height)


def _white(changed: NDArray[np.bool_]) -> Image.Image:
    """Returns a picture that is white where the array is true."""
    height, width = changed.shape
    return Image.frombytes("L", (width, height), (changed.view("uint8") * 255).tobytes())


_STRIPE = 16
"""Rows that are compared at once; two such stripes fit into a processor's nearest caches."""


def _full_box(picture: Screenshot) -> BoundingBox:
    return BoundingBox(0, 0, picture.size.width, picture.size.height)


def _with_margin(box: BoundingBox, extent: Size) -> BoundingBox:
    left, right = _widen_range(box.left, box.right, _MARGIN + _BESIDE, extent.width)
    top, bottom = _widen_range(box.top, box.bottom, _MARGIN, extent.height)
    return BoundingBox(left, top, right, bottom)


def _widen_range(start: float, end: float, margin: int, extent: int) -> tuple[int, int]:
    """Returns a range with its margin, at least `_MINIMUM` long and inside 0..``extent``."""
    first, last = int(start) - margin, int(end) + margin
    lack = max(0, _MINIMUM - (last - first))
    first, last = first - lack // 2, last + lack - lack // 2
    # A range pushed over one edge is moved back, so that the crop keeps its size.
    shift = -first if first < 0 else min(0, extent - last)
    return max(0, first + shift), min(extent, last + shift)


_REACH = 40
"""Image pixels around its hot spot within which a pointer is drawn."""
_SHAPE = 20
"""So many equal pixels at both places are a pointer: a small arrow has 60."""
_EDGE = 17
"""Size of the filter that reaches the pointer's outline and shadow, 8 pixels around its shape."""
_ROUNDING = 3
"""Largest difference of a colour channel between two blends of the same pointer, by rounding."""


def is_caret(mask: Image.Image) -> bool:
    """Whether a difference is one vertical line without a gap; letters have gaps or are wider.

    Args:
        mask: white where two looks differ, black elsewhere.
    """
    corners = mask.getbbox()
    if corners is None:
        return False
    width, height = corners[2] - corners[0], corners[3] - corners[1]
    lowest, highest = CARET_HEIGHT
    if width > CARET_WIDTH or not lowest <= height <= highest:
        return False
    return mask.crop(corners).histogram()[0] == 0


def without_pointer(mask: Image.Image, before: Observation, after: Observation) -> Image.Image:
    """Returns the difference of two looks without the pointer.

    If a look has the pixels under its pointer, these are compared. If not, the pointer is found by
    its shape: pixels that are equal at its old and its new place are the pointer's. A pointer that
    changed its shape, as over a text field, is not found so. A change around or beside the pointer
    stays in the mask.

    Args:
        mask: white where the two looks differ.
        before: the first look.
        after: the second look.
    """
    if before.under_pointer or after.under_pointer:
        return _remove_pointers(mask, before, after)
    old, new = _pixel(before), _pixel(after)
    if old is None or new is None or old == new:
        return mask
    places = [_reach(old), _reach(new)]
    drawn = [before.screenshot.pixels.crop(places[0]), after.screenshot.pixels.crop(places[1])]
    under = [after.screenshot.pixels.crop(places[0]), before.screenshot.pixels.crop(places[1])]
    apart = ImageChops.difference(*drawn).convert("RGB").split()
    same = ImageChops.lighter(ImageChops.lighter(*apart[:2]), apart[2]).point([255] + [0] * 255)
    blended = _mask_blend(drawn, under)
    mask = mask.copy()
    # Both are read before either is written: the two places may overlap.
    shapes = [ImageChops.darker(same, mask.crop(place)) for place in places]
    for place, shape in zip(places, shapes, strict=True):
        if shape.histogram()[255] >= _SHAPE:
            near = shape.filter(ImageFilter.MaxFilter(_EDGE))
            mask.paste(0, place[:2], ImageChops.darker(near, blended))
    return mask


def _remove_pointers(mask: Image.Image, before: Observation, after: Observation) -> Image.Image:
    """Returns the difference after both pointers are removed from the pictures."""
    mask = mask.copy()
    for covered in (before.under_pointer, after.under_pointer):
        if covered is None:
            continue
        bare = [_bare(observation, covered.box) for observation in (before, after)]
        apart = ImageChops.difference(*bare).split()
        most = ImageChops.lighter(ImageChops.lighter(apart[0], apart[1]), apart[2])
        place = int(covered.box.left), int(covered.box.top)
        mask.paste(most.point([0] * (UNSEEN + 1) + [255] * (255 - UNSEEN)), place)
    return mask


def _bare(observation: Observation, box: BoundingBox) -> Image.Image:
    """Returns a part of a look without its pointer."""
    part = observation.screenshot.crop(box).pixels.copy()
    if observation.under_pointer:
        at = observation.under_pointer.box
        part.paste(
            observation.under_pointer.picture.pixels,
            (int(at.left - box.left), int(at.top - box.top)),
        )
    return part


def _mask_blend(drawn: Sequence[Image.Image], under: Sequence[Image.Image]) -> Image.Image:
    """Returns a mask: white where one half-transparent picture explains both drawn pictures.

    With opacity a and colour p, both are drawn = (1 - a) * under + a * p. So they differ by the
    factor 1 - a of the difference of their backgrounds, the same in every colour channel.
    """
    import numpy as np  # importing it takes 0.1 s, and most steps do not need it

    top, below = (
        np.asarray(pair[0], np.float32) - np.asarray(pair[1], np.float32) for pair in (drawn, under)
    )
    length = (below * below).sum(axis=2)
    through = np.clip((top * below).sum(axis=2) / np.maximum(length, 1.0), 0.0, 1.0)
    wrong = np.abs(top - through[..., None] * below).max(axis=2)
    return Image.fromarray(np.where(wrong <= _ROUNDING, np.uint8(255), np.uint8(0)))


def _pixel(observation: Observation) -> tuple[int, int] | None:
    """Returns the pointer's place in image pixels; None if it is not known."""
    return (
        None
        if observation.cursor is None
        else observation.convert(observation.cursor, "image").to_pixels()
    )


def _reach(place: tuple[int, int]) -> tuple[int, int, int, int]:
    x, y = place
    return x - _REACH, y - _REACH, x + _REACH, y + _REACH
