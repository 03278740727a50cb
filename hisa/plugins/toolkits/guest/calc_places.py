"""Finds cells of a spreadsheet by name, as a person or LibreOffice writes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import uno  # type: ignore[import-not-found]

from . import writer_looks as looks
from .office_bridge import Desk, Refused, UnoError

__all__ = ["Area", "area", "areas", "find_used_area", "lines", "reveal", "sheet_of"]

_PLACE = re.compile(
    r"(?:\$?(?:'(?P<quoted>(?:[^']|'')+)'|(?P<plain>.+))[.!])?"
    r"\$?(?P<left>[A-Za-z]*)\$?(?P<top>[0-9]*)"
    r"(?::\$?(?P<right>[A-Za-z]*)\$?(?P<bottom>[0-9]*))?"
)
_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_ALL_CONTENTS = 1 | 2 | 4 | 8 | 16
"""com.sun.star.sheet.CellFlags: numbers, dates, texts, comments, formulas."""


@dataclass(frozen=True)
class Area:
    """A block of cells of one sheet; all numbers count from 0."""

    sheet: Any
    left: int
    top: int
    right: int
    bottom: int

    @property
    def range(self) -> Any:
        """The cells themselves."""
        return self.sheet.getCellRangeByPosition(self.left, self.top, self.right, self.bottom)

    @property
    def first(self) -> Any:
        """The cell at the upper left."""
        return self.sheet.getCellByPosition(self.left, self.top)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.bottom - self.top + 1

    @property
    def columns(self) -> int:
        """Number of columns."""
        return self.right - self.left + 1

    @property
    def count(self) -> int:
        """Number of cells."""
        return self.rows * self.columns

    @property
    def cells(self) -> str:
        """As LibreOffice writes it, without the sheet: "B2:C5"."""
        start = f"{letters(self.left)}{self.top + 1}"
        end = f"{letters(self.right)}{self.bottom + 1}"
        return start if start == end else f"{start}:{end}"

    @property
    def label(self) -> str:
        """With the sheet in front: "Sheet1.B2:C5"."""
        return f"{quote_name(self.sheet.Name)}.{self.cells}"

    @property
    def absolute(self) -> str:
        """As a formula names it from anywhere: "$Sheet1.$B$2:$C$5"."""
        ends = ((self.left, self.top), (self.right, self.bottom))
        corners = ":".join(f"${letters(column)}${row + 1}" for column, row in ends)
        return f"${quote_name(self.sheet.Name)}.{corners}"

    def at(self, column: int, row: int) -> Area:
        """Returns the block of the same size that starts so many columns and rows further."""
        return Area(
            self.sheet, self.left + column, self.top + row, self.right + column, self.bottom + row
        )

    def part(self, top: int, rows: int) -> Area:
        """Returns so many of its rows, from row number `top` on, counted from 0."""
        start = self.top + top
        return Area(self.sheet, self.left, start, self.right, start + rows - 1)

    def meets(self, other: Area) -> bool:
        """Whether the two blocks have a cell in common."""
        return (
            self.sheet.Name == other.sheet.Name
            and self.left <= other.right
            and other.left <= self.right
            and self.top <= other.bottom
            and other.top <= self.bottom
        )

    def within(self, other: Area) -> Area | None:
        """Returns the part that the two blocks have in common; None if there is none."""
        if not self.meets(other):
            return None
        return Area(
            self.sheet,
            max(self.left, other.left),
            max(self.top, other.top),
            min(self.right, other.right),
            min(self.bottom, other.bottom),
        )


def letters(column: int) -> str:
    """Returns the name of a column: "A" for 0."""
    name = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        name = chr(65 + rest) + name
    return name


def number(name: str) -> int:
    """Returns the number of a column, from 0."""
    value = 0
    for letter in name.upper():
        value = value * 26 + ord(letter) - 64
    return value - 1


def quote_name(name: str) -> str:
    """Returns a sheet's name as formulas write it."""
    return name if _PLAIN_NAME.fullmatch(name) else "'" + name.replace("'", "''") + "'"


def sheet_of(desk: Desk, name: str) -> Any:
    """Returns the sheet of a name; for an empty name, the sheet that is shown."""
    if not name:
        return desk.controller.ActiveSheet
    sheets = desk.document.Sheets
    if sheets.hasByName(name):
        return sheets.getByName(name)
    raise Refused(f"there is no sheet {name!r}; sheets: {', '.join(sheets.ElementNames)}")


def area(desk: Desk, text: str) -> Area:
    """Returns the cells that a text names: "B2", "B2:C9", "B:C", "2:9", "Sheet2.B2", a range."""
    match = _PLACE.fullmatch(text.strip())
    if match is None or not text.strip() or not _is_place(match):
        return _find_named_range(desk, text.strip())
    name = (match["quoted"] or "").replace("''", "'") or match["plain"] or ""
    sheet = sheet_of(desk, name)
    last_column, last_row = sheet.Columns.Count - 1, sheet.Rows.Count - 1
    single = match["right"] is None
    left = number(match["left"]) if match["left"] else 0
    top = int(match["top"]) - 1 if match["top"] else 0
    right_name = match["left"] if single else match["right"]
    bottom_name = match["top"] if single else match["bottom"]
    right = number(right_name) if right_name else last_column
    bottom = int(bottom_name) - 1 if bottom_name else last_row
    if not (0 <= top <= last_row and 0 <= bottom <= last_row and max(left, right) <= last_column):
        far = f"A to {letters(last_column)} and rows 1 to {last_row + 1}"
        raise Refused(f"{text!r} is not on the sheet, which has columns {far}")
    return Area(sheet, min(left, right), min(top, bottom), max(left, right), max(top, bottom))


