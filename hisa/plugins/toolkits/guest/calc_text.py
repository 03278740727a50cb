"""Reads the texts that cells show, and formats them for an answer."""

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
"""Cells that are read one by one, at 2 ms each; writing a sheet as text takes 20 ms and more."""
_WRITTEN = 300_000
"""Most cells of a sheet that is written as text, which then takes a second or two."""
_CELL = 200
"""Characters of one cell in a table."""
_SHORT = 40
"""Characters of one cell in an answer of one line."""
_STATE = 8
"""Cells that such an answer shows."""
_NAMED = 5
"""Cells with an error that an answer names."""
_ERRORS = 4
"""com.sun.star.sheet.FormulaResult: formulas that yield an error."""


def read_shown(desk: Desk, part: Area) -> list[list[str]]:
    """Returns the texts that a person sees in the cells."""
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
    """Returns a whole sheet as CSV, with the cells as they are shown.

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
        csv_path = next(Path(folder).iterdir())  # LibreOffice adds the sheet's name
        with csv_path.open(newline="", encoding="utf-8") as file:
            return file.read()


def _read_cells(part: Area) -> list[list[str]]:
    cell = part.range.getCellByPosition
    return [[cell(x, y).String for x in range(part.columns)] for y in range(part.rows)]


def line(value: Any) -> str:
    """Returns a cell's value on one line, for a table."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    text = "" if value is None else str(value)
    text = text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")
    return text if len(text) <= _CELL else text[: _CELL - 1] + "…"


def short(text: str) -> str:
    """Returns a cell's text, shortened for an answer of one line."""
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
    """Returns `state` of formulas just written; as `Faulty` if one yields an error."""
    summary = state(block)
    wrong = block.range.queryFormulaCells(_ERRORS).RangeAddresses
    return Faulty(f"written, but {summary}") if wrong else summary


def errors_in(block: Area) -> list[str]:
    """Returns the cells whose formulas yield an error, the first few with the error."""
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
