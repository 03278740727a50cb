"""Targets of recorded screens, and the cleaning of their boxes (GTA1, eq. 1).

A box that resembles no detected box is dropped. A detector returns the boxes that it sees on a
target's picture; it knows neither the annotation nor the tree that this is from. If it sees
nothing, the box is not judged and stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageOps

from hisa.cli.out import say_error
from hisa.errors import UsageError
from hisa.events import Observed
from hisa.plugins.training.widget_pages import Box, Target
from hisa.runs.element_files import read_elements
from hisa.runs.run_reader import ELEMENTS, EVENTS, Run, load_run
from hisa.screen.observation import Screenshot

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "CleaningResult",
    "Detector",
    "DroppedTarget",
    "OtherLooks",
    "clean",
    "contact_sheet",
    "iou",
    "recorded_targets",
    "screens",
]

Detector = Callable[[Target], Sequence[Box]]
"""Returns the boxes seen on a target's picture, in its pixels; none if nothing was seen."""


class DroppedTarget(NamedTuple):
    """A dropped target, the largest IoU of its box with a detected box, and the detected boxes."""

    target: Target
    overlap: float
    boxes: Sequence[Box]


class CleaningResult(NamedTuple):
    """The targets that stay, those dropped, and how many of those that stay were not judged."""

    remaining: list[Target]
    dropped: list[DroppedTarget]
    not_judged: int

    def __str__(self) -> str:
        total = len(self.remaining) + len(self.dropped)
        return (
            f"{len(self.dropped)} of {total} boxes dropped, "
            f"{self.not_judged} not judged (nothing was detected there)"
        )


def screens(
    folder: Path, threshold: float | None, out: Path
) -> tuple[list[Target], dict[str, list[Target]]]:
    """Returns a folder's targets for training, and those held out (of every tenth look).

    Args:
        folder: of recorded runs.
        threshold: least IoU with a detected box, 0 to 1; None: the targets are not cleaned.
        out: gets ``dropped.png``, a sheet of the dropped targets.

    Raises:
        UsageError: there is no target, or none is left.
    """
    recorded = recorded_targets(folder)
    looks = [list(look) for _, look in groupby(recorded, lambda target: id(target.picture))]
    held = [target for look in looks[9::10] for target in look]
    del looks[9::10]
    targets = [target for look in looks for target in look]
    if not targets:
        raise UsageError(f"--data {folder}: no look has a named element", fix="omit --data")
    if threshold is not None:
        result = clean(targets, OtherLooks(targets), threshold)
        say_error(result)
        if result.dropped:
            contact_sheet(result.dropped).save(out / "dropped.png")
        if not result.remaining:
            raise UsageError(f"--clean {threshold} drops every target", fix="--clean 0.1")
        targets = result.remaining
    return targets, {"tuning": held} if held else {}


def clean(targets: Iterable[Target], detect: Detector, threshold: float = 0.3) -> CleaningResult:
    """Drops targets whose largest IoU with a detected box is strictly below the threshold.

    A target stays if nothing was detected, and is counted as not judged.

    Args:
        targets: to judge.
        detect: the detector.
        threshold: 0 to 1; 0.3 in the paper (section 4).
    """
    remaining, dropped, not_judged = list[Target](), list[DroppedTarget](), 0
    for target in targets:
        boxes = detect(target)
        overlap = max((iou(target.box, box) for box in boxes), default=None)
        if overlap is not None and overlap < threshold:
            dropped.append(DroppedTarget(target, overlap, boxes))
        else:
            remaining.append(target)
            not_judged += overlap is None
    return CleaningResult(remaining, dropped, not_judged)


def iou(first: Box, second: Box) -> float:
    """Returns intersection over union, 0 to 1; a box whose right is left of its left is empty."""
    width = max(0.0, min(first.right, second.right) - max(first.left, second.left))
    height = max(0.0, min(first.bottom, second.bottom) - max(first.top, second.top))
    areas = [
        max(0.0, box.right - box.left) * max(0.0, box.bottom - box.top) for box in (first, second)
    ]
    union = sum(areas) - width * height
    return width * height / union if union > 0 else 0.0


def contact_sheet(dropped: Sequence[DroppedTarget]) -> Image.Image:
    """Returns a picture of some dropped targets: annotations blue, detections red, as in fig. 3."""
    shown = dropped[:: max(1, -(-len(dropped) // 48))]
    width, height, line, columns = 240, 192, 16, 6
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


class OtherLooks:
    """A detector that uses the trees of other looks with the same pixels inside a target's box.

    Another look has the same size and a tree taken at another time: in another run, or in the same
    run with other elements, since an identical tree may be the same one served again. The target's
    box only selects the looks; all elements of their trees are returned. If no other look has the
    same pixels there, nothing is detected.
    """

    def __init__(self, targets: Iterable[Target]) -> None:
        looks = {id(look.picture): look for look in targets if look.tree and look.elements}
        self._looks = [(look, _pixels(look.picture)) for look in looks.values()]
        self._own: tuple[Image.Image, NDArray[np.uint8]] | None = None

    def __call__(self, target: Target) -> list[Box]:
        """Returns the boxes of all elements of those looks."""
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


def recorded_targets(folder: Path) -> Iterator[Target]:
    """Yields the targets of a run, or of the runs in a folder at any depth, look by look.

    Raises:
        UsageError: there is no run, or it is damaged.
    """
    logs = sorted(folder.rglob(EVENTS))
    if not logs:
        raise UsageError(f"{folder}: holds no run with {EVENTS}", fix="omit --data")
    for log in logs:
        run = load_run(log.parent)
        looks = {(e.image, e.elements_sha256): e for e in run.events if isinstance(e, Observed)}
        for look in looks.values():
            if look.elements_sha256:
                yield from _of_look(run, look)


def _of_look(run: Run, look: Observed) -> Iterator[Target]:
    """Yields the visible elements whose name and role are unique on the screen."""
    path = run.image(look.image)
    try:
        elements = read_elements(run.folder / ELEMENTS / f"{look.elements_sha256}.json")
        picture = Screenshot.from_png(path.read_bytes() if path else b"").pixels
    except (OSError, ValueError) as error:
        raise UsageError(f"{run.folder}: the look {look.image[:8]}: {error}") from error
    across, down = picture.width / look.screen_width, picture.height / look.screen_height
    boxes = tuple(
        Box(e.box.left * across, e.box.top * down, e.box.right * across, e.box.bottom * down)
        for e in elements
    )
    words = [f"{element.name.strip()} {element.role}" for element in elements]
    known = Counter(words)
    for element, text, box in zip(elements, words, boxes, strict=True):
        inside = 0 <= box.left < box.right <= picture.width
        inside = inside and 0 <= box.top < box.bottom <= picture.height
        shows = "showing" in element.states or not element.states
        if element.name.strip() and known[text] == 1 and inside and shows:
            place, tree = f"{run.id} {look.image[:8]}: {text}", f"{run.id} {look.elements_sha256}"
            yield Target(picture, text, box, place, boxes, tree)
