"""Reads the meaning of icons on a picture with a small convolutional net, in ONNX Runtime.

The net sees a crop twice: all of it, and the inner part enlarged, where the icon of a button lies.
Neither has colours: a pixel is how far it is from the background's colour.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from hisa.plugins.eyes.net_session import open_net
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Screenshot

__all__ = ["SIDE", "UNKNOWN", "WEIGHTS", "IconName", "IconReader", "prepare_crop", "read_icons"]

WEIGHTS = Path(__file__).with_name("weights") / "icons.onnx"
SIDE = 32
"""Pixels of either side of what the net sees: most icons on screens have 16 to 24."""
UNKNOWN = 0
"""The net's first answer: no icon, or none of a meaning that it has learned."""
_MOST, _LEAST = 5, 0.05
"""Meanings of an icon, and the least share of one."""
_FRAME = 2
"""Pixels around a box that show its background, and around the icon in what the net sees."""
_FAINT = 16
"""Steps of 255 from the background that are no ink: what JPEG leaves around an edge."""
_INSET = 0.18
"""Of a side, what the inner part leaves out: an icon of 16 in a button of 24 pixels stays whole."""

View = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class IconName:
    """What an icon may stand for.

    ``chance`` is the net's share for it, 0 to 1; ``is_sure`` says that it is high enough to call
    the icon so. It was set for 95 right of 100 on one set; of three others 87 to 96 are.
    """

    name: str
    synonyms: tuple[str, ...]
    chance: float
    is_sure: bool = True


def read_icons(
    screenshot: Screenshot, boxes: Sequence[BoundingBox]
) -> tuple[tuple[IconName, ...], ...]:
    """Returns what the icon in each box may mean, the likeliest first, at most five meanings.

    Takes less than a millisecond for an icon.

    Args:
        screenshot: the picture.
        boxes: around icons or the buttons that hold them, in pixels of the picture.

    Raises:
        OperatorError: ONNX Runtime or the weights are not installed.
    """
    return _open_packaged().read(screenshot, boxes) if boxes else ()


class IconReader:
    """A net from a file, and what the file says about it; may be used by several threads.

    Args:
        path: an ONNX file as the training writes it.

    Raises:
        OperatorError: ONNX Runtime or the file is missing.
    """

    def __init__(self, path: Path = WEIGHTS) -> None:
        self._session, facts = open_net(path)
        self.meanings: tuple[tuple[str, ...], ...] = tuple(map(tuple, json.loads(facts["words"])))
        """The words of each meaning, the commonest first, in the order of the net's answers."""
        self.least_chance: float = json.loads(facts["least_chance"])
        self._starts: list[int] = json.loads(facts["starts"])
        """Where the net's answers of a meaning begin: those it cannot tell apart are one."""

    def read(
        self, screenshot: Screenshot, boxes: Sequence[BoundingBox]
    ) -> tuple[tuple[IconName, ...], ...]:
        """Returns the meanings of the icon in each box; see `read_icons`."""
        crops = [prepare_crop(screenshot.pixels, box) for box in boxes]
        return tuple(map(self._list_meanings, self.predict(np.stack(crops))))

    def predict(self, crops: View) -> npt.NDArray[np.float32]:
        """Returns the chances [crops, 1 + meanings] of crops as `prepare_crop` makes them."""
        (chances,) = self._session.run(None, {"crops": crops})
        return np.asarray(np.add.reduceat(chances, self._starts, axis=1), dtype=np.float32)

    def _list_meanings(self, chances: npt.NDArray[np.float32]) -> tuple[IconName, ...]:
        order = np.argsort(-chances, kind="stable")[:_MOST].tolist()
        is_known = order[0] != UNKNOWN
        names = list[IconName]()
        for answer in order:
            chance = float(chances[answer])
            if answer == UNKNOWN or chance < _LEAST:
                continue
            name, *synonyms = self.meanings[answer - 1]
            is_sure = is_known and not names and chance >= self.least_chance
            names.append(IconName(name, tuple(synonyms), chance, is_sure))
        return tuple(names)


_lock = threading.Lock()


@cache
def _open_once() -> IconReader:
    return IconReader()


def _open_packaged() -> IconReader:
    with _lock:
        return _open_once()


def prepare_crop(picture: Image.Image, box: BoundingBox) -> View:
    """Returns what the net sees of a box, [2, SIDE, SIDE]: all of it and its inner part.

    Args:
        picture: any picture.
        box: in pixels of the picture; may reach over its edges.
    """
    corners = (box.left - _FRAME, box.top - _FRAME, box.right + _FRAME, box.bottom + _FRAME)
    left, top = (max(0, int(corner)) for corner in corners[:2])
    right = min(picture.width, int(np.ceil(corners[2])))
    bottom = min(picture.height, int(np.ceil(corners[3])))
    if right - left < 3 or bottom - top < 3:
        return np.zeros((2, SIDE, SIDE), np.uint8)
    colours = np.asarray(picture.crop((left, top, right, bottom)).convert("RGB"), dtype=np.int16)
    ink = _measure_ink(colours)
    rows, columns = _find_ink(ink)
    inner = colours[_shrink(rows), _shrink(columns)]
    return np.stack([_fit_square(ink[rows, columns]), _view_inner(inner)])


def _view_inner(colours: npt.NDArray[np.int16]) -> View:
    ink = _measure_ink(colours)
    return _fit_square(ink[_find_ink(ink)])


def _measure_ink(colours: npt.NDArray[np.int16]) -> View:
    """Returns how far pixels are from the background's colour, the commonest on the frame."""
    frame = (colours[0], colours[-1], colours[1:-1, 0], colours[1:-1, -1])
    background = np.median(np.concatenate(frame), axis=0)
    return np.asarray(np.abs(colours - background).max(axis=2), dtype=np.uint8)


def _find_ink(ink: View) -> tuple[slice, slice]:
    """Rows and columns around the ink; all of them if there is none."""
    mask = ink > max(_FAINT, int(ink.max()) // 4)
    spans = []
    for axis in (1, 0):
        hits = np.flatnonzero(mask.any(axis=axis))
        spans.append(slice(hits[0], hits[-1] + 1) if hits.size else slice(0, mask.shape[1 - axis]))
    return spans[0], spans[1]


def _shrink(span: slice) -> slice:
    inset = int((span.stop - span.start) * _INSET)
    return slice(span.start + inset, span.stop - inset)


def _fit_square(ink: View) -> View:
    """Scales ink to the square that the net sees; the darkest becomes 255, without ink all is 0."""
    view = np.zeros((SIDE, SIDE), np.uint8)
    darkest = int(ink.max())
    if darkest <= _FAINT:
        return view
    scale = (SIDE - 2 * _FRAME) / max(ink.shape)
    height, width = (max(1, round(side * scale)) for side in ink.shape)
    strong = Image.fromarray((ink.astype(np.float32) * (255 / darkest)).astype(np.uint8))
    small = strong.resize((width, height), Image.Resampling.BILINEAR)
    top, left = (SIDE - height) // 2, (SIDE - width) // 2
    view[top : top + height, left : left + width] = np.asarray(small)
    return view