def _is_place(match: re.Match[str]) -> bool:
    """Whether a text is a cell, block, column or row, and not a word or a lone number."""
    left, top = bool(match["left"]), bool(match["top"])
    if match["right"] is None:
        return left and top and len(match["left"]) <= 3
    same = (left, top) == (bool(match["right"]), bool(match["bottom"]))
    return same and (left or top) and max(len(match["left"]), len(match["right"])) <= 3


def _find_named_range(desk: Desk, text: str) -> Area:
    names = desk.document.NamedRanges
    if text and names.hasByName(text):
        cells = names.getByName(text).ReferredCells
        if cells is not None:
            return of_address(desk, cells.RangeAddress)
    raise Refused(
        f"{text!r} names no cells; expected a text such as 'B2', 'B2:D9', 'B:D', '2:9', "
        "'Sheet2.B2:D9', \"'My sheet'.B2\" or the name of a range"
    )


def of_address(desk: Desk, address: Any) -> Area:
    """Returns the block of a UNO address."""
    return Area(
        desk.document.Sheets.getByIndex(address.Sheet),
        address.StartColumn,
        address.StartRow,
        address.EndColumn,
        address.EndRow,
    )


def areas(desk: Desk, text: str) -> list[Area]:
    """Returns the blocks that a text names, with commas or semicolons between them."""
    pattern = r"(?:'(?:[^']|'')*'|[^,;'])+"
    return [area(desk, part) for part in re.findall(pattern, text)] or [area(desk, text)]


def lines(desk: Desk, text: str) -> tuple[Area, bool]:
    """Returns the rows or columns that a text names ("3:5", "C"), and whether they are rows."""
    sheet, dot, rest = text.strip().rpartition(".")
    rest = rest.replace("$", "")
    if re.fullmatch(r"[A-Za-z]{1,3}|[0-9]{1,7}", rest):
        rest = f"{rest}:{rest}"
    if not re.fullmatch(r"[A-Za-z]{1,3}:[A-Za-z]{1,3}|[0-9]{1,7}:[0-9]{1,7}", rest):
        raise Refused(f"{text!r}: expected rows such as '3' or '3:5', or columns 'C' or 'C:E'")
    return area(desk, f"{sheet}{dot}{rest}"), rest[0].isdigit()


def find_used_area(sheet: Any) -> Area | None:
    """Returns the block that holds everything on a sheet; None if the sheet is empty."""
    cursor = sheet.createCursor()
    cursor.gotoStartOfUsedArea(False)
    cursor.gotoEndOfUsedArea(True)
    address = cursor.RangeAddress
    block = Area(sheet, address.StartColumn, address.StartRow, address.EndColumn, address.EndRow)
    if block.count == 1 and not block.range.queryContentCells(_ALL_CONTENTS).Count:
        return None
    return block


def require_filled_area(block: Area) -> Area:
    """Returns the part of a block that is in use.

    Raises:
        Refused: the block is empty.
    """
    on_sheet = find_used_area(block.sheet)
    overlap = None if on_sheet is None else block.within(on_sheet)
    if overlap is None:
        raise Refused(f"{block.label} is empty")
    return overlap


def reveal(desk: Desk, block: Area) -> None:
    """Scroll to a block, so that whoever looks at the screen sees what was done."""
    controller = desk.controller
    if controller.ActiveSheet.Name != block.sheet.Name:
        controller.ActiveSheet = block.sheet
    panes = [controller.getByIndex(index) for index in range(controller.Count)]
    visible_areas = [of_address(desk, pane.VisibleRange) for pane in panes]
    corner = Area(block.sheet, block.left, block.top, block.left, block.top)
    if not any(corner.meets(visible_area) for visible_area in visible_areas):
        panes[-1].FirstVisibleRow = max(block.top - 2, 0)
        panes[-1].FirstVisibleColumn = max(block.left - 1, 0)


def cell_address(block: Area) -> Any:
    """Returns the UNO address of the block's first cell."""
    return block.first.CellAddress


def blocks(desk: Desk, ranges: Any) -> Iterator[Area]:
    """Yields the blocks of a UNO collection of ranges."""
    for address in ranges.RangeAddresses:
        yield of_address(desk, address)


def constant(name: str) -> Any:
    """Returns a UNO enum value by its name without ``com.sun.star.``."""
    group, _, value = f"com.sun.star.{name}".rpartition(".")
    return uno.Enum(group, value)


def number_format(desk: Desk, code: str) -> int:
    """Returns the key of a number format, written as in English: "0.00", "YYYY-MM-DD".

    Raises:
        Refused: it is not a number format.
    """
    if code.lower() == "general":
        return 0
    english = uno.createUnoStruct("com.sun.star.lang.Locale", "en", "US", "")
    here = uno.createUnoStruct("com.sun.star.lang.Locale")  # the document's, as the dialog gives it
    try:
        return int(desk.document.NumberFormats.addNewConverted(code, english, here))
    except UnoError:
        raise Refused(f"{code!r} is no number format; expected one like '#,##0.00'") from None


def style_for(desk: Desk, *, color: str, background: str, bold: bool) -> str:
    """Returns the name of a cell style with that look; it is made if there is none.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        color: colour of the text, as `writer_looks.color` takes it; empty: none.
        background: colour of the cell; empty: none.
        bold: whether the text is bold.
    """
    parts = [background and f"on {background}", color, "bold" if bold else ""]
    name = "Highlight " + " ".join(filter(None, parts))
    styles = desk.document.StyleFamilies.getByName("CellStyles")
    if not styles.hasByName(name):
        style = desk.document.createInstance("com.sun.star.style.CellStyle")
        styles.insertByName(name, style)
        if background:
            style.CellBackColor = looks.color(background)
        if color:
            style.CharColor = looks.color(color)
        if bold:
            style.CharWeight = 150.0
    return name
