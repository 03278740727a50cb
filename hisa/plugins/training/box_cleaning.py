"""The cleaning of annotations (GTA1, eq. 1): a box that no detected box resembles goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageOps

from hisa.plugins.training.click_rewards import iou
from hisa.plugins.training.widget_pages import Box, Target

__all__ = ["THRESHOLD", "Cleaned", "Detector", "Dropped", "clean", "contact_sheet"]

THRESHOLD = 0.3
"""The paper's tau (section 4)."""
Detector = Callable[[Target], Sequence[Box]]


class Dropped(NamedTuple):
    """A target that went, the largest IoU of its box, and the boxes that were detected."""

    target: Target
    overlap: float
    boxes: Sequence[Box]


class Cleaned(NamedTuple):
    """Targets that stay and those that went."""

    kept: list[Target]
    dropped: list[Dropped]

    def __str__(self) -> str:
        blank = sum(not drop.boxes for drop in self.dropped)
        total = len(self.kept) + len(self.dropped)
        return f"{len(self.dropped)} of {total} boxes dropped, {blank} where nothing was detected"


def clean(targets: Iterable[Target], detect: Detector, threshold: float = THRESHOLD) -> Cleaned:
    """Drop targets whose largest IoU with a detected box is strictly below the threshold.

    A detector is asked once for each run of targets that share a picture.

    Raises:
        UsageError: the detector fails; nothing is dropped for that.
    """
    result = Cleaned([], [])
    picture: Image.Image | None = None
    boxes: Sequence[Box] = ()
    for target in targets:
        if target.picture is not picture:
            picture, boxes = target.picture, detect(target)
        overlap = max((iou(target.box, box) for box in boxes), default=0.0)
        if overlap < threshold:
            result.dropped.append(Dropped(target, overlap, boxes))
        else:
            result.kept.append(target)
    return result


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
