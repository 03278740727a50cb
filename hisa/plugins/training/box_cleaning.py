"""The cleaning of annotations (GTA1, eq. 1): a box that no detected box resembles goes.

A detector returns the boxes of what it sees on a target's picture, in that picture's pixels: of a
run's screens what other looks' trees have (`OtherLooks`), of drawn pages what stands out from their
ground (`drawn`). Neither knows the annotation, nor the tree that it is from. Not seen is not
absent: if a detector saw nothing of a picture, or not the place of a box, that box is not judged
and stays; only where it looked does the paper's rule hold, that a box goes which none of the
detected ones resembles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageOps

from hisa.plugins.training.widget_pages import Box, Target

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "THRESHOLD",
    "Cleaned",
    "Detector",
    "Dropped",
    "OtherLooks",
    "clean",
    "contact_sheet",
    "drawn",
    "iou",
]

THRESHOLD = 0.3
"""The paper's tau (section 4)."""
Detector = Callable[[Target], Sequence[Box]]
"""Returns the boxes of a target's picture; none where it saw nothing there."""


class Dropped(NamedTuple):
    """A target that went, the largest IoU of its box, and the boxes that were detected."""

    target: Target
    overlap: float
    boxes: Sequence[Box]


class Cleaned(NamedTuple):
    """Targets that stay, those that went, and how many of those that stay were not judged."""

    kept: list[Target]
    dropped: list[Dropped]
    not_judged: int

    def __str__(self) -> str:
        total = len(self.kept) + len(self.dropped)
        return (
            f"{len(self.dropped)} of {total} boxes dropped, "
            f"{self.not_judged} not judged: nothing was detected there"
        )


def clean(targets: Iterable[Target], detect: Detector, threshold: float = THRESHOLD) -> Cleaned:
    """Drop targets whose largest IoU with a detected box is strictly below the threshold.

    Where nothing was detected a target stays, and is counted as not judged.
    """
    kept, dropped, not_judged = list[Target](), list[Dropped](), 0
    for target in targets:
        boxes = detect(target)
        overlap = max((iou(target.box, box) for box in boxes), default=None)
        if overlap is not None and overlap < threshold:
            dropped.append(Dropped(target, overlap, boxes))
        else:
            kept.append(target)
            not_judged += overlap is None
    return Cleaned(kept, dropped, not_judged)


def iou(first: Box, second: Box) -> float:
    """Returns intersection over union, 0 to 1; a box with its ends the wrong way round is empty."""
    width = max(0.0, min(first.right, second.right) - max(first.left, second.left))
    height = max(0.0, min(first.bottom, second.bottom) - max(first.top, second.top))
    areas = [
        max(0.0, box.right - box.left) * max(0.0, box.bottom - box.top) for box in (first, second)
    ]
    union = sum(areas) - width * height
    return width * height / union if union > 0 else 0.0


def contact_sheet(dropped: Sequence[Dropped], *, columns: int = 6, most: int = 48) -> Image.Image:
    """Returns a picture of some that went: annotations blue, detected boxes red, as in fig. 3."""
    shown = dropped[:: max(1, -(-len(dropped) // most))]
    width, height, line = 240, 192, 16
    rows = max(1, -(-len(shown) // columns))
    sheet = Image.new("RGB", (columns * (width + 4), rows * (height + line)), "white")
    for number, (target, overlap, boxes) in enumerate(shown):
        x, y = number % columns * (width + 4), number // columns * (height + line)
        tile = ImageOps.contain(target.picture.convert("RGB"), (width, height))
        pen, scale = ImageDraw.Draw(tile), tile.width / target.picture.width
        for box, colour in [*((box, "red") for box in boxes), (target.box, "blue")]:
            if box.left <= box.right and box.top <= box.bottom:
                pen.rectangle([side * scale for side in box], outline=colour, width=2)
        sheet.paste(tile, (x, y))
        words = f"{overlap:.2f} {target.description}".encode("ascii", "replace").decode()
        ImageDraw.Draw(sheet).text((x, y + height), words[:40], fill="black")
    return sheet


def drawn(target: Target) -> list[Box]:
    """Returns the boxes of what stands out from the ground of a drawn page, piece by piece."""
    from scipy import ndimage

    pixels = _pixels(target.picture)
    colours, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_counts=True)
    stands_out = (pixels != colours[counts.argmax()]).any(2)
    labels, _ = ndimage.label(stands_out, np.ones((3, 3)))
    slices = ndimage.find_objects(labels)
    return [Box(across.start, down.start, across.stop, down.stop) for down, across in slices]


class OtherLooks:
    """A detector by the trees of other looks that show the same at the place of a box.

    Another look is one of the same size whose tree was taken at another time: in another run, or in
    the same one with other elements, for a tree that is the same to the byte may be the same one,
    served again. A target's box says only which looks show its place unchanged, to the pixel; their
    trees are read whole. If no other look shows it, nothing is detected.
    """

    def __init__(self, targets: Iterable[Target]) -> None:
        looks = {id(look.picture): look for look in targets if look.tree and look.elements}
        self._looks = [(look, _pixels(look.picture)) for look in looks.values()]
        self._own: tuple[Image.Image, NDArray[np.uint8]] | None = None

    def __call__(self, target: Target) -> list[Box]:
        """Returns the boxes of all elements of such looks."""
        if self._own is None or self._own[0] is not target.picture:
            self._own = target.picture, _pixels(target.picture)
        own, left, top = self._own[1], int(target.box.left), int(target.box.top)
        place = np.s_[
            max(0, top) : int(target.box.bottom) + 1, max(0, left) : int(target.box.right) + 1
        ]
        return [
            box
            for look, pixels in self._looks
            if look.tree != target.tree and pixels.shape == own.shape
            if np.array_equal(pixels[place], own[place])
            for box in look.elements
        ]


def _pixels(picture: Image.Image) -> NDArray[np.uint8]:
    return np.asarray(picture.convert("RGB"))
