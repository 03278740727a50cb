"""The cleaning of annotations (GTA1, eq. 1): a box that no detected box resembles goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from PIL import Image, ImageDraw

from hisa.plugins.training.click_rewards import iou
from hisa.plugins.training.widget_pages import Box, Target

__all__ = ["THRESHOLD", "Cleaned", "Detector", "Dropped", "clean", "contact_sheet"]

THRESHOLD = 0.3
"""The paper's tau (section 4)."""
Detector = Callable[[Target], Sequence[Box]]


@dataclass(frozen=True, slots=True)
class Dropped:
    """A target that went, the largest IoU of its box, and the boxes that were detected."""

    target: Target
    overlap: float
    boxes: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class Cleaned:
    """Targets that stay and those that went."""

    kept: tuple[Target, ...]
    dropped: tuple[Dropped, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of targets: kept, dropped, and dropped where nothing at all was detected.

        Where boxes were planted, how many of these stayed, and how many right ones went.
        """
        counts = Counter(kept=len(self.kept), dropped=len(self.dropped))
        counts["nothing_detected"] = sum(not drop.boxes for drop in self.dropped)
        planted = sum(target.planted for target in self.kept)
        if planted or any(drop.target.planted for drop in self.dropped):
            counts["planted_kept"] = planted
            counts["right_dropped"] = sum(not drop.target.planted for drop in self.dropped)
        return dict(counts)


def clean(targets: Iterable[Target], detect: Detector, threshold: float = THRESHOLD) -> Cleaned:
    """Part targets by whether a detected box has at least this IoU with theirs.

    A detector is asked once for each run of targets that share a picture.

    Raises:
        UsageError: the detector fails; nothing is dropped for that.
    """
    kept, dropped = [], []
    picture: Image.Image | None = None
    boxes: tuple[Box, ...] = ()
    for target in targets:
        if target.picture is not picture:
            picture, boxes = target.picture, tuple(detect(target))
        overlap = max((iou(target.box, box) for box in boxes), default=0.0)
        if overlap < threshold:
            dropped.append(Dropped(target, overlap, boxes))
        else:
            kept.append(target)
    return Cleaned(tuple(kept), tuple(dropped))


def contact_sheet(dropped: Sequence[Dropped], *, columns: int = 6, most: int = 48) -> Image.Image:
    """Returns a picture of what went: the annotation in blue, detected boxes in red, as in fig. 3.

    Args:
        columns: pictures side by side.
        most: pictures shown, evenly chosen from all.
    """
    step = max(1, -(-len(dropped) // most))
    shown = dropped[::step]
    width, height, line = 240, 192, 14
    rows = max(1, -(-len(shown) // columns))
    sheet = Image.new("RGB", (columns * (width + 4), rows * (height + line + 4)), "white")
    pen = ImageDraw.Draw(sheet)
    for number, drop in enumerate(shown):
        x, y = number % columns * (width + 4), number // columns * (height + line + 4)
        scale = min(width / drop.target.picture.width, height / drop.target.picture.height)
        size = (int(drop.target.picture.width * scale), int(drop.target.picture.height * scale))
        sheet.paste(drop.target.picture.resize(size, Image.Resampling.NEAREST), (x, y))
        for box, colour in [*((box, "red") for box in drop.boxes), (drop.target.box, "blue")]:
            sides = [side * scale + (y if index % 2 else x) for index, side in enumerate(box)]
            if sides[0] <= sides[2] and sides[1] <= sides[3]:
                pen.rectangle(sides, outline=colour, width=2)
        words = f"{drop.overlap:.2f} {drop.target.description}"
        pen.text((x, y + height), words.encode("ascii", "replace").decode()[:40], fill="black")
    return sheet
