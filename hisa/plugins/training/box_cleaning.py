"""The cleaning of annotations (GTA1, eq. 1): a box that no detected box resembles goes.

A detector takes a target and returns the boxes of what it sees on the target's picture, in that
picture's pixels: by accessibility, drawn shapes or OmniParser. It looks at neither the target's own
box nor its description.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import httpx
import numpy as np
from PIL import Image, ImageDraw, ImageOps

from hisa.errors import UsageError
from hisa.machine.bounded_http import read_bounded
from hisa.plugins.training.click_rewards import iou
from hisa.plugins.training.widget_pages import Box, Target

__all__ = [
    "THRESHOLD", "Cleaned", "Detector", "Dropped", "accessible_boxes", "clean", "contact_sheet",
    "drawn_boxes", "omniparser",
]  # fmt: skip

THRESHOLD = 0.3
"""The paper's tau (section 4)."""
Detector = Callable[[Target], Sequence[Box]]
_WIDEST = 320
"""Pixels of a picture that shapes are looked for on; a larger one is made smaller."""
_SMALLEST = 4
"""Pixels of a shape's sides there; less is a speck."""
_MOST_BOXES = 5_000
"""In an answer of OmniParser's; a full screen has some hundreds."""


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


def accessible_boxes(target: Target) -> list[Box]:
    """Returns the boxes that accessibility tells."""
    return list(target.elements)


def drawn_boxes(target: Target) -> list[Box]:
    """Returns the boxes of connected areas whose colour is not the picture's most frequent one.

    Good for flat pages. On a screen with windows all of a window is one area.
    """
    from scipy import ndimage

    scale = -(-target.picture.width // _WIDEST)
    colours = np.asarray(target.picture.convert("RGB").reduce(scale)) @ [65536, 256, 1]
    numbers, counts = np.unique(colours, return_counts=True)
    areas, _ = ndimage.label(colours != numbers[counts.argmax()], np.ones((3, 3)))
    boxes = []
    for rows, columns in ndimage.find_objects(areas):
        right, bottom = columns.stop - 1, rows.stop - 1
        if min(right - columns.start, bottom - rows.start) >= _SMALLEST:
            sides = (columns.start, rows.start, right, bottom)
            boxes.append(Box(*(float(side * scale) for side in sides)))
    return boxes


def omniparser(url: str, *, seconds: float = 60.0, most_bytes: int = 32 << 20) -> Detector:
    """Returns a detector that asks a server as OmniParser's own: ``POST /parse/`` with a PNG.

    Args:
        url: of the server, such as ``http://127.0.0.1:8000``.
        seconds: for a whole answer.
        most_bytes: of an answer, which holds the picture again with boxes drawn on it.

    Raises:
        UsageError: the address is not http or https. The detector raises it where no answer comes,
            or one that is too long, too slow or not OmniParser's.
    """
    if not url.startswith(("http://", "https://")):
        raise UsageError(
            f"--detector {url!r}: allowed are drawn, accessible and an address http://…",
            fix="--detector drawn",
        )

    async def answer(body: dict[str, str]) -> bytes:
        async with (
            asyncio.timeout(seconds), httpx.AsyncClient(timeout=seconds) as client,
            client.stream("POST", url.rstrip("/") + "/parse/", json=body) as response,
        ):  # fmt: skip
            response.raise_for_status()
            return await read_bounded(response, most_bytes)

    def ask(target: Target) -> list[Box]:
        png = io.BytesIO()
        target.picture.save(png, "PNG")
        body = {"base64_image": base64.b64encode(png.getvalue()).decode("ascii")}
        try:
            elements = json.loads(asyncio.run(answer(body)))["parsed_content_list"]
            if len(elements) > _MOST_BOXES:
                raise ValueError(f"{len(elements)} boxes")
            return [_box(element["bbox"], *target.picture.size) for element in elements]
        except (httpx.HTTPError, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            reason = f"{url}: no answer of OmniParser's: {type(error).__name__}: {error!s:.200}"
            raise UsageError(reason, fix="--detector drawn") from error

    return ask


def _box(shares: list[float], width: int, height: int) -> Box:
    """A box that the server wrote as shares of the picture's sides."""
    left, top, right, bottom = map(float, shares)
    if not all(-1 <= side <= 2 for side in (left, top, right, bottom)):
        raise ValueError(f"the box {shares!r:.80}")
    return Box(left * width, top * height, right * width, bottom * height)
