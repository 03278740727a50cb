"""Detects controls on a picture with a small convolutional net, in ONNX Runtime.

The net looks at the whole picture and returns raw maps at a quarter of its size. A cell of a heat
map is high where the centre of a control of its role lies; at the same cell, four distances lead
to the sides of its box, and state scores say whether it is checked, selected and so on.
"""

from __future__ import annotations

import importlib.util
import json
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hisa.plugins.eyes.net_session import open_net
from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Screenshot

__all__ = [
    "OUTER_ROLES",
    "ROLES",
    "STATES",
    "STRIDE",
    "WEIGHTS",
    "Calibration",
    "Control",
    "Detector",
    "can_detect",
    "detect_controls",
    "overlap_boxes",
    "pad_pixels",
    "read_maps",
]

ROLES = (
    *("button", "field", "combo box", "check box", "radio", "switch", "link", "tab"),
    *("menu item", "list item", "table cell", "slider", "scroll bar", "icon", "image"),
    *("heading", "dialog"),
)
STATES = ("checked", "selected", "disabled", "focused", "expanded")
OUTER_ROLES = ("list item", "table cell", "image", "heading", "dialog")
"""Roles that often share their centre with a thing inside them; they have their own distances."""
WEIGHTS = Path(__file__).with_name("weights") / "detector.onnx"
STRIDE = 4
"""Pixels of the picture to a cell of the maps."""
_GRID = 32
"""The sides of the picture are padded to multiples of this: the net halves them five times."""
_GREY = 128
_LARGEST = 1920 * 1200
"""Most pixels that are looked at; more are scaled down, which bounds a look to 2.5 times the cost
of 1280x720. Controls of pictures scaled to half are part of the training."""
_MOST = 300
_SAME_ROLE, _ANY_ROLE = 0.5, 0.7
"""Overlap from which the less likely box goes: of a role, and between roles, where nested
things of nearly the same size are to stay."""

Maps = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Control:
    """A control on a picture; ``box`` is in pixels of the picture.

    ``chance`` is the probability that a thing is there, whatever its role; ``role`` is the most
    likely one. ``states`` has the states that can be seen.
    """

    role: str
    box: BoundingBox
    chance: float
    states: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Calibration:
    """How a score becomes a chance, 1 / (1 + exp(-(slope * score + offset))), and the least one."""

    slope: float = 1.0
    offset: float = 0.0
    least: float = 0.2

    @property
    def least_score(self) -> float:
        """The score that has the least chance."""
        return (math.log(self.least / (1 - self.least)) - self.offset) / self.slope


def can_detect() -> bool:
    """Whether ONNX Runtime and the weights are installed; loads neither."""
    return importlib.util.find_spec("onnxruntime") is not None and WEIGHTS.is_file()


def detect_controls(screenshot: Screenshot) -> tuple[Control, ...]:
    """Returns the controls on a picture, the most likely first, at most 300.

    Takes some 0.1 s at 1280x720: call it from a thread.

    Raises:
        OperatorError: ONNX Runtime or the weights are not installed.
    """
    return _open_packaged().detect(screenshot)


class Detector:
    """A net from a file, and what the file says about it; may be used by several threads.

    Args:
        path: an ONNX file as the training writes it.

    Raises:
        OperatorError: ONNX Runtime or the file is missing.
    """

    def __init__(self, path: Path = WEIGHTS) -> None:
        self._session, facts = open_net(path)
        self.roles: tuple[str, ...] = tuple(json.loads(facts["roles"]))
        self.states: tuple[str, ...] = tuple(json.loads(facts["states"]))
        self.calibration = Calibration(**json.loads(facts["calibration"]))

    def detect(self, screenshot: Screenshot) -> tuple[Control, ...]:
        """Returns the controls on a picture, the most likely first, at most 300."""
        pixels, scale = _fit_pixels(screenshot.pixels)
        (maps,) = self._session.run(None, {"pixels": pixels[np.newaxis]})
        controls = read_maps(maps[0], self.calibration, roles=self.roles, states=self.states)
        placed = (_place_control(control, scale, screenshot.size) for control in controls)
        return tuple(control for control in placed if control is not None)


_lock = threading.Lock()
_packaged: list[Detector] = []


def _open_packaged() -> Detector:
    with _lock:
        if not _packaged:
            _packaged.append(Detector())
        return _packaged[0]


def _fit_pixels(picture: Image.Image) -> tuple[NDArray[np.uint8], float]:
    """Returns the pixels, scaled down if there are too many and padded with grey, and the scale."""
    scale = min(1.0, math.sqrt(_LARGEST / (picture.width * picture.height)))
    if scale < 1:
        size = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
        picture = picture.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)
    return pad_pixels(np.asarray(picture)), scale


