"""The handle on the track of a slider, as it is drawn."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from hisa.grounder.thing import Thing
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["build_handle", "find_slider_handle"]

_FAINT = 28
"""Steps of 255 from the background that make a track or a handle."""
_STANDS_OUT = 1.5
"""How much thicker than its track a handle is."""
_MARGIN = 6
"""Pixels of the picture around the box told: handles stand over the ends of tracks."""


def find_slider_handle(slider: Thing, observation: Observation) -> BoundingBox | None:
    """The thick part of the track, on the screen; None where it has none, or several."""
    import numpy as np

    box = observation.convert_box(slider.box, "image")
    size = observation.image
    left, top = max(0, int(box.left) - _MARGIN), max(0, int(box.top) - _MARGIN)
    right, bottom = (
        min(size.width, int(box.right) + _MARGIN),
        min(size.height, int(box.bottom) + _MARGIN),
    )
    part = np.asarray(observation.screenshot.pixels.crop((left, top, right, bottom))).astype(
        np.int16
    )
    if min(part.shape[:2]) < 5:
        return None
    is_horizontal = part.shape[1] >= part.shape[0]
    edge = (
        np.concatenate([part[0], part[-1]])
        if is_horizontal
        else np.concatenate([part[:, 0], part[:, -1]])
    )
    drawn = np.abs(part - np.median(edge, axis=0)).max(axis=2) > _FAINT
    flat = drawn if is_horizontal else drawn.T
    begin, end = _longest_run(flat.any(axis=0).tolist())
    along = _thick(_heights(flat[:, begin:end]))
    if along is None:
        return None
    along = along[0] + begin, along[1] + begin
    across = np.flatnonzero(flat[:, slice(*along)].any(axis=1))
    over = (int(across[0]), int(across[-1]) + 1)
    x, y = (along, over) if is_horizontal else (over, along)
    handle = BoundingBox(left + x[0], top + y[0], left + x[1], top + y[1])
    return observation.convert_box(handle, "screen")


def build_handle(slider: Thing, at: BoundingBox) -> Thing:
    """The handle as a thing of its own."""
    e = slider.element
    element = Element(
        "slider handle", e.name, at, text=e.text, label=e.label, window=e.window, app=e.app
    )
    return Thing(element, at, slider.labels, slider.front, 0.9)


def _longest_run(drawn: list[bool]) -> tuple[int, int]:
    """Returns begin and end of the track with its handle; a value beside it stands apart."""
    best, at = (0, 0), 0
    for is_drawn, run in groupby(drawn):
        length = sum(1 for _ in run)
        if is_drawn and length > best[1] - best[0]:
            best = at, at + length
        at += length
    return best


def _heights(drawn: NDArray[np.bool_]) -> NDArray[np.int64]:
    """From the first to the last drawn pixel of each column: a handle may be but a ring."""
    import numpy as np

    first = drawn.argmax(axis=0)
    last = drawn.shape[0] - drawn[::-1].argmax(axis=0)
    return np.where(drawn.any(axis=0), last - first, 0)


def _thick(profile: NDArray[np.int64]) -> tuple[int, int] | None:
    """Returns begin and end of the one thick part."""
    import numpy as np

    on = profile[profile > 0]
    if on.size < 5:
        return None
    track = max(1.0, float(np.median(on)))
    most = int(profile.max())
    if most < _STANDS_OUT * track or most < 5:
        return None
    thick = (profile >= max(track * 1.2, 0.4 * most)).tolist()
    runs, at = [], 0
    for is_thick, run in groupby(thick):
        length = sum(1 for _ in run)
        if is_thick:
            runs.append((at, at + length))
        at += length
    runs = [run for run in runs if run[1] - run[0] >= 4]
    return runs[0] if len(runs) == 1 and runs[0][1] - runs[0][0] <= 3 * most else None
