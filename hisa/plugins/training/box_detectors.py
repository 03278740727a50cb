"""Detectors of boxes for the cleaning of annotations: accessibility, drawn shapes, OmniParser.

A detector takes a target and returns the boxes of what it sees on the target's picture, in that
picture's pixels. It does not look at the target's own box or description.
"""

from __future__ import annotations

import base64
import io
import json
import math
import time
from typing import TYPE_CHECKING, Any

from hisa.errors import UsageError
from hisa.plugins.training.widget_pages import Box, Target

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["OmniParserEndpoint", "accessible_boxes", "drawn_boxes"]

_SMALLEST = 4
"""Pixels of a shape's sides; less is a speck."""
_MOST_BOXES = 5_000
"""Taken from an endpoint's answer; full screens of OmniParser's have some hundreds."""


def accessible_boxes(target: Target) -> list[Box]:
    """Returns the boxes that accessibility tells."""
    return list(target.elements)


def drawn_boxes(target: Target) -> list[Box]:
    """Returns the boxes of connected areas whose colour is not the picture's most frequent one.

    Good for flat pages. On a screen with windows all of a window is one area.
    """
    runs = _runs(target.picture)
    areas: dict[int, list[int]] = {}
    for root, row, start, end in runs:
        area = areas.setdefault(root, [start, row, end, row])
        area[0], area[2], area[3] = min(area[0], start), max(area[2], end), row
    boxes = [Box(*map(float, area)) for area in areas.values()]
    return [
        box
        for box in boxes
        if box.right - box.left >= _SMALLEST and box.bottom - box.top >= _SMALLEST
    ]


def _runs(picture: Image.Image) -> list[tuple[int, int, int, int]]:
    """Stretches of rows that are not background, each as area, row, first and last column."""
    import numpy as np

    pixels = np.asarray(picture.convert("RGB")).astype(np.int32) @ np.array([65536, 256, 1])
    colours, counts = np.unique(pixels, return_counts=True)
    ink = np.pad(pixels != colours[counts.argmax()], ((0, 0), (1, 1))).astype(np.int8)
    parents: list[int] = []
    runs: list[tuple[int, int, int]] = []
    above: list[int] = []

    def root(number: int) -> int:
        while parents[number] != number:
            parents[number] = number = parents[parents[number]]
        return number

    for row, change in enumerate(np.diff(ink, axis=1)):
        starts, ends = np.flatnonzero(change == 1), np.flatnonzero(change == -1)
        own: list[int] = []
        for start, end in zip(starts.tolist(), (ends - 1).tolist(), strict=True):
            number = len(parents)
            parents.append(number)
            runs.append((row, start, end))
            own.append(number)
            for other in above:
                if runs[other][1] <= end + 1 and start <= runs[other][2] + 1:
                    parents[root(other)] = root(number)
        above = own
    return [(root(number), *run) for number, run in enumerate(runs)]


class OmniParserEndpoint:
    """A server that answers as OmniParser's own does: ``POST /parse/`` with the picture in base64.

    Args:
        url: of the server, such as ``http://127.0.0.1:8000``.
        seconds: for a whole answer.
        most_bytes: of an answer, which holds the picture again with boxes drawn on it.

    Raises:
        UsageError: the address is not http or https.
    """

    def __init__(self, url: str, *, seconds: float = 60.0, most_bytes: int = 32 << 20) -> None:
        if not url.startswith(("http://", "https://")):
            raise UsageError(
                f"{url!r} is no address; it begins with http:// or https://",
                fix="--detector http://127.0.0.1:8000",
            )
        self._url = url.rstrip("/") + "/parse/"
        self._seconds, self._most = seconds, most_bytes

    def __call__(self, target: Target) -> list[Box]:
        """Returns the boxes of a target's picture.

        Raises:
            UsageError: no answer, one that is too long or takes too long, or not OmniParser's.
        """
        png = io.BytesIO()
        target.picture.save(png, "PNG")
        body = {"base64_image": base64.b64encode(png.getvalue()).decode("ascii")}
        try:
            elements = json.loads(self._answer(body))["parsed_content_list"]
            if len(elements) > _MOST_BOXES:
                raise ValueError(f"{len(elements)} boxes")
            return [self._box(element["bbox"], target.picture) for element in elements]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise self._refused(f"not an answer of OmniParser's: {error!r:.200}") from error

    def _answer(self, body: dict[str, str]) -> bytes:
        import httpx

        answer, end = bytearray(), time.monotonic() + self._seconds
        plain = {"accept-encoding": "identity"}
        try:
            with httpx.stream(
                "POST", self._url, json=body, headers=plain, timeout=self._seconds
            ) as response:
                response.raise_for_status()
                for piece in response.iter_raw():
                    answer += piece
                    if len(answer) > self._most:
                        raise self._refused(f"more than {self._most} bytes")
                    if time.monotonic() > end:
                        raise self._refused(f"no whole answer in {self._seconds:g} s")
        except httpx.HTTPError as error:
            raise self._refused(f"{type(error).__name__}: {error}") from error
        return bytes(answer)

    def _box(self, sides: Any, picture: Image.Image) -> Box:
        """A box that the server wrote as shares of the picture's sides."""
        left, top, right, bottom = (float(side) for side in sides)
        if not all(math.isfinite(side) and -1 <= side <= 2 for side in (left, top, right, bottom)):
            raise ValueError(f"the box {sides!r:.80}")
        width, height = picture.size
        return Box(left * width, top * height, right * width, bottom * height)

    def _refused(self, reason: str) -> UsageError:
        return UsageError(f"{self._url}: {reason}", fix="--detector drawn")
