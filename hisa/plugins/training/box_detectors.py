"""Detectors of boxes for the cleaning of annotations: accessibility, drawn shapes, OmniParser.

A detector takes a target and returns the boxes of what it sees on the target's picture, in that
picture's pixels. It looks at neither the target's own box nor its description.
"""

from __future__ import annotations

import base64
import io
import json
import time
from typing import TYPE_CHECKING

from hisa.errors import UsageError
from hisa.plugins.training.widget_pages import Box, Target

if TYPE_CHECKING:
    from hisa.plugins.training.box_cleaning import Detector

__all__ = ["accessible_boxes", "drawn_boxes", "omniparser"]

_WIDEST = 320
"""Pixels of a picture that shapes are looked for on; a larger one is made smaller."""
_SMALLEST = 4
"""Pixels of a shape's sides there; less is a speck."""
_MOST_BOXES = 5_000
"""In an answer of OmniParser's; a full screen has some hundreds."""


def accessible_boxes(target: Target) -> list[Box]:
    """Returns the boxes that accessibility tells."""
    return list(target.elements)


def drawn_boxes(target: Target) -> list[Box]:
    """Returns the boxes of connected areas whose colour is not the picture's most frequent one.

    Good for flat pages. On a screen with windows all of a window is one area.
    """
    import numpy as np

    scale = -(-target.picture.width // _WIDEST)
    pixels = np.asarray(target.picture.convert("RGB").reduce(scale)).astype(np.int64)
    colours, counts = np.unique(pixels @ [65536, 256, 1], return_counts=True)
    ink = np.pad(pixels @ [65536, 256, 1] != colours[counts.argmax()], 1)
    areas, before = np.where(ink, np.arange(1, ink.size + 1).reshape(ink.shape), 0), None
    while before is None or not np.array_equal(areas, before):  # the largest number spreads
        before = areas.copy()
        for axis in (0, 1):
            sides = np.roll(areas, 1, axis), np.roll(areas, -1, axis)
            areas = np.maximum(areas, np.maximum(*sides))
        areas = np.where(ink, areas, 0)
    boxes = []
    rows, columns = np.nonzero(areas)
    for number in np.unique(areas[areas > 0]):
        own = areas[rows, columns] == number
        x, y = columns[own] - 1, rows[own] - 1
        if min(np.ptp(x), np.ptp(y)) >= _SMALLEST:
            corners = (x.min(), y.min(), x.max(), y.max())
            boxes.append(Box(*(float(side * scale) for side in corners)))
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

    def ask(target: Target) -> list[Box]:
        import httpx

        png = io.BytesIO()
        target.picture.save(png, "PNG")
        body = {"base64_image": base64.b64encode(png.getvalue()).decode("ascii")}
        answer, end, plain = (
            bytearray(),
            time.monotonic() + seconds,
            {"accept-encoding": "identity"},
        )
        try:
            with httpx.stream(
                "POST", url.rstrip("/") + "/parse/", json=body, headers=plain, timeout=seconds
            ) as response:
                response.raise_for_status()
                for piece in response.iter_raw():
                    answer += piece
                    if len(answer) > most_bytes or time.monotonic() > end:
                        raise ValueError(f"over {most_bytes} bytes or {seconds:g} s")
            elements = json.loads(answer)["parsed_content_list"]
            if len(elements) > _MOST_BOXES:
                raise ValueError(f"{len(elements)} boxes")
            return [_box(element["bbox"], *target.picture.size) for element in elements]
        except (httpx.HTTPError, ValueError, KeyError, TypeError, RecursionError) as error:
            reason = f"{url}: no answer of OmniParser's: {type(error).__name__}: {error!s:.200}"
            raise UsageError(reason, fix="--detector drawn") from error

    return ask


def _box(shares: list[float], width: int, height: int) -> Box:
    """A box that the server wrote as shares of the picture's sides."""
    left, top, right, bottom = map(float, shares)
    if not all(-1 <= side <= 2 for side in (left, top, right, bottom)):
        raise ValueError(f"the box {shares!r:.80}")
    return Box(left * width, top * height, right * width, bottom * height)
