"""A workbook opened twice: its stored values, and everything else of it."""

from __future__ import annotations

import datetime
import io
import math
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from hisa.plugins.benchmarks.tasks.metric import Unreadable, as_package
from hisa.tasks.limits import MAX_CELLS

__all__ = ["Book", "Cells"]

_ABSENT = frozenset(
    """#N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|<NA>|N/A|NA|NULL|NaN|None|n/a
    |nan|null""".replace("\n    ", "").split("|")
) | {""}
"""Texts that count as an empty cell when data are compared."""

_NUMBER = re.compile(
    r"[ \t]*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf(?:inity)?)[ \t]*", re.A | re.I
)

Cells = tuple[tuple[Any, ...], ...]
"""Rows of values, all of one length."""


@contextmanager
def _quiet() -> Iterator[None]:
    """The reader warns of what it does not keep; nothing is written back here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Book:
    """An .xlsx file.

    Args:
        path: the file; loaded when first asked for.

    Raises:
        Unreadable: not a workbook, or too large.
    """

    def __init__(self, path: Path) -> None:
        self.path = as_package(path)

    @cached_property
    def styled(self) -> Any:
        """The workbook with formulas, styles, charts and pivot tables."""
        import openpyxl

        with _quiet():
            return openpyxl.load_workbook(io.BytesIO(self.path.read_bytes()))

    @cached_property
    def _values(self) -> Any:
        import openpyxl

        with _quiet():
            data = io.BytesIO(self.path.read_bytes())
            return openpyxl.load_workbook(data, data_only=True)

    @property
    def names(self) -> list[str]:
        """Sheet names, in order."""
        return list(self.styled.sheetnames)

    def sheet(self, name: str) -> Any | None:
        """A worksheet with its styles; None where there is none of that name."""
        return self.styled[name] if name in self.styled.sheetnames else None

    def rows(self, name: str) -> Cells | None:
        """A sheet's stored values, without empty rows and columns at the end.

        Below the header, a text such as "n/a" is no value, but its row and column are not empty.
        """
        if name not in self._values.sheetnames:
            return None
        cells = {
            (cell.row, cell.column): _datum(cell)
            for cell in self._values[name]._cells.values()
            if cell.value is not None and cell.value != ""
        }
        height = max((row for row, _ in cells), default=0)
        width = max((column for _, column in cells), default=0)
        if height * width > MAX_CELLS:
            raise Unreadable(f"{self.path.name}: sheet {name!r} has {height}x{width} cells")
        return tuple(
            tuple(cells.get((row, column)) for column in range(1, width + 1))
            for row in range(1, height + 1)
        )

    def stored(self, name: str, coordinate: str) -> Any:
        """One stored value: a text or a number (dates too); None for anything else."""
        if name not in self._values.sheetnames:
            return None
        value = self._values[name][coordinate].value
        if isinstance(value, bool):
            return None
        if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
            from openpyxl.utils.datetime import to_excel

            return float(to_excel(value))
        return float(value) if isinstance(value, int | float) else value


def _datum(cell: Any) -> Any:
    """A cell's value for comparing data: errors and "n/a" are empty, whole numbers are whole."""
    value = cell.value
    if cell.data_type == "e" or (cell.row > 1 and isinstance(value, str) and value in _ABSENT):
        return None
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return int(value) if value.is_integer() else value
    return value


def rounded(cells: Cells, digits: int) -> list[tuple[Any, ...]]:
    """The columns below a header row; numbers are rounded in columns that hold nothing else.

    A number that is stored as text counts as a number there, as it does in the benchmark.
    """
    columns = []
    for column in zip(*cells, strict=True):
        header, *body = column
        columns.append((_typed(header), *map(_typed, _numbers(body, digits) or body)))
    return columns


def _numbers(body: list[Any], digits: int) -> list[float | None]:
    """The values of a column of numbers, rounded; empty for any other column."""
    found = [None if value is None else _number(value) for value in body]
    unlike = any(a is None and b is not None for a, b in zip(found, body, strict=True))
    if unlike or all(isinstance(value, bool | None) for value in body):
        return []
    return [None if value is None else round(value, digits) + 0.0 for value in found]


def _number(value: Any) -> float | None:
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        return None
    return float(value) if isinstance(value, str | int | float) else None


def _typed(value: Any) -> Any:
    """True is not 1 in a sheet."""
    return ("bool", value) if isinstance(value, bool) else value
