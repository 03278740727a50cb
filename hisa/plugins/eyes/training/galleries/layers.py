"""Decides what of the widgets of stacked windows can be seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hisa.plugins.eyes.training.galleries.rectangles import cut

__all__ = ["Layer", "has_ink", "list_visible", "paint_owners", "shrink_to_ink"]

Box = tuple[int, int, int, int]
Pixels = npt.NDArray[np.uint8]

_LEAST_SIDE = 5
"""Pixels; the same as for screens of pages."""
_LEAST_VISIBLE = 0.6
"""The share of a box that must be uncovered: three of five points, as for pages."""
_LEAST_VISIBLE_ROW = 0.3
"""The same for rows of lists, whose text is at their start."""
_SHRUNK = ("icon", "heading", "link", "list item", "image", "check box", "radio", "switch")
"""Roles whose box is what is painted, not the place that the layout gives."""
_STRAY = 0.3
"""The share of an edge that letters of a tight line of text may touch."""
_LEAST_INK = 14
"""Pixels; a thin sign, as the line that minimises a window, keeps this side."""
_DIFFERENCE = 24
"""Levels of 255 by which ink differs from its ground; less is a gradient or an artefact."""


@dataclass
class Layer:
    """A top-level window on the screen, with boxes in screen pixels.

    Args:
        box: the window with its frame.
        rows: records of its widgets: role, box, states, name.
    """

    box: Box
    rows: list[dict[str, Any]] = field(default_factory=list)


def paint_owners(layers: list[Layer], width: int, height: int) -> npt.NDArray[np.int16]:
    """Return for every pixel the number of the layer on top, from 1; 0: the background.

    Args:
        layers: from the bottom to the top.
        width: of the screen, in pixels.
        height: of the screen, in pixels.
    """
    owners = np.zeros((height, width), np.int16)
    for number, layer in enumerate(layers, 1):
        left, top, right, bottom = (max(0, edge) for edge in layer.box)
        owners[top:bottom, left:right] = number
    return owners


def list_visible(layers: list[Layer], pixels: Pixels) -> list[dict[str, Any]]:
    """Return the records whose boxes can be seen, clipped to what is visible of them.

    Args:
        layers: from the bottom to the top.
        pixels: the screen, height x width x 3.
    """
    owners = paint_owners(layers, pixels.shape[1], pixels.shape[0])
    rows = []
    for number, layer in enumerate(layers, 1):
        own = owners == number
        for row in layer.rows:
            least = _LEAST_VISIBLE_ROW if row["role"] == "list item" else _LEAST_VISIBLE
            box = _visible_part(row["box"], own, least)
            around = 0 if row["role"] in (*_SHRUNK, "table cell") else 2
            if box is None or not has_ink(pixels, box, around):
                continue
            if row["role"] in _SHRUNK and "selected" not in row["states"]:
                box = shrink_to_ink(pixels, box)
            if min(box[2] - box[0], box[3] - box[1]) >= _LEAST_SIDE:
                rows.append({**row, "box": [int(edge) for edge in box]})
    return rows


def _visible_part(box: list[float], own: npt.NDArray[np.bool_], least: float) -> Box | None:
    """Return the part of a box that shows the layer's own pixels; None: too little is seen."""
    screen = (0, 0, own.shape[1], own.shape[0])
    if (clipped := cut((box[0], box[1], box[2], box[3]), screen)) is None:
        return None
    left, top, right, bottom = (round(edge) for edge in clipped)
    inside = own[top:bottom, left:right]
    if not inside.size:
        return None
    first, last = _longest_run(inside.mean(0) > 0.5)
    if first == last:
        return None
    above, below = _longest_run(inside[:, first:last].mean(1) > 0.5)
    if (last - first) * (below - above) < least * (right - left) * (bottom - top):
        return None
    return left + first, top + above, left + last, top + below


def _longest_run(flags: npt.NDArray[np.bool_]) -> tuple[int, int]:
    """Return where the longest run of true values begins and ends."""
    steps = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    if not steps.size:
        return 0, 0
    starts, ends = steps[::2], steps[1::2]
    longest = int((ends - starts).argmax())
    return int(starts[longest]), int(ends[longest])


def has_ink(pixels: Pixels, box: Box, around: int) -> bool:
    """Return whether a box, with some pixels around it, shows more than one colour.

    Args:
        pixels: the screen, height x width x 3.
        box: left, top, right and bottom, in pixels.
        around: how many pixels around the box count too.
    """
    left, top, right, bottom = box
    rows = slice(max(0, top - around), bottom + around)
    part = pixels[rows, max(0, left - around) : right + around].astype(np.int16)
    return bool(part.size) and int((part.max((0, 1)) - part.min((0, 1))).max()) > _DIFFERENCE


def shrink_to_ink(pixels: Pixels, box: Box) -> Box:
    """Return the painted part of a box whose edge has a colour that goes on around it.

    Args:
        pixels: the screen, height x width x 3.
        box: left, top, right and bottom, in pixels.
    """
    left, top, right, bottom = box
    part = pixels[top:bottom, left:right].astype(np.int16)
    edge = np.concatenate([part[0], part[-1], part[:, 0], part[:, -1]])
    ground = np.median(edge, axis=0)
    stray = (np.abs(edge - ground).max(1) > _DIFFERENCE).mean()
    if stray > _STRAY or not _goes_on(pixels, box, ground):
        return box
    ink = np.abs(part - ground).max(2) > _DIFFERENCE
    if not ink.any():
        return box
    downs, acrosses = np.flatnonzero(ink.any(1)), np.flatnonzero(ink.any(0))
    left, right = _widen(left + int(acrosses[0]), left + int(acrosses[-1]) + 1, left, right)
    top, bottom = _widen(top + int(downs[0]), top + int(downs[-1]) + 1, top, bottom)
    return left, top, right, bottom


def _goes_on(pixels: Pixels, box: Box, ground: npt.NDArray[Any]) -> bool:
    """Return whether the colour of a box's edge goes on beyond one of its sides."""
    left, top, right, bottom = box
    strips = (
        pixels[max(0, top - 2) : top, left:right],
        pixels[bottom : bottom + 2, left:right],
        pixels[top:bottom, max(0, left - 2) : left],
        pixels[top:bottom, right : right + 2],
    )
    colours = [np.median(strip.reshape(-1, 3), axis=0) for strip in strips if strip.size]
    return any(np.abs(colour - ground).max() <= _DIFFERENCE for colour in colours)


def _widen(first: int, last: int, least: int, most: int) -> tuple[int, int]:
    """Widen the span of ink by a pixel and to the least side, within a greater span."""
    extra = max(2, _LEAST_INK - (last - first))
    return max(least, first - extra // 2), min(most, last + extra - extra // 2)
