"""The region of interest: the part of the screen that an action changed (HiSA, 3.3.1).

The pointer's own move and a blinking caret are no change. The guest, which stands alone, keeps its
own measure of a caret for the time until a screen settles.
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
"""Steps of 256, of red, green or blue, that nobody sees; the faintest highlights have 8."""

_MINIMUM = 64
"""Sides of the smallest crop, in image pixels: less has no recognisable content."""
_MARGIN = 8
"""Image pixels around what changed."""

_BESIDE = 72
"""More image pixels at either side of a crop: some ten letters."""


_APART = 48
"""Unchanged rows of pixels between two changes that are shown apart; a toolbar's gaps are less."""
_MOST_BANDS = 3
"""Changes shown apart at most: a dialog, a status line and a title bar are three."""
_SAVED = 0.5
"""Changes are shown apart if they cover at most this share of the box around them all."""


@dataclass(frozen=True, slots=True)
class RoiPair:
    """The changed parts of two pictures.

    ``box`` is exactly what changed, ``shown`` what the pictures hold, one part below the other,
    each with a margin; all in image space. If the sizes of two looks differ, the pictures are
    whole.
    """

    box: BoundingBox
    shown: tuple[BoundingBox, ...]
    before: Screenshot
    after: Screenshot


def roi_pair(before: Observation, after: Observation) -> RoiPair | None:
    """Both pictures cropped to what changed; None where nothing but pointer or caret did.

    A crop is wider than what changed: of "500 €" that was "100 €" one digit alone would be shown.
    Changes far above one another are cropped apart: a status line and a title bar otherwise take
    the whole screen along.
    """
    box, mask = _difference(before, after)
    if box is None:
        return None
    parts = [box] if mask is None else _bands(mask, box)
    shown = tuple(_with_margin(part, after.image) for part in parts)
    return _pair(before, after, box, shown)


def full_pair(before: Observation, after: Observation) -> RoiPair | None:
    """Both pictures as they are; None where nothing but pointer or caret changed."""
    box, _ = _difference(before, after)
    return None if box is None else _pair(before, after, box, (_full_box(after.screenshot),))


def exact_pair(before: Observation, after: Observation) -> RoiPair | None:
    """Both pictures cropped to all that differs, pointer and caret too, as in the paper (3.3.1)."""
    old, new = before.screenshot, after.screenshot
    if old.size != new.size:
        return _pair(before, after, _full_box(new), (_full_box(new),))
    changed = changed_pixels(old, new, unseen=0)
    return None if changed is None else _pair(before, after, changed[1], (changed[1],))


def _difference(
    before: Observation, after: Observation
) -> tuple[BoundingBox | None, Image.Image | None]:
    """The box of what is seen to differ, and its mask; two sizes differ everywhere, without one."""
    if before.screenshot.size != after.screenshot.size:
        return _full_box(after.screenshot), None
    mask = changed_mask(before, after)
    corners = mask.getbbox() if mask is not None else None
    return (None, None) if corners is None else (BoundingBox(*corners), mask)


def _bands(mask: Image.Image, box: BoundingBox) -> list[BoundingBox]:
    """The exact boxes of changes far above one another, if they show much less; else ``box``."""
    import numpy as np

    rows = np.flatnonzero(np.asarray(mask).any(axis=1))
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
    """White where the looks are seen to differ in more than pointer and caret; None: nowhere.

    A browser that paints a part anew paints single pixels of it one step lighter.
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
    """The pixels that differ by more than ``unseen`` in two pictures of one size, in their box."""
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
    left, first, right, last = exact  # most of a screen lies outside, and is not read again
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
    """Left, top, right and bottom in pixels, of rows of three bytes a pixel; None: all alike."""
    import numpy as np

    (upright,), (level,) = (np.nonzero(differ.any(axis=axis)) for axis in (0, 1))
    if not upright.size:
        return None
    return int(upright[0]) // 3, int(level[0]), int(upright[-1]) // 3 + 1, int(level[-1]) + 1


def _differing_rows(before: Screenshot, after: Screenshot) -> tuple[int, int] | None:
    """The first row and the one after the last of the stripes that differ; None where none does.

    Most of a screen stays as it was, and what lies between the two is not read here.
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
    """A picture with white where the array is true."""
    height, width = changed.shape
    return Image.frombytes("L", (width, height), (changed.view("uint8") * 255).tobytes())