def pad_pixels(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Returns pixels [height, width, 3] with grey to the right and below, as the net needs."""
    height, width = (-(-side // _GRID) * _GRID for side in pixels.shape[:2])
    padded = np.full((height, width, 3), _GREY, np.uint8)
    padded[: pixels.shape[0], : pixels.shape[1]] = pixels
    return padded


def _place_control(control: Control, scale: float, size: Size) -> Control | None:
    """Returns a control of the scaled picture on one of ``size``; None if it lies beyond it."""
    box = control.box
    full = BoundingBox(box.left / scale, box.top / scale, box.right / scale, box.bottom / scale)
    inside = full.intersection(BoundingBox(0, 0, size.width, size.height))
    return None if inside is None else replace(control, box=inside)


def read_maps(
    maps: Maps,
    calibration: Calibration,
    *,
    roles: Sequence[str] = ROLES,
    states: Sequence[str] = STATES,
) -> list[Control]:
    """Returns the controls in the net's maps, the most likely first, in pixels of its input.

    Args:
        maps: [channels, rows, columns], raw: a score for each role and for any role, logarithms of
            the distances in pixels to left, top, right and bottom for inner and for outer roles,
            and a score for each state.
        calibration: makes chances of scores.
        roles: the names of the first channels.
        states: the names of the last channels.
    """
    heat = maps[: len(roles) + 1]
    channel, row, column = _find_peaks(heat, calibration.least_score)
    order = np.argsort(-heat[channel, row, column], kind="stable")[: 8 * _MOST]
    channel, row, column = channel[order], row[order], column[order]
    score = heat[channel, row, column]
    likeliest = heat[: len(roles), row, column].argmax(0)
    role = np.where(channel == len(roles), likeliest, channel)
    boxes = _read_boxes(maps, role, row, column, roles)
    visible = maps[len(maps) - len(states) :, row, column] > 0
    chance = 1 / (1 + np.exp(-(calibration.slope * score + calibration.offset)))
    controls = []
    for at in _choose_boxes(boxes, role):
        left, top, right, bottom = boxes[at].tolist()
        names = frozenset(name for name, shows in zip(states, visible[:, at], strict=True) if shows)
        box = BoundingBox(left, top, right, bottom)
        controls.append(Control(roles[role[at]], box, float(chance[at]), names))
    return controls


def _find_peaks(heat: Maps, least: float) -> tuple[NDArray[np.int64], ...]:
    """Returns channel, row and column of the cells that no neighbour of 3x3 exceeds."""
    channel, row, column = np.nonzero(heat >= least)
    padded = np.pad(heat, ((0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    around = [
        padded[channel, row + down, column + right] for down in range(3) for right in range(3)
    ]
    is_peak = heat[channel, row, column] >= np.max(around, axis=0)
    return channel[is_peak], row[is_peak], column[is_peak]


def _read_boxes(
    maps: Maps,
    role: NDArray[np.int64],
    row: NDArray[np.int64],
    column: NDArray[np.int64],
    roles: Sequence[str],
) -> NDArray[np.float32]:
    """Returns the boxes [n, 4] at cells, for the roles there, in pixels of the net's input."""
    is_outer = np.array([name in OUTER_ROLES for name in roles])[role]
    first = len(roles) + 1 + 4 * is_outer
    logarithms = np.stack([maps[first + side, row, column] for side in range(4)], axis=1)
    sides = np.exp(np.minimum(logarithms, 8.0)) * np.array([-1, -1, 1, 1])
    centres = (np.stack([column, row, column, row], axis=1) + 0.5) * STRIDE
    most = np.array([maps.shape[2], maps.shape[1]] * 2) * STRIDE
    boxes: NDArray[np.float32] = np.clip(centres + sides, 0, most).astype(np.float32)
    return boxes


def _choose_boxes(boxes: NDArray[np.float32], role: NDArray[np.int64]) -> list[int]:
    """Returns the numbers of the boxes that stay; more likely ones come first."""
    is_open = np.ones(len(boxes), bool)
    chosen: list[int] = []
    for at in range(len(boxes)):
        if not is_open[at]:
            continue
        chosen.append(at)
        if len(chosen) == _MOST:
            break
        overlap = overlap_boxes(boxes[at], boxes)
        is_open &= overlap < np.where(role == role[at], _SAME_ROLE, _ANY_ROLE)
    return chosen


def overlap_boxes(box: NDArray[Any], boxes: NDArray[Any]) -> NDArray[np.float64]:
    """Returns the intersection over the union of a box with boxes [n, 4]."""
    low, high = np.maximum(box[:2], boxes[:, :2]), np.minimum(box[2:], boxes[:, 2:])
    shared = np.clip(high - low, 0, None).prod(axis=1)
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
    return np.asarray(shared / np.maximum(areas + (box[2:] - box[:2]).prod() - shared, 1e-9))
