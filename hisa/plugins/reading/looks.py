"""What the picture shows of things: their colours, and which stand out from the like."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hisa.plugins.matching.scene import Scene

__all__ = ["Looks"]

Floats = NDArray[np.float64]

_HUES = {
    "red": ((340, 360), (0, 14)), "orange": ((14, 44),), "yellow": ((40, 68),),
    "green": ((70, 168),), "blue": ((178, 255),), "purple": ((245, 315),), "pink": ((300, 345),),
}  # fmt: skip
"""Degrees around the circle of colours."""
_VIVID = 70
"""Saturation from which a pixel has a colour, of 255."""


class Looks:
    """The picture of things. Everything is looked at when first asked for.

    Args:
        scene: holds the picture.
        box: the things' boxes, n by left, top, right, bottom.
        family: a number for each; what has the same is alike.
    """

    def __init__(self, scene: Scene, box: Floats, family: NDArray[np.int64]) -> None:
        self._look = scene.observation
        self._box, self._family = box, family
        self._shares: dict[str, Floats] = {}

    @cached_property
    def _parts(self) -> list[tuple[int, int, int, int] | None]:
        """Each thing's box in the picture; None where too little of it can be seen."""
        observation = self._look
        wide = observation.image.width / max(observation.screen.width, 1)
        high = observation.image.height / max(observation.screen.height, 1)
        scaled = self._box * np.array([wide, high, wide, high])
        parts: list[tuple[int, int, int, int] | None] = []
        for left, top, right, bottom in np.round(scaled).astype(int).tolist():
            shown = right - left >= 3 and bottom - top >= 3
            parts.append((left, top, right, bottom) if shown else None)
        return parts

    @cached_property
    def _pixels(self) -> tuple[Floats, Floats, Floats]:
        """Hue in degrees, saturation and brightness of 255."""
        picture = np.asarray(self._look.screenshot.pixels.convert("HSV"))
        hue = picture[:, :, 0].astype(float) * (360 / 255)
        return hue, picture[:, :, 1].astype(float), picture[:, :, 2].astype(float)

    def rate_colours(self, colours: frozenset[str]) -> Floats:
        """The share of each thing that has a colour, as a part of the largest on the screen.

        Args:
            colours: names, see `hisa.plugins.reading.description_hints.COLOURS`; none gives zeros.
        """
        best = np.zeros(len(self._box))
        for colour in colours:
            if colour not in self._shares:
                self._shares[colour] = self._share(colour)
            best = np.maximum(best, self._shares[colour])
        return np.sqrt(np.minimum(best * 4, 1.0))

    def _share(self, colour: str) -> Floats:
        hue, saturation, value = self._pixels
        if colour in _HUES:
            mask = np.zeros(hue.shape, dtype=bool)
            for low, high in _HUES[colour]:
                mask |= (hue >= low) & (hue <= high)
            mask &= (saturation > _VIVID) & (value > 60)
        elif colour == "black":
            mask = value < 60
        elif colour == "white":
            mask = (value > 240) & (saturation < 20)
        else:
            mask = (saturation < 30) & (value > 90) & (value < 225)
        return self._sums(mask)

    def _sums(self, mask: NDArray[np.bool_]) -> Floats:
        """The share of each box that a mask covers, by sums over the whole picture."""
        total = np.zeros((mask.shape[0] + 1, mask.shape[1] + 1))
        total[1:, 1:] = mask.cumsum(axis=0, dtype=float).cumsum(axis=1)
        shares = np.zeros(len(self._parts))
        for row, part in enumerate(self._parts):
            if part is not None:
                left, top, right, bottom = self._clip(part, mask.shape)
                inside = (
                    total[bottom, right]
                    - total[top, right]
                    - total[bottom, left]
                    + total[top, left]
                )
                shares[row] = inside / max((right - left) * (bottom - top), 1)
        return shares

    @staticmethod
    def _clip(part: tuple[int, int, int, int], shape: tuple[int, ...]) -> tuple[int, int, int, int]:
        left, top, right, bottom = part
        high, wide = shape[0], shape[1]
        return max(left, 0), max(top, 0), min(right, wide), min(bottom, high)

    def standing_out(self) -> Floats:
        """Rate how unlike the like beside it each thing is painted, 0..1."""
        return self._out

    @cached_property
    def _out(self) -> Floats:
        grounds = self._grounds
        result = np.zeros(len(self._box))
        height = self._box[:, 3] - self._box[:, 1]
        keys = self._family * 10_000 + (height // 4).astype(int)
        for key in np.unique(keys):
            rows = np.flatnonzero((keys == key) & ~np.isnan(grounds[:, 0]))
            if 3 <= len(rows) <= 600:
                result[rows] = self._measure_difference(rows)
        return result

    def _measure_difference(self, rows: NDArray[np.int64]) -> Floats:
        """The difference of each ground from the middle of those on its line or in its column."""
        grounds, box = self._grounds, self._box
        middle_y, height = (box[:, 1] + box[:, 3]) / 2, box[:, 3] - box[:, 1]
        differences = np.zeros(len(rows))
        for place, row in enumerate(rows):
            level = np.abs(middle_y[rows] - middle_y[row]) < 0.5 * height[row]
            below = np.abs(box[rows, 0] - box[row, 0]) < 8
            for mates in (rows[level], rows[below]):
                if len(mates) >= 3:
                    middle = np.median(grounds[mates], axis=0)
                    off = float(np.abs(grounds[row] - middle).max())
                    differences[place] = max(differences[place], min(off / 48, 1.0))
        return differences

    @cached_property
    def _grounds(self) -> Floats:
        """The commonest paint of each thing: the median of a grid of its pixels."""
        picture = np.asarray(self._look.screenshot.pixels)
        result = np.full((len(self._parts), 3), np.nan)
        for row, part in enumerate(self._parts):
            if part is None:
                continue
            left, top, right, bottom = self._clip(part, picture.shape)
            wide, high = max((right - left) // 8, 1), max((bottom - top) // 8, 1)
            cut = picture[top:bottom:high, left:right:wide]
            if cut.size:
                result[row] = np.median(cut.reshape(-1, 3), axis=0)
        return result
