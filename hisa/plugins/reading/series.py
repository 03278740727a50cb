"""Series: like things side by side or one above the other, such as the buttons of a tool bar."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hisa.plugins.reading.scene_table import FAMILIES, Floats, Ints, Table

__all__ = ["SERIES_FAMILY", "SeriesPlaces", "line_up", "number_lines"]

SERIES_FAMILY = np.arange(len(FAMILIES))
"""For each family a number; those that stand in one series have the same."""
for _family, _series in (
    ("menu", "item"),
    ("part", "button"),
    ("link", "button"),
    ("choice", "field"),
):
    SERIES_FAMILY[FAMILIES.index(_family)] = FAMILIES.index(_series)
_GAP = 7.0
"""Sizes of a thing between two of a series, at most; a size is the height, at least 12 pixels."""
_LEAST, _MOST = 12.0, 200.0
"""Pixels of the screen that count as a size, and between two of a series, at most."""
_SIZES = 1.7
"""Times that one is as high as the next, at most."""


@dataclass(frozen=True)
class SeriesPlaces:
    """The place of each thing in its series; -1 where it is in none.

    ``index`` counts from 0, ``number`` is of all in the series, ``series`` names it.
    """

    index: Ints
    number: Ints
    series: Ints

    def nth(self, nth: int) -> Floats:
        """Whether each is the nth of its series, of at least two; negative counts from the end."""
        expected = nth - 1 if nth > 0 else self.number + nth
        return np.asarray((self.index == expected) & (self.number >= 2), dtype=float)

    def end(self, *, last: bool) -> Floats:
        """1 for the first (or last) of a series, less for the next."""
        place = self.number - 1 - self.index if last else self.index
        return np.where(self.number >= 2, 1.0 / (1 + np.maximum(place, 0)), 0.0)

    def middle(self) -> Floats:
        """Whether each is in the middle of its series, of an odd number."""
        is_middle = (self.number >= 3) & (2 * self.index == self.number - 1)
        return np.asarray(is_middle, dtype=float)


def line_up(table: Table, members: Ints) -> tuple[SeriesPlaces, SeriesPlaces]:
    """The places in series across and down.

    Args:
        table: the things.
        members: rows of those that count, each in another place.
    """
    count = len(table.things)
    across, down = _SeriesPlaces(count), _SeriesPlaces(count)
    kind = SERIES_FAMILY[table.family]
    for line in _chains(table.y, table.height, members):
        line.sort(key=lambda row: table.x[row])
        across.add(table, _split(table, line, kind, 0))
    for column in _columns(table, members):
        column.sort(key=lambda row: table.y[row])
        down.add(table, _split(table, column, kind, 1))
    return across.places(), down.places()


def number_lines(middle: Floats, size: Floats, members: Ints) -> SeriesPlaces:
    """The place of the line in which each member stands, among all lines.

    Args:
        middle: where the middle of each thing is, across the lines.
        size: its size in that direction.
        members: rows of those that count.
    """
    index, number = np.full(len(middle), -1), np.full(len(middle), -1)
    chains = _chains(middle, size, members)
    for place, line in enumerate(chains):
        index[line] = place
        number[line] = len(chains)
    return SeriesPlaces(index, number, index)


class _SeriesPlaces:
    def __init__(self, count: int) -> None:
        self._index = np.full(count, -1)
        self._number = np.full(count, -1)
        self._series = np.full(count, -1)
        self._next = 0

    def add(self, table: Table, parts: list[list[int]]) -> None:
        for part in parts:
            self._index[part] = np.arange(len(part))
            self._number[part] = len(part)
            self._series[part] = self._next
            self._next += 1

    def places(self) -> SeriesPlaces:
        return SeriesPlaces(self._index, self._number, self._series)


def _chains(middle: Floats, size: Floats, members: Ints) -> list[list[int]]:
    """Members in lines: the middle of each lies within the one before."""
    lines: list[list[int]] = []
    for row in members[np.argsort(middle[members], kind="stable")].tolist():
        if lines:
            first = lines[-1][0]
            least = min(size[row], size[first])
            if middle[row] - middle[first] < 0.5 * max(least, 4):
                lines[-1].append(row)
                continue
        lines.append([row])
    return lines


def _columns(table: Table, members: Ints) -> list[list[int]]:
    """Members that begin at the same place, or have the same middle."""
    left, x = table.box[:, 0], table.x
    columns: list[list[int]] = []
    near = np.maximum(4.0, 0.15 * np.minimum(table.width, 40.0))
    by_left = _bins(left, near, members)
    for column in by_left:
        if len(column) > 1:
            columns.append(column)
    alone = np.array([c[0] for c in by_left if len(c) == 1], dtype=int)
    columns += [c for c in _bins(x, near, alone) if len(c) > 1]
    return columns


def _bins(at: Floats, near: Floats, members: Ints) -> list[list[int]]:
    columns: list[list[int]] = []
    for row in members[np.argsort(at[members], kind="stable")].tolist():
        if columns and at[row] - at[columns[-1][0]] <= near[row]:
            columns[-1].append(row)
        else:
            columns.append([row])
    return columns


def _split(table: Table, line: list[int], kind: Ints, axis: int) -> list[list[int]]:
    """The series of a line: a gap, another kind or another size begins a new one."""
    parts: dict[int, list[list[int]]] = {}
    for row in line:
        mine = parts.setdefault(int(kind[row]), [])
        if mine and _goes_on(table, mine[-1][-1], row, axis):
            mine[-1].append(row)
        else:
            mine.append([row])
    return [part for parts_of_kind in parts.values() for part in parts_of_kind]


def _goes_on(table: Table, row: int, next_row: int, axis: int) -> bool:
    high, low = sorted((table.height[row], table.height[next_row]), reverse=True)
    if high > _SIZES * max(low, 1):
        return False
    gap = table.box[next_row, axis] - table.box[row, axis + 2]
    return bool(gap <= min(_GAP * max(low, _LEAST), _MOST))
