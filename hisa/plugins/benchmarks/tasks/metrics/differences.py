"""Tells the first place at which what the agent left differs from what is expected."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from hisa.plugins.benchmarks.tasks.metric import shown

__all__ = ["difference", "grid_difference", "line_difference", "unlike"]

_ABSENT = object()


def unlike(place: str, found: object, wanted: object) -> str:
    """Says what is at a place and what should be."""
    here, there = (
        "nothing" if value in (_ABSENT, None) else shown(value) for value in (found, wanted)
    )
    return f"{place}: is {here}, not {there}"


def difference(found: Any, wanted: Any, place: str = "") -> str:
    """Returns the first place of two readings that differs, with both values; empty: equal.

    Mappings are gone through by their keys, which name the place; the expected ones come first.
    """
    if found == wanted:
        return ""
    if isinstance(found, Mapping) and isinstance(wanted, Mapping):
        for key in {**wanted, **found}:
            value, other = found.get(key, _ABSENT), wanted.get(key, _ABSENT)
            if value is _ABSENT or other is _ABSENT or value != other:
                return difference(value, other, f"{place} {key}".strip())
    return unlike(place or "it", found, wanted)


def grid_difference(found: Sequence[Sequence[Any]], wanted: Sequence[Sequence[Any]]) -> str:
    """The same of two tables, each a list of columns of one length; the place is a cell."""
    from openpyxl.utils import get_column_letter

    if list(found) == list(wanted):
        return ""
    sizes = [(max(map(len, table), default=0), len(table)) for table in (found, wanted)]
    height, width = (max(value, other) for value, other in zip(*sizes, strict=True))
    places = itertools.product(range(height), range(width))
    row, column = next(place for place in places if _at(found, *place) != _at(wanted, *place))
    cell = f"{get_column_letter(column + 1)}{row + 1}"
    reason = unlike(cell, *(_plain(_at(table, row, column)) for table in (found, wanted)))
    (rows, columns), (high, wide) = sizes
    size = f"; {rows} rows and {columns} columns, not {high} and {wide}"
    return reason + size * (sizes[0] != sizes[1])


def _at(table: Sequence[Sequence[Any]], row: int, column: int) -> Any:
    there = column < len(table) and row < len(table[column])
    return table[column][row] if there else _ABSENT


def _plain(value: Any) -> Any:
    """A truth of a sheet is compared as ``("bool", True)``."""
    return value[1] if isinstance(value, tuple) else value


def line_difference(found: Sequence[str], wanted: Sequence[str]) -> str:
    """The same of two lists of lines; the place is a line's number, from 1."""
    pairs = itertools.zip_longest(found, wanted, fillvalue=_ABSENT)
    for number, (value, other) in enumerate(pairs, 1):
        if value is _ABSENT or other is _ABSENT or value != other:
            return unlike(f"line {number}", value, other)
    return ""