_STRIPE = 16
"""Rows that are compared at once; two such stripes lie in a processor's nearest caches."""


def _full_box(picture: Screenshot) -> BoundingBox:
    return BoundingBox(0, 0, picture.size.width, picture.size.height)


def _with_margin(box: BoundingBox, extent: Size) -> BoundingBox:
    left, right = _widen_range(box.left, box.right, _MARGIN + _BESIDE, extent.width)
    top, bottom = _widen_range(box.top, box.bottom, _MARGIN, extent.height)
    return BoundingBox(left, top, right, bottom)


def _widen_range(start: float, end: float, margin: int, extent: int) -> tuple[int, int]:
    """The range with its margin, at least `_MINIMUM` long and inside 0..``extent``."""
    first, last = int(start) - margin, int(end) + margin
    lack = max(0, _MINIMUM - (last - first))
    first, last = first - lack // 2, last + lack - lack // 2
    # A range pushed over one edge is moved back, so that the crop keeps its size.
    shift = -first if first < 0 else min(0, extent - last)
    return max(0, first + shift), min(extent, last + shift)


_REACH = 40
"""Image pixels around the hot spot within which a pointer is drawn."""
_SHAPE = 20
"""Pixels equal at both places from which on they are a pointer: a small arrow has 60."""
_EDGE = 17
"""Size of the filter that reaches the pointer's outline and shadow, 8 pixels around its shape."""
_ROUNDING = 3
"""Steps of 256 by which two blends of the same pointer differ where colours were rounded."""


def is_caret(mask: Image.Image) -> bool:
    """Whether a difference is one upright line without a gap; letters have gaps or are wider.

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
    """The difference of two looks without the pointer.

    Where the looks tell what their pointer covers, that is compared. Elsewhere only a pointer that
    looks as it did is found, not one that became another over a field: what it showed at its old
    place it shows now at the new one, and pixels that are equal there are the pointer's. A change
    around or beside it stays.
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
    """The difference with both pointers taken off the pictures."""
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
    """A part of a look without its pointer."""
    part = observation.screenshot.crop(box).pixels.copy()
    if observation.under_pointer:
        at = observation.under_pointer.box
        part.paste(
            observation.under_pointer.picture.pixels,
            (int(at.left - box.left), int(at.top - box.top)),
        )
    return part


def _mask_blend(drawn: Sequence[Image.Image], under: Sequence[Image.Image]) -> Image.Image:
    """White where one half-transparent picture over both backgrounds explains what is seen.

    With opacity a and colour p, both sides are drawn = (1 - a) * under + a * p; so the two drawn
    sides differ by 1 - a of what the backgrounds differ, in every colour alike.
    """
    import numpy as np  # takes 0.1 s, and most steps do not need it

    top, below = (
        np.asarray(pair[0], np.float32) - np.asarray(pair[1], np.float32) for pair in (drawn, under)
    )
    length = (below * below).sum(axis=2)
    through = np.clip((top * below).sum(axis=2) / np.maximum(length, 1.0), 0.0, 1.0)
    wrong = np.abs(top - through[..., None] * below).max(axis=2)
    return Image.fromarray(np.where(wrong <= _ROUNDING, np.uint8(255), np.uint8(0)))


def _pixel(observation: Observation) -> tuple[int, int] | None:
    """The pointer's place in the picture; None where it is not known."""
    return (
        None
        if observation.cursor is None
        else observation.convert(observation.cursor, "image").to_pixels()
    )


def _reach(place: tuple[int, int]) -> tuple[int, int, int, int]:
    x, y = place
    return x - _REACH, y - _REACH, x + _REACH, y + _REACH
