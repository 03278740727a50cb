"""Questions to a vision-language grounder: where on this picture is the described thing?

A picture is resized once, by the rule of the model's own processor, and travels as PNG bytes to the
model; the box is scaled with it. Prompt, reply and box are in pixels of the picture as shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image

from hisa.cli.out import say_error
from hisa.errors import UsageError
from hisa.grounder.formats import smart_resize
from hisa.plugins.eyes.detector import detect_controls
from hisa.plugins.training.box_cleaning import clean, contact_sheet, screens
from hisa.plugins.training.widget_pages import Box, Target, training_targets
from hisa.screen.geometry import Size
from hisa.screen.observation import Screenshot

__all__ = ["Question", "SeenControls", "ask_about", "open_targets"]

_LARGEST = 100_000_000
"""Most pixels of a picture before it is resized: 300 MB in memory."""
_MOST_HELD = 300
"""Most held-out targets: at each checkpoint all of them are asked."""
_WORDS = 500
"""Most characters of a description; a name on a screen may have any length."""


@dataclass(frozen=True, slots=True)
class Question:
    """One target, as the model sees it."""

    png: bytes = field(repr=False)  # the picture as shown
    size: Size  # of it
    description: str
    box: Box  # the annotation, in pixels of the picture as shown
    place: str  # name of the page and the thing, for reports


def ask_about(targets: Iterable[Target], *, min_pixels: int, max_pixels: int) -> list[Question]:
    """Returns the questions of targets; pictures that several targets share are stored once.

    Args:
        targets: with boxes in pixels of their pictures.
        min_pixels: least area of a picture as shown; smaller ones are enlarged.
        max_pixels: most area of a picture as shown; larger ones are reduced.

    Raises:
        UsageError: a picture is too large or too long, or a box is not on its picture.
    """
    shown: dict[int, tuple[Image.Image, Screenshot]] = {}
    questions = list[Question]()
    for target in targets:
        picture, box = target.picture, target.box
        inside = 0 <= box.left < box.right <= picture.width
        if not (inside and 0 <= box.top < box.bottom <= picture.height):
            sides = f"({', '.join(f'{side:g}' for side in box)})"
            reason = f"the box {sides} is not on its picture of {picture.width}x{picture.height}"
            raise UsageError(f"{target.place}: {reason}", fix="leave the target out")
        if id(picture) not in shown:
            shown[id(picture)] = picture, _show(target, min_pixels, max_pixels)
        sent = shown[id(picture)][1]
        across, down = sent.size.width / picture.width, sent.size.height / picture.height
        scaled = Box(box.left * across, box.top * down, box.right * across, box.bottom * down)
        words = target.description[:_WORDS]
        questions.append(Question(sent.png, sent.size, words, scaled, target.place))
    return questions


def _show(target: Target, min_pixels: int, max_pixels: int) -> Screenshot:
    """Returns a target's picture at the size that the model's processor would choose."""
    size = Size(*target.picture.size)
    if size.width * size.height > _LARGEST:
        reason = f"a picture of {size.width}x{size.height}; at most {_LARGEST} pixels are allowed"
        raise UsageError(f"{target.place}: {reason}", fix="leave the target out")
    try:
        resized = smart_resize(size, min_pixels=min_pixels, max_pixels=max_pixels)
    except ValueError as error:
        raise UsageError(f"{target.place}: {error}", fix="leave the target out") from error
    screenshot = Screenshot(target.picture)
    return screenshot if resized == size else screenshot.resize_to(resized)


class SeenControls:
    """A detector of `box_cleaning` that looks at nothing but the picture: HiSA's own net."""

    def __init__(self) -> None:
        self._last: tuple[Image.Image, list[Box]] | None = None

    def __call__(self, target: Target) -> Sequence[Box]:
        """Returns the boxes of the controls seen; takes some 0.1 s for a new picture.

        Raises:
            OperatorError: ONNX Runtime is not installed.
        """
        if self._last is None or self._last[0] is not target.picture:
            controls = detect_controls(Screenshot(target.picture))
            boxes = [Box(c.box.left, c.box.top, c.box.right, c.box.bottom) for c in controls]
            self._last = target.picture, boxes
        return self._last[1]


def open_targets(
    data: str | None, threshold: float | None, seed: int, out: Path
) -> tuple[list[Target], list[Target]]:
    """Returns the targets to train on, and those held out: drawn ones, or of recorded runs.

    Args:
        data: folder of runs; empty: pages are drawn.
        threshold: of the cleaning of recorded targets (eq. 1); None: they are not cleaned.
        seed: of the drawn pages.
        out: folder that gets ``dropped.png``, a sheet of the dropped targets.

    Raises:
        UsageError: there is no target, or none is left.
        OperatorError: the detector cannot be used.
    """
    if not data:
        train_on, held = training_targets(seed)
        return train_on, held["tuning"]
    train_on, held = screens(Path(data), None, out)
    if threshold is not None:
        result = clean(train_on, SeenControls(), threshold)
        say_error(f"cleaned by what the detector sees: {result}")
        if result.dropped:
            out.mkdir(parents=True, exist_ok=True)
            contact_sheet(result.dropped).save(out / "dropped.png")
        if not result.remaining:
            raise UsageError(f"--clean {threshold} drops every target", fix="--clean 0.1")
        train_on = result.remaining
    tuning = held.get("tuning", [])
    return train_on, tuning[:: -(-len(tuning) // _MOST_HELD) or 1]
