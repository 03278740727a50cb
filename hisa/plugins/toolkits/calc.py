"""The toolkit ``calc``: changes the spreadsheet in front, in the running LibreOffice.

The person sees each change at once, each call is one step of the undo list, and nothing is saved
unless `save` is called. ComputerRL (table 5) has 27 tools for this application.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from hisa.plugins.toolkits.guest_call import OFFICE_DIALOGS, GuestTool
from hisa.tools.toolkit import Toolkit
from hisa.tools.traits import Needs

__all__ = ["CALC"]

SLOW = 180.0
"""Seconds for a call that may touch a million cells, or writes a whole file."""
Place = Annotated[str, Field(min_length=1, max_length=1000)]
"""Cells, a column or a sheet by name."""
Count = Annotated[int, Field(ge=1, le=10_000)]
"""Number of rows or columns; chosen by hand: more is a slip."""
calc_tool = GuestTool("calc_program", 60.0)
"""60 s is ample: a call takes 0.1 to 0.5 s with a table of a thousand cells."""
Cell = Annotated[str, Field(max_length=32_767)] | float | bool | None
"""A cell of a spreadsheet file may have at most 32,767 characters."""
Rows = Annotated[list[list[Cell]], Field(min_length=1, max_length=100_000)]


@calc_tool(reads=True, seconds=SLOW)
async def read(
    cells: Place,
    show: Literal["shown", "values", "formulas"] = "shown",
) -> None:
    """Read cells as a table; says what is left out for length.

    ``cells``: "B2:D9", "A:C" or "Sheet2.B2:D9"; without a sheet, on the one that is shown.
    "shown" are the texts on the screen, "values" the unrounded numbers.

    Examples:
        {"cells": "A1:D20"}
        {"cells": "Sheet2.A:C", "show": "formulas"}
    """


@calc_tool(seconds=SLOW)
async def write(cell: Place, values: Rows) -> None:
    """Write rows of values and formulas, starting at a cell.

    A text is taken as if typed: "=B2*2" is a formula, "12" a number, "2024-03-01" a date, "'012" a
    text. Functions have English names, ";" or "," separates arguments. null leaves a cell as it
    is, "" empties it.

    Examples:
        {"cell": "A1", "values": [["Item", "Price"], ["pear", 1.5]]}
        {"cell": "Sheet2.C2", "values": [["=SUM(A2:B2)"]]}
    """


@calc_tool(seconds=SLOW)
async def formula(
    cells: Place,
    formula: Annotated[str, Field(min_length=1, max_length=8192)],
) -> None:
    """Write a formula into all cells of a block; references adjust to each cell.

    Give the formula of the first cell.

    Examples:
        {"cells": "D2:D20", "formula": "=B2*C2"}
        {"cells": "B21:F21", "formula": "=SUM(B$2:B20)"}
    """


@calc_tool(seconds=SLOW)
async def fill(
    cells: Place,
    direction: Literal["down", "right", "up", "left"] = "down",
    series: bool = False,
) -> None:
    """Fill a block from its first row or column: copy it, or continue a series.

    ``cells`` is the whole block with what is copied. A series continues 1, 2, … or Mon, Tue, ….

    Examples:
        {"cells": "D2:D20"}
        {"cells": "A2:A32", "direction": "down", "series": true}
    """


@calc_tool(effects=("delete",), seconds=SLOW)
async def clear(
    cells: Place,
    what: Literal["contents", "formats", "comments", "all"] = "contents",
) -> None:
    """Empty cells, or take their formats or comments away.

    Examples:
        {"cells": "B2:D9"}
        {"cells": "A:A", "what": "formats"}
    """


@calc_tool(reads=True, seconds=SLOW)
async def find(
    text: Annotated[str, Field(min_length=1, max_length=1000)],
    cells: str = "",
    match_case: bool = False,
    whole_cell: bool = False,
    regex: bool = False,
) -> None:
    """Find the cells that show a text; on all sheets, or in some cells.

    Examples:
        {"text": "total"}
        {"text": "^2024-", "cells": "A:A", "regex": true}
    """


@calc_tool(seconds=SLOW)
async def replace(
    text: Annotated[str, Field(min_length=1, max_length=1000)],
    replacement: Annotated[str, Field(max_length=1000)],
    cells: str = "",
    match_case: bool = False,
    whole_cell: bool = False,
    regex: bool = False,
) -> None:
    """Replace a text on all sheets, or in some cells; also within formulas.

    Examples:
        {"text": "colour", "replacement": "color"}
        {"text": "N/A", "replacement": "", "cells": "B2:F40", "whole_cell": true}
    """


@calc_tool(seconds=SLOW)
async def copy(cells: Place, to: Place, values_only: bool = False) -> None:
    """Copy cells to another place, over what is there; formulas adjust.

    ``to`` is the upper left cell of the new place. ``values_only`` copies results, without formulas
    and formats.

    Examples:
        {"cells": "A1:D20", "to": "Sheet2.A1"}
        {"cells": "D2:D20", "to": "E2", "values_only": true}
    """


Name = Annotated[str, Field(min_length=1, max_length=200)]
Names = Annotated[Sequence[Name], Field(max_length=64)]
ChartKind = Literal[
    "column",
    "bar",
    "stacked column",
    "stacked bar",
    "line",
    "area",
    "pie",
    "donut",
    "scatter",
    "net",
]
Function = Literal["sum", "count", "average", "max", "min", "product", "countnums", "stdev", "var"]


@calc_tool(seconds=SLOW)
async def sort(
    cells: Place,
    by: Annotated[list[Name], Field(min_length=1, max_length=64)],
    header: bool = True,
) -> None:
    """Sort the rows of a table by columns; "-C" is C from the largest down.

    ``cells`` is the table, or one cell of it. A column is its letter or its header's text.

    Examples:
        {"cells": "A1:D20", "by": ["B", "-C"]}
        {"cells": "A1", "by": ["-Price"]}
    """


@calc_tool(seconds=SLOW)
async def filter(  # noqa: A001
    cells: Place, where: Names, any_of: bool = False
) -> None:
    """Show only the rows of a table that meet the conditions; an empty list shows all.

    A condition is a column (letter or header), one of = <> < > <= >= contains begins ends, and a
    value; "B =" means empty, "B <>" not empty.

    Examples:
        {"cells": "A1:D20", "where": ["Price > 5", "Name contains pear"]}
        {"cells": "A1:D20", "where": []}
    """


@calc_tool(effects=("delete",), seconds=SLOW)
async def remove_duplicates(
    cells: Place,
    columns: Names = (),
    header: bool = True,
) -> None:
    """Remove the rows of a table that equal an earlier row, in all or in some columns.

    Examples:
        {"cells": "A1:D20"}
        {"cells": "A1:D20", "columns": ["A", "Price"]}
    """


@calc_tool()
async def highlight(
    cells: Place,
    when: str,
    color: str = "",
    background: str = "",
    bold: bool = False,
    add: bool = True,
) -> None:
    """Add a conditional format: a look that cells have while a condition holds.

    ``when`` is "> 5", "= \\"x\\"", "between 1 and 9" or, seen from the first cell, "formula $B2>3";
    an empty one with add=false removes all conditional formats of the cells.

    Examples:
        {"cells": "C2:C20", "when": "> 100", "background": "#ffaaaa"}
        {"cells": "C2:C20", "when": "", "add": false}
    """


@calc_tool()
async def validate(
    cells: Place,
    choices: Annotated[Sequence[str], Field(max_length=200)] = (),
    source: str = "",
    rule: str = "",
    kind: Literal["whole", "decimal", "date", "length"] = "decimal",
    message: str = "",
) -> None:
    """Limit what may be typed into cells: a list of choices, cells that hold them, or a rule.

    A rule is "> 5" or "between 1 and 9", about numbers, dates ("> 2024-01-31") or the length of a
    text. Without any, no limit.

    Examples:
        {"cells": "B2:B20", "choices": ["yes", "no"]}
        {"cells": "C2:C20", "rule": "between 1 and 9", "kind": "whole", "message": "1 to 9"}
    """


@calc_tool(seconds=SLOW)
async def pivot(
    cells: Place,
    values: Annotated[Mapping[Name, Function] | list[Name], Field(min_length=1, max_length=16)],
    rows: Names = (),
    columns: Names = (),
    to: str = "",
) -> None:
    """Make a pivot table of a table with a header, on a new sheet or at a cell.

    Fields are headers of the table. A value is a header and its function: sum, count, average, max,
    min, product, countnums, stdev or var; a list of headers gives their sums.

    Examples:
        {"cells": "A1:D20", "rows": ["Region"], "values": ["Sales", "Units"]}
        {"cells": "A1", "rows": ["Region"], "columns": ["Year"], "values": {"Sales": "average"}, "to": "G2"}
    """  # noqa: E501


@calc_tool()
async def chart(
    cells: Place,
    kind: ChartKind = "column",
    title: str = "",
    x_title: str = "",
    y_title: str = "",
    at: str = "",
    name: str = "",
    header: bool = True,
    labels: bool = True,
    legend: bool = True,
) -> None:
    """Make a chart of cells, placed at a cell.

    ``cells`` may be several blocks, as "A1:A9,C1:C9". ``header``: the first row names the series;
    ``labels``: the first column names the points. Without ``at`` it stands beside the cells.

    Examples:
        {"cells": "A1:C9", "kind": "line", "title": "Sales", "x_title": "Month"}
        {"cells": "A1:A9,C1:C9", "kind": "pie", "at": "Sheet2.B2", "name": "Shares"}
    """


Lines = Annotated[str, Field(min_length=1, max_length=200)]
"""Rows as "3" or "3:5", columns as "C" or "C:E"; of another sheet with its name in front."""


@calc_tool()
async def insert(before: Lines, count: Count = 1) -> None:
    """Insert empty rows or columns before a row ("3") or column ("C").

    Examples:
        {"before": "3"}
        {"before": "Sheet2.C", "count": 2}
    """


@calc_tool({"lines": "lines_"}, effects=("delete",))
async def delete(lines: Lines) -> None:
    """Delete whole rows or columns: "3:5", "C".

    Examples:
        3:5
        Sheet2.C
    """


@calc_tool({"lines": "lines_"})
async def size(
    lines: Lines,
    millimetres: Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)] = 0,
) -> None:
    """Set the width of columns or the height of rows; 0 fits their contents.

    Examples:
        {"lines": "A:D"}
        {"lines": "1", "millimetres": 12}
    """


@calc_tool({"lines": "lines_"})
async def visible(lines: Lines, on: bool) -> None:
    """Hide rows or columns, or show them again.

    Examples:
        {"lines": "C:E", "on": false}
        {"lines": "4:9", "on": true}
    """


@calc_tool()
async def merge(cells: Place, on: bool = True) -> None:
    """Merge cells into one, or split a merged one; the contents of the first stay visible.

    Examples:
        {"cells": "A1:D1"}
        {"cells": "A1:D1", "on": false}
    """


@calc_tool()
async def format_numbers(
    cells: Place, code: Annotated[str, Field(min_length=1, max_length=500)]
) -> None:
    """Set the number format: "0.00", "#,##0", "0%", "YYYY-MM-DD", "[$€]#,##0.00", "@" for text.

    Examples:
        {"cells": "C2:C20", "code": "#,##0.00"}
        {"cells": "A:A", "code": "YYYY-MM-DD"}
    """


@calc_tool()
async def style(
    cells: Place,
    bold: bool | None = None,
    italic: bool | None = None,
    underline: bool | None = None,
    strike: bool | None = None,
    font: Annotated[str, Field(min_length=1, max_length=200)] | None = None,
    size: Annotated[float, Field(ge=2, le=400)] | None = None,
    color: str = "",
    background: str = "",
    horizontal: Literal["left", "center", "right", "block", "standard"] | None = None,
    vertical: Literal["top", "center", "bottom", "standard"] | None = None,
    wrap: bool | None = None,
) -> None:
    """Set font, colors and alignment of cells; what is not given stays.

    A color is "#ff8000" or a name like "red"; "none" removes it. ``size`` is in points.

    Examples:
        {"cells": "A1:D1", "bold": true, "background": "yellow", "horizontal": "center"}
        {"cells": "B2:B9", "color": "#c9211e", "font": "Liberation Serif", "size": 12}
    """


@calc_tool()
async def freeze(
    rows: Annotated[int, Field(ge=0, le=1000)] = 0,
    columns: Annotated[int, Field(ge=0, le=100)] = 0,
) -> None:
    """Keep the first rows and columns of the shown sheet in sight; 0 and 0: none.

    Examples:
        {"rows": 1}
        {"rows": 0, "columns": 0}
    """


SheetName = Annotated[str, Field(min_length=1, max_length=255)]
Steps = Annotated[int, Field(ge=1, le=100)]
"""LibreOffice keeps 100 steps."""
Position = Annotated[int, Field(ge=0, le=10_000)]
"""Counted from 1; 0: the last."""
Pages = Annotated[int, Field(ge=0, le=1000)]
Path = Annotated[str, Field(min_length=2, max_length=4096)]


@calc_tool(reads=True)
async def overview() -> None:
    """List the sheets and their used cells, charts, pivot tables, names and the selection.

    Examples:
        {}
    """


@calc_tool()
async def sheet_add(name: SheetName, position: Position = 0) -> None:
    """Insert an empty sheet and show it; without a position it is the last.

    Examples:
        {"name": "Summary"}
        {"name": "Cover", "position": 1}
    """


@calc_tool()
async def sheet_rename(sheet: SheetName, name: SheetName) -> None:
    """Rename a sheet; formulas follow.

    Examples:
        {"sheet": "Sheet1", "name": "Sales 2024"}
    """


@calc_tool(effects=("delete",))
async def sheet_delete(sheet: SheetName) -> None:
    """Delete a sheet with all that is on it.

    Examples:
        Sheet2
    """


@calc_tool()
async def sheet_copy(sheet: SheetName, name: SheetName, position: Position = 0) -> None:
    """Copy a sheet under a new name and show the copy.

    Examples:
        {"sheet": "Sheet1", "name": "Sheet1 backup"}
    """


@calc_tool()
async def sheet_move(sheet: SheetName, position: Position) -> None:
    """Move a sheet to a position, counted from 1; 0: to the end.

    Examples:
        {"sheet": "Summary", "position": 1}
    """


@calc_tool()
async def page(
    sheet: str = "",
    landscape: bool | None = None,
    paper: Literal["", "A3", "A4", "A5", "letter", "legal"] = "",
    pages_wide: Pages | None = None,
    pages_tall: Pages | None = None,
    area: str | None = None,
) -> None:
    """Set how a sheet is printed: paper, scale, area; what is not given stays.

    ``pages_wide`` and ``pages_tall`` fit it to so many pages; 0: any number. ``area``: the cells to
    print.

    Examples:
        {"landscape": true, "pages_wide": 1, "pages_tall": 0}
        {"sheet": "Sheet2", "area": "A1:F40"}
    """


@calc_tool(seconds=SLOW)
async def save(path: str = "", overwrite: bool = False) -> None:
    """Save the spreadsheet in its file or, with a path, there from now on.

    The path ends in .ods, .xlsx, .xls or .csv.

    Examples:
        {}
        {"path": "~/Documents/sales.xlsx"}
    """


@calc_tool(seconds=SLOW)
async def export(path: Path, overwrite: bool = False) -> None:
    """Write a copy as .pdf, .csv, .html, .xlsx, .ods or .xls; the open file stays as it is.

    A .csv has the shown sheet, as it is shown; a .pdf has all sheets.

    Examples:
        {"path": "~/Documents/sales.pdf"}
        {"path": "/tmp/sales.csv", "overwrite": true}
    """


@calc_tool()
async def undo(steps: Steps = 1) -> None:
    """Undo the last steps; a tool call is one step.

    Examples:
        2
    """


CALC = Toolkit(
    name="calc",
    title="LibreOffice Calc",
    functions=(
        *(overview, read, write, formula, fill, style, format_numbers, sort, filter, chart),
        *(find, replace, copy, clear, insert, delete, pivot, save, undo, sheet_add),
        *(sheet_rename, sheet_delete, sheet_copy, sheet_move, merge, size, freeze),
        *(highlight, validate, remove_duplicates, visible, page, export),
    ),
    needs=Needs(frozenset({"execute"}), apps=("libreoffice-calc",), dialogs=OFFICE_DIALOGS),
)
"""While a dialog is open, tools that change something refuse and name it; the others work."""
