"""How things lie to each other: distances in a direction, and orders in rows and columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hisa.plugins.matching.description import RelativePosition
from hisa.plugins.reading.scene_table import Floats, Ints

__all__ = ["Order", "measure_distances", "orders"]

_INF = float("inf")
_OVERLAP = 6
"""Pixels by which the boxes of neighbours may overlap: their borders."""


def measure_distances(position: RelativePosition, box: Floats, at: Floats) -> Floats:
    """Pixels of each box from another one in a direction; infinite where it does not lie there.

    Args:
        position: the direction; "near" is any.
        box: n boxes.
        at: one box.
    """
    left, top, right, bottom = at
    across = np.maximum(left - box[:, 2], box[:, 0] - right)
    down = np.maximum(top - box[:, 3], box[:, 1] - bottom)
    x, y = (box[:, 0] + box[:, 2]) / 2, (box[:, 1] + box[:, 3]) / 2
    same = np.all(np.abs(box - at) < 1, axis=1)
    if position == "within":
        inside = (x >= left) & (x <= right) & (y >= top) & (y <= bottom)
        smaller = (box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1]) < (right - left) * (
            bottom - top
        )
        far = np.where(inside & smaller, 0.0, _measure_in_group(box, at, across, down))
        return np.asarray(far + 1e9 * same)
    if position == "row":
        low = np.minimum(box[:, 3] - box[:, 1], bottom - top)
        return np.where(down < -0.4 * low, np.maximum(across, 0) * 0.02, _INF)
    if position == "column":
        return np.where((across < -4) & (box[:, 1] > top), np.maximum(down, 0) * 0.02, _INF)
    if position == "near":
        far = np.maximum(across, 0) + 3 * np.maximum(down, 0)
        return np.where(~same & (far < 400), far, _INF)
    return np.where(same, _INF, _measure_direction(position, box, at, across, down))


def _measure_in_group(box: Floats, at: Floats, across: Floats, down: Floats) -> Floats:
    """The distance of what stands in the row of a name, right of it, or under it as a heading."""
    left, _, right, bottom = at
    in_row = (down < 0) & (box[:, 0] >= right - _OVERLAP)
    under = (box[:, 1] >= bottom - 2) & (box[:, 0] >= left - 20)
    small = bottom - at[1] < 60
    row = np.where(in_row & small, 40 + 0.1 * across, _INF)
    return np.asarray(np.minimum(row, np.where(under & small, 80 + 2 * down, _INF)))


def _measure_direction(
    position: RelativePosition, box: Floats, at: Floats, across: Floats, down: Floats
) -> Floats:
    left, top, right, bottom = at
    x, y = (box[:, 0] + box[:, 2]) / 2, (box[:, 1] + box[:, 3]) / 2
    gap = {
        "right": box[:, 0] - right,
        "left": left - box[:, 2],
        "below": box[:, 1] - bottom,
        "above": top - box[:, 3],
    }[position]
    if position in ("left", "right"):
        off, slant = down, np.abs(y - (top + bottom) / 2)
    else:
        off, slant = across, np.abs(x - (left + right) / 2) * 0.5
    far = np.maximum(gap, 0) + 0.25 * np.minimum(slant, 200) + 6 * np.maximum(off, 0)
    return np.asarray(np.where((gap < -_OVERLAP) | (off > 30) | (far > 900), _INF, far))


class Order:
    """Places among like things: index from the start and number, across, down, and in reading."""

    def __init__(self, count: int) -> None:
        self.across: Floats = np.full((count, 2), -1.0)
        self.down: Floats = np.full((count, 2), -1.0)
        self.reading: Floats = np.full((count, 2), -1.0)

    def fits(self, nth: int) -> tuple[Floats, Floats, Floats]:
        """Whether each is the nth of its row, column, and of all; 0 or 1, for at least two."""
        return (_nth(self.across, nth), _nth(self.down, nth), _nth(self.reading, nth))


def _nth(places: Floats, nth: int) -> Floats:
    index, number = places[:, 0], places[:, 1]
    expected = np.full(len(places), nth - 1.0) if nth > 0 else number + nth
    return np.asarray((index == expected) & (number >= 2), dtype=float)


def orders(box: Floats, groups: Ints, members: NDArray[np.bool_]) -> Order:
    """The order of each member among the members of its group.

    Args:
        box: n boxes.
        groups: a number for each; like numbers are alike.
        members: who counts.
    """
    order = Order(len(box))
    for group in np.unique(groups[members]):
        rows = np.flatnonzero(members & (groups == group))
        rows = _distinct(box, rows)
        if 1 < len(rows) <= 1500:
            _place(order, box, rows)
    return order


def _distinct(box: Floats, rows: Ints) -> Ints:
    """One of those that lie in the same place."""
    places = np.round(box[rows] / 4).astype(int)
    _, first = np.unique(places, axis=0, return_index=True)
    return np.asarray(rows[np.sort(first)], dtype=int)


def _place(order: Order, box: Floats, rows: Ints) -> None:
    mine = box[rows]
    x, y = (mine[:, 0] + mine[:, 2]) / 2, (mine[:, 1] + mine[:, 3]) / 2
    width, height = mine[:, 2] - mine[:, 0], mine[:, 3] - mine[:, 1]
    level = np.abs(y[:, None] - y[None, :]) < 0.5 * np.minimum(height[:, None], height[None, :])
    aligned = (np.abs(mine[:, None, 0] - mine[None, :, 0]) < 8) | (
        np.abs(x[:, None] - x[None, :]) < np.minimum(8, 0.3 * np.minimum(width[:, None], width))
    )
    before = x[None, :] < x[:, None] - 1
    over = y[None, :] < y[:, None] - 1
    order.across[rows] = np.stack([(level & before).sum(1), level.sum(1)], axis=1)
    order.down[rows] = np.stack([(aligned & over).sum(1), aligned.sum(1)], axis=1)
    first = (over & ~level) | (level & before)
    order.reading[rows] = np.stack([first.sum(1), np.full(len(rows), len(rows))], axis=1)
