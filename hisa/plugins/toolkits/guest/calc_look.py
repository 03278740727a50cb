"""Formats cells, and inserts, deletes, sizes and hides rows and columns."""

from __future__ import annotations

from typing import Any

from .calc_places import (
    Area,
    area,
    constant,
    letters,
    lines,
    number_format,
    reveal,
)
from .office_bridge import Desk, Refused, changes, works
from .writer_looks import character, color, describe_character, put, shown_color

__all__ = ["FUNCTIONS"]


def _line_label(block: Area, rows: bool) -> str:
    if rows:
        names = [str(block.top + 1), str(block.bottom + 1)]
    else:
        names = [letters(block.left), letters(block.right)]
    kind = "row" if rows else "column"
    return f"{kind} {names[0]}" if names[0] == names[1] else f"{kind}s {names[0]} to {names[1]}"


def _axis(block: Area, rows: bool) -> tuple[Any, int, int]:
    """Returns the sheet's rows or columns, the number of the block's first, and how many it has."""
    if rows:
        return block.sheet.Rows, block.top, block.rows
    return block.sheet.Columns, block.left, block.columns


@changes("calc", "Insert lines")
def insert(desk: Desk, before: str, count: int) -> str:
    """Insert empty rows or columns before one.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        before: a row ("3") or a column ("C").
        count: number of new lines, 1 or more.
    """
    block, rows = lines(desk, before)
    axis, first, _ = _axis(block, rows)
    axis.insertByIndex(first, count)
    fresh = (
        Area(block.sheet, 0, first, block.right, first + count - 1)
        if rows
        else Area(block.sheet, first, 0, first + count - 1, block.bottom)
    )
    reveal(desk, fresh)
    return f"{_line_label(fresh, rows)} of {block.sheet.Name} inserted, empty"


@changes("calc", "Delete lines")
def delete(desk: Desk, lines_: str) -> str:
    """Delete rows or columns with all that is in them."""
    block, rows = lines(desk, lines_)
    axis, first, count = _axis(block, rows)
    if count >= axis.Count:
        raise Refused(f"{lines_!r} is the whole sheet; clear it instead")
    before = _filled_lines(block, rows)
    axis.removeByIndex(first, count)
    reveal(desk, block)
    kind = "rows" if rows else "columns"
    now = _filled_lines(block, rows)
    summary = f"{_line_label(block, rows)} of {block.sheet.Name} deleted"
    return f"{summary}; the used area ends at {now} {kind}, before at {before}"


def _filled_lines(block: Area, rows: bool) -> int:
    cursor = block.sheet.createCursor()
    cursor.gotoEndOfUsedArea(False)
    end = cursor.RangeAddress
    return int(end.EndRow if rows else end.EndColumn) + 1


@changes("calc", "Size")
def size(desk: Desk, lines_: str, millimetres: float) -> str:
    """Set the height of rows or the width of columns; 0 fits the contents.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        lines_: rows or columns, as `lines` takes them.
        millimetres: the height of each row, or the width of each column.
    """
    block, rows = lines(desk, lines_)
    cell_lines = block.range.Rows if rows else block.range.Columns
    word = "height" if rows else "width"
    if millimetres:
        setattr(cell_lines, word.title(), round(millimetres * 100))
    else:
        setattr(cell_lines, f"Optimal{word.title()}", True)
    reveal(desk, block)
    now = getattr(cell_lines.getByIndex(0), word.title()) / 100
    return f"{_line_label(block, rows)}: {word} {now:g} mm"


@changes("calc", "Hide")
def visible(desk: Desk, lines_: str, on: bool) -> str:
    """Show or hide rows or columns.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        lines_: rows or columns, as `lines` takes them.
        on: whether they are to be shown.
    """
    block, rows = lines(desk, lines_)
    cell_lines = block.range.Rows if rows else block.range.Columns
    cell_lines.IsVisible = on
    now = "shown" if cell_lines.getByIndex(0).IsVisible else "hidden"
    reveal(desk, block)
    return f"{_line_label(block, rows)} of {block.sheet.Name}: {now} now"


