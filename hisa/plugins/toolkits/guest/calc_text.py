"""The texts that cells show, and how an answer tells of them."""

from __future__ import annotations

import csv
import itertools
import tempfile
from pathlib import Path
from typing import Any

from .calc_places import Area, find_used_area
from .office_bridge import Desk, Faulty
from .office_files import write_copy

__all__ = ["errors_in", "line", "read_shown", "sheet_text", "short", "state", "written_state"]

_FEW_CELLS = 16
"""Cells that are asked for one by one: 2 ms each; writing a sheet as text takes 20 ms and more."""
_WRITTEN = 300_000
"""Cells of a sheet that is written as text, which takes a second or two then."""
_CELL = 200
"""Characters of one cell in a table."""
_SHORT = 40
"""Characters of one cell in an answer of one line."""
_STATE = 8
"""Cells that such an answer shows."""
_NAMED = 5
"""Cells with an error that an answer names."""
_ERRORS = 4
"""com.sun.star.sheet.FormulaResult: of formulas, those that yield an error."""


def read_shown(desk: Desk, part: Area) -> list[list[str]]:
    """The texts that a person sees in the cells."""
    on_sheet = find_used_area(part.sheet)
    if part.count <= _FEW_CELLS or on_sheet is None or on_sheet.count > _WRITTEN:
        return _read_cells(part)
    text = sheet_text(desk, part.sheet, separator="\t")
    lines = csv.reader(text.splitlines(keepends=True), delimiter="\t")
    rows = list(itertools.islice(lines, part.bottom + 1))
    table = []
    for number in range(part.top, part.bottom + 1):
        row = rows[number] if number < len(rows) else []
        row = row[part.left : part.right + 1]
        table.append([*row, *[""] * (part.columns - len(row))])
    return table


def sheet_text(desk: Desk, sheet: Any, *, separator: str) -> str:
    """A whole sheet as CSV, cells as they are shown.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        sheet: the sheet, as UNO gives it.
        separator: one character between cells.
    """
    index = sheet.RangeAddress.Sheet + 1
    options = f"{ord(separator)},34,76,1,,0,false,true,true,false,false,{index}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "sheet.csv")
        write_copy(desk, path, "Text - txt - csv (StarCalc)", FilterOptions=options)
        csv_path = next(Path(folder).iterdir())  # its name has the sheet's in it
        with csv_path.open(newline="", encoding="utf-8") as file:
            return file.read()


def _read_cells(part: Area) -> list[list[str]]:
    cell = part.range.getCellByPosition
    return [[cell(x, y).String for x in range(part.columns)] for y in range(part.rows)]


def line(value: Any) -> str:
    """One cell on one line, as a table has it."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    text = "" if value is None else str(value)
    text = text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")
    return text if len(text) <= _CELL else text[: _CELL - 1] + "…"


def short(text: str) -> str:
    """One cell in an answer of one line."""
    text = line(text)
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"


def state(block: Area) -> str:
    """Returns the values of a block, on one line, as the answer to a change."""
    columns = min(block.columns, _STATE)
    rows = min(block.rows, max(1, _STATE // columns))
    part = Area(block.sheet, block.left, block.top, block.left + columns - 1, block.top + rows - 1)
    texts = " / ".join(" | ".join(map(short, row)) for row in _read_cells(part))
    more = "" if part.count == block.count else " …"
    wrong = errors_in(block)
    errors = f"; {len(wrong)} with an error: {', '.join(wrong[:_NAMED])}" if wrong else ""
    return f"{block.label}: {texts}{more}{errors}"


def written_state(block: Area) -> str:
    """The same of formulas that were just written: no success where one yields an error."""
    summary = state(block)
    wrong = block.range.queryFormulaCells(_ERRORS).RangeAddresses
    return Faulty(f"written, but {summary}") if wrong else summary


def errors_in(block: Area) -> list[str]:
    """The cells of a block whose formulas yield an error; the first are told with it."""
    addresses = block.range.queryFormulaCells(_ERRORS).RangeAddresses
    places = [
        (column, row)
        for address in addresses
        for row in range(address.StartRow, address.EndRow + 1)
        for column in range(address.StartColumn, address.EndColumn + 1)
    ]
    cells = [Area(block.sheet, *place, *place) for place in places]
    return [
        f"{cell.cells} {cell.first.String}" if index < _NAMED else cell.cells
        for index, cell in enumerate(cells)
    ]
