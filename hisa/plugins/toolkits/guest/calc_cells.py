"""Reads and writes cells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from .calc_formulas import spell_formula
from .calc_places import (
    Area,
    area,
    blocks,
    cell_address,
    constant,
    find_used_area,
    letters,
    number_format,
    require_filled_area,
    reveal,
)
from .calc_text import line, read_shown, short, state, written_state
from .office_bridge import Desk, Refused, Unchanged, changes, looks

__all__ = ["FUNCTIONS"]

_MOST_CELLS = 1000
"""Cells that one answer shows; reading each takes 0.2 ms, and the text of 1000 has some 6000
characters, of 8000 that are kept."""
_TEXT = 6000
"""Characters of an answer with cells."""
_LISTED = 25
"""Cells that an answer lists by name."""

Value = str | float | bool | None


@looks("calc")
def read(desk: Desk, cells: str, show: str) -> str:
    """Returns the cells as a table; its first column is the row's number.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        cells: a block as `area` takes it; only its used part is read.
        show: "shown" (as on the screen), "values" or "formulas".
    """
    block = require_filled_area(area(desk, cells))
    columns = min(block.columns, _MOST_CELLS)
    rows = min(block.rows, max(1, _MOST_CELLS // columns))
    part = Area(block.sheet, block.left, block.top, block.left + columns - 1, block.top + rows - 1)
    table = [[line(value) for value in row] for row in _contents(desk, part, show)]
    names = [letters(part.left + index) for index in range(columns)]
    lines = [block.label, "\t".join(["", *names])]
    length, row_count = 0, 0
    for index, row in enumerate(table):
        text = "\t".join([str(part.top + index + 1), *row]).rstrip("\t")[:_TEXT]
        length += len(text) + 1
        if length > _TEXT and index:
            break
        lines.append(text)
        row_count = index + 1
    return "\n".join([*lines, *_list_omissions(block, row_count, columns)])


def _list_omissions(block: Area, rows: int, columns: int) -> Iterable[str]:
    if rows < block.rows:
        rest = block.part(rows, block.rows - rows)
        yield f"… not shown: {rest.rows} more rows, {rest.cells}"
    if columns < block.columns:
        yield f"… not shown: {block.columns - columns} more columns"


def _contents(desk: Desk, part: Area, show: str) -> Sequence[Sequence[Any]]:
    if show == "formulas":
        return part.range.FormulaArray  # type: ignore[no-any-return]
    if show == "values":
        return part.range.DataArray  # type: ignore[no-any-return]
    return read_shown(desk, part)


@changes("calc", "Write cells")
def write(desk: Desk, cell: str, values: list[list[Value]]) -> str:
    """Write a block of values from a cell on; a text that begins with = is a formula.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        cell: the upper left cell, as `area` takes it.
        values: rows of cells; None leaves a cell as it is, "" empties it.
    """
    start = area(desk, cell)
    width = max((len(row) for row in values), default=0)
    if not width:
        raise Refused("values is empty; expected a list of rows, each a list of cells")
    block = _block_at(start, width, len(values))
    _put(desk, block, values)
    reveal(desk, block)
    return written_state(block)


def _put(desk: Desk, block: Area, values: Sequence[Sequence[Value]]) -> None:
    """Writes values into a block; None, or a row that is too short, leaves a cell as it is."""
    gaps = any(len(row) < block.columns or None in row for row in values)
    now = block.range.FormulaArray if gaps else ()
    rows = []
    for y, row in enumerate(values):
        full = [*row, *[None] * (block.columns - len(row))]
        rows.append(tuple(now[y][x] if v is None else _spell_value(v) for x, v in enumerate(full)))
    block.range.FormulaArray = tuple(rows)
    for y, row in enumerate(values):
        for x, value in enumerate(row):
            code = _code(value)
            if code:
                _show_as(desk, block.range.getCellByPosition(x, y), code)


_CODES = {
    r"\d{4}-\d\d-\d\d": "YYYY-MM-DD", r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?": "YYYY-MM-DD HH:MM",
    r"\d?\d:\d\d": "HH:MM", r"\d?\d:\d\d:\d\d": "HH:MM:SS", r"-?\d+%": "0%",
    r"-?\d*\.\d+%": "0.00%",
}  # fmt: skip


def _code(value: Value) -> str:
    """Returns the number format that a typed text gives its cell; empty: none."""
    if not isinstance(value, str):
        return ""
    return next((code for form, code in _CODES.items() if re.fullmatch(form, value)), "")


def _show_as(desk: Desk, cell: Any, code: str) -> None:
    """Give a cell a number format, if it holds a number and has no format of its own."""
    if cell.Type == constant("table.CellContentType.VALUE") and cell.NumberFormat == 0:
        cell.NumberFormat = number_format(desk, code)


def _spell_value(value: Value) -> Any:
    """Returns a value as it would be typed."""
    if isinstance(value, bool):
        return "=TRUE()" if value else "=FALSE()"
    return spell_formula(value) if isinstance(value, str) and value.startswith("=") else value


@changes("calc", "Write formula")
def formula(desk: Desk, cells: str, formula: str) -> str:
    """Write a formula into the first cell and fill the others with it.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        cells: a block as `area` takes it; whole columns are cut to the used rows.
        formula: as it is to stand in the first cell; the "=" may be missing.
    """
    block = _clip_to_used(area(desk, cells))
    block.first.Formula = spell_formula(formula if formula.startswith("=") else f"={formula}")
    _fill(block, "down")
    reveal(desk, block)
    return written_state(block)


def _clip_to_used(block: Area) -> Area:
    """Returns a block; whole columns or rows are cut to the part of the sheet in use."""
    spans_sheet = block.rows == block.sheet.Rows.Count or block.columns == block.sheet.Columns.Count
    if not spans_sheet:
        return block
    on_sheet = find_used_area(block.sheet)
    if on_sheet is None:
        raise Refused(f"{block.label} is empty; name the cells, such as 'C2:C20'")
    tall = block.rows == block.sheet.Rows.Count
    return Area(
        block.sheet,
        block.left if tall else max(block.left, on_sheet.left),
        max(block.top, on_sheet.top) if tall else block.top,
        block.right if tall else min(block.right, on_sheet.right),
        min(block.bottom, on_sheet.bottom) if tall else block.bottom,
    )


_WAYS = {
    "down": "TO_BOTTOM",
    "right": "TO_RIGHT",
    "up": "TO_TOP",
    "left": "TO_LEFT",
}


def _fill(block: Area, direction: str, series: bool = False) -> None:
    if direction == "down" and not series:
        _fill_direction(Area(block.sheet, block.left, block.top, block.right, block.top), "right")
    _fill_direction(block, direction, series)


def _fill_direction(block: Area, direction: str, series: bool = False) -> None:
    way = constant(f"sheet.FillDirection.{_WAYS[direction]}")
    if series:
        block.range.fillAuto(way, 1)
        return
    mode = constant("sheet.FillMode.SIMPLE")
    date = constant("sheet.FillDateMode.FILL_DATE_DAY")
    block.range.fillSeries(way, mode, date, 1.0, 1e307)


@changes("calc", "Fill")
def fill(desk: Desk, cells: str, direction: str, series: bool) -> str:
    """Fill a block from its first row, last row, first column or last column.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        cells: the whole block, with the line that is copied.
        direction: "down", "right", "up" or "left".
        series: whether to continue a series (1, 2, …) instead of copying.
    """
    block = _clip_to_used(area(desk, cells))
    _fill_direction(block, direction, series)
    reveal(desk, block)
    return written_state(block)


_CLEARED = {
    "contents": 1 | 2 | 4 | 16,
    "comments": 8,
    "formats": 32 | 64,
    "all": 1 | 2 | 4 | 8 | 16 | 32 | 64 | 128 | 256,
}


@changes("calc", "Clear cells")
def clear(desk: Desk, cells: str, what: str) -> str:
    """Clear contents, formats, comments or all.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        cells: a block as `area` takes it.
        what: "contents", "formats", "comments" or "all".
    """
    block = area(desk, cells)
    before = _count_filled(block)
    block.range.clearContents(_CLEARED[what])
    reveal(desk, block)
    left = _count_filled(block)
    return f"{block.label}: {what} cleared; {left} filled cells there now, {before} before"


def _count_filled(block: Area) -> int:
    addresses = block.range.queryContentCells(_CLEARED["contents"]).RangeAddresses
    return sum(
        (address.EndRow - address.StartRow + 1) * (address.EndColumn - address.StartColumn + 1)
        for address in addresses
    )


def _select_blocks(desk: Desk, cells: str) -> list[Area]:
    """Returns the blocks to search: the named one, or the used part of each sheet."""
    if cells:
        return [_clip_to_used(area(desk, cells))]
    used_areas = (
        find_used_area(desk.document.Sheets.getByName(n)) for n in desk.document.Sheets.ElementNames
    )
    return [block for block in used_areas if block is not None]


def _build_search(block: Area, text: str, options: dict[str, bool]) -> Any:
    search = block.range.createReplaceDescriptor()
    search.SearchString = text
    search.SearchCaseSensitive = options["match_case"]
    search.SearchWords = options["whole_cell"]
    search.SearchRegularExpression = options["regex"]
    return search


@looks("calc")
def find(desk: Desk, text: str, cells: str, **options: bool) -> str:
    """Lists the cells that show a text.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        text: what to search for, or a regular expression.
        cells: where to search; empty: all sheets.
        options: `match_case`, `whole_cell` and `regex`.
    """
    labels: list[str] = []
    count = 0
    for block in _select_blocks(desk, cells):
        search = _build_search(block, text, options)
        search.SearchType = 1  # what is shown, not formulas
        hits = block.range.findAll(search)
        for hit in [] if hits is None else blocks(desk, hits):
            count += hit.count
            for index in range(min(hit.count, _LISTED - len(labels))):
                cell = Area(hit.sheet, hit.left, hit.top, hit.left, hit.top)
                cell = cell.at(index % hit.columns, index // hit.columns)
                labels.append(f"{cell.label} {short(cell.first.String)}")
    where = f" in {cells}" if cells else ""
    if not count:
        return f"{text!r} is not found{where}"
    more = f" … ({count} cells in all)" if count > len(labels) else ""
    return f"{count} cells: {', '.join(labels)}{more}"


@changes("calc", "Replace")
def replace(desk: Desk, text: str, replacement: str, cells: str, **options: bool) -> str:
    """Replace a text everywhere.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        text: what to search for, or a regular expression.
        replacement: the new text; "" removes what was found.
        cells: where to search; empty: all sheets.
        options: `match_case`, `whole_cell` and `regex`.
    """
    count = 0
    for block in _select_blocks(desk, cells):
        search = _build_search(block, text, options)
        search.ReplaceString = replacement
        hits = block.range.findAll(search)
        count += 0 if hits is None else sum(hit.count for hit in blocks(desk, hits))
        block.range.replaceAll(search)
    where = f" in {cells}" if cells else ""
    if not count:
        return Unchanged(f"{text!r} is not found{where}; nothing is replaced")
    return f"{count} cells changed{where}: {text!r} is {replacement!r} now"


@changes("calc", "Copy cells")
def copy(desk: Desk, cells: str, to: str, values_only: bool) -> str:
    """Copy a block; references in formulas adjust.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        cells: the block to copy, as `area` takes it.
        to: the upper left cell of the new place.
        values_only: whether to copy results, without formulas and formats.
    """
    block, target = _find_blocks(desk, cells, to)
    if values_only:
        target.range.DataArray = block.range.DataArray
    else:
        target.sheet.copyRange(cell_address(target), block.range.RangeAddress)
    reveal(desk, target)
    return state(target)


def _find_blocks(desk: Desk, cells: str, to: str) -> tuple[Area, Area]:
    block = _clip_to_used(area(desk, cells))
    start = area(desk, to)
    return block, _block_at(start, block.columns, block.rows)


def _block_at(start: Area, columns: int, rows: int) -> Area:
    last = start.sheet.Columns.Count, start.sheet.Rows.Count
    if start.left + columns > last[0] or start.top + rows > last[1]:
        raise Refused(f"{rows} rows of {columns} columns do not fit at {start.label}")
    right, bottom = start.left + columns - 1, start.top + rows - 1
    return Area(start.sheet, start.left, start.top, right, bottom)


FUNCTIONS = {
    "read": read, "write": write, "formula": formula, "fill": fill, "clear": clear, "find": find,
    "replace": replace, "copy": copy,
}  # fmt: skip