@changes("calc", "Merge")
def merge(desk: Desk, cells: str, on: bool) -> str:
    """Merge cells into one, or split them again.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        cells: a block of two or more cells, or a merged one.
        on: whether to merge; false splits.
    """
    block = area(desk, cells)
    if on and block.count == 1:
        raise Refused(f"{block.label} is one cell; expected several, such as 'A1:C1'")
    block.range.merge(on)
    reveal(desk, block)
    now = "merged" if block.range.IsMerged else "not merged"
    return f"{block.label} is {now} now; it shows {block.first.String!r}"


@changes("calc", "Number format")
def format_numbers(desk: Desk, cells: str, code: str) -> str:
    """Give cells a number format.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        cells: a block as `area` takes it.
        code: a number format such as "0.00", as `number_format` takes it.
    """
    block = area(desk, cells)
    block.range.NumberFormat = number_format(desk, code)
    reveal(desk, block)
    key = desk.document.NumberFormats.getByKey(block.range.NumberFormat)
    return f"{block.label}: {key.FormatString}; its first cell shows {block.first.String!r}"


_VERTICAL = {"top": 1, "center": 2, "bottom": 3, "standard": 0}


@changes("calc", "Format cells")
def style(
    desk: Desk,
    cells: str,
    underline: bool | None,
    background: str,
    horizontal: str | None,
    vertical: str | None,
    wrap: bool | None,
    **look: Any,
) -> str:
    """Change the look of cells; what is not given stays.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        cells: a block as `area` takes it.
        underline: whether to underline; None: as it is.
        background: a colour as `color` takes it; empty: as it is.
        horizontal: a value of CellHoriJustify, in small letters; None: as it is.
        vertical: one of `_VERTICAL`; None: as it is.
        wrap: whether lines break inside a cell; None: as it is.
        look: what `character` takes; None leaves a property as it is.
    """
    block = area(desk, cells)
    if underline is not None:
        look["underline"] = "single" if underline else "none"
    properties = character(look)
    if background:
        properties["CellBackColor"] = color(background)
    if horizontal:
        properties["HoriJustify"] = constant(f"table.CellHoriJustify.{horizontal.upper()}")
    if vertical:
        properties["VertJustify"] = _VERTICAL[vertical]
    if wrap is not None:
        properties["IsTextWrapped"] = wrap
    put([block.range], properties)
    reveal(desk, block)
    return f"{block.label}: {_describe_look(block.first)}"


def _describe_look(cell: Any) -> str:
    words = [describe_character(cell)]
    words += [f"background {shown_color(cell.CellBackColor)}"] * (cell.CellBackColor != -1)
    words += [cell.HoriJustify.value.lower()] if cell.HoriJustify.value != "STANDARD" else []
    upright = {number: word for word, number in _VERTICAL.items()}.get(cell.VertJustify, "block")
    words += [f"vertically {upright}"] if upright != "standard" else []
    words += ["wrapped"] if cell.IsTextWrapped else []
    return ", ".join(words)


@works("calc")
def freeze(desk: Desk, rows: int, columns: int) -> str:
    """Keep the first rows and columns of the shown sheet visible; 0 and 0: none.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        rows: number of rows, from the top.
        columns: number of columns, from the left.
    """
    view = desk.controller
    view.freezeAtPosition(0, 0)
    view.FirstVisibleRow = view.FirstVisibleColumn = 0
    if rows or columns:
        view.freezeAtPosition(columns, rows)
    if not view.hasFrozenPanes():
        return f"{view.ActiveSheet.Name}: nothing is frozen now"
    rest = view.getByIndex(view.Count - 1).VisibleRange
    return (
        f"{view.ActiveSheet.Name}: rows from {rest.StartRow + 1} and columns from "
        f"{letters(rest.StartColumn)} on scroll; those before stay in sight"
    )


FUNCTIONS = {
    "insert": insert, "delete": delete, "size": size, "visible": visible, "merge": merge,
    "format_numbers": format_numbers, "style": style,
    "freeze": freeze,
}  # fmt: skip
