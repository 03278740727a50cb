"""Tools for tables of a spreadsheet: order, filters, rules, pivot tables, charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from hisa.plugins.toolkits.calc.in_calc import SLOW, Place, calc_tool
from hisa.tools.base import ToolContext

__all__ = [
    "chart",
    "filter",
    "filter_buttons",
    "highlight",
    "pivot",
    "remove_duplicates",
    "sort",
    "validate",
]

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
Legend = bool | Literal["top", "bottom", "left", "right"]
Function = Literal["sum", "count", "average", "max", "min", "product", "countnums", "stdev", "var"]


@calc_tool(seconds=SLOW)
async def sort(
    context: ToolContext,
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
    context: ToolContext, cells: Place, where: Names, any_of: bool = False
) -> None:
    """Show only the rows of a table that meet the conditions; an empty list shows all.

    A condition is a column (letter or header), one of = <> < > <= >= contains begins ends, and a
    value; "B =" means empty, "B <>" not empty.

    Examples:
        {"cells": "A1:D20", "where": ["Price > 5", "Name contains pear"]}
        {"cells": "A1:D20", "where": []}
    """


@calc_tool()
async def filter_buttons(context: ToolContext, cells: Place, on: bool = True) -> None:
    """Put AutoFilter buttons onto a table's header row, or take them away.

    Examples:
        {"cells": "A1:D20"}
        {"cells": "A1:D20", "on": false}
    """


@calc_tool(effects=("delete",), seconds=SLOW)
async def remove_duplicates(
    context: ToolContext,
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
    context: ToolContext,
    cells: Place,
    when: str,
    color: str = "",
    background: str = "",
    bold: bool = False,
    add: bool = True,
    style: str = "",
) -> None:
    """Add a conditional format: a look that cells have while a condition holds.

    ``when`` is "> 5", "= \\"x\\"", "between 1 and 9" or, seen from the first cell, "formula $B2>3";
    an empty one with add=false takes all conditional formats of the cells away. ``style`` is a cell
    style of the document, such as Good or Bad, in place of colors.

    Examples:
        {"cells": "C2:C20", "when": "> 100", "background": "#ffaaaa"}
        {"cells": "C2:C20", "when": "< 0", "style": "Bad"}
        {"cells": "C2:C20", "when": "", "add": false}
    """


@calc_tool()
async def validate(
    context: ToolContext,
    cells: Place,
    choices: Annotated[Sequence[str], Field(max_length=200)] = (),
    source: str = "",
    rule: str = "",
    kind: Literal["whole", "decimal", "date", "length"] = "decimal",
    message: str = "",
) -> None:
    """Limit what may be typed into cells: a list of choices, cells that hold them, or a rule.

    A rule is as "> 5" or "between 1 and 9", about numbers, dates ("> 2024-01-31") or the length of
    a text. Nothing given: no limit.

    Examples:
        {"cells": "B2:B20", "choices": ["yes", "no"]}
        {"cells": "C2:C20", "rule": "between 1 and 9", "kind": "whole", "message": "1 to 9"}
    """


@calc_tool(seconds=SLOW)
async def pivot(
    context: ToolContext,
    cells: Place,
    values: Annotated[Mapping[Name, Function] | list[Name], Field(min_length=1, max_length=16)],
    rows: Names = (),
    columns: Names = (),
    filters: Names = (),
    to: str = "",
    name: str = "",
) -> None:
    """Make a pivot table of a table with a header, on a new sheet or at a cell.

    Fields are headers of the table. A value is a header and its function: sum, count, average, max,
    min, product, countnums, stdev or var; of a list of headers the sums are made.

    Examples:
        {"cells": "A1:D20", "rows": ["Region"], "values": ["Sales", "Units"]}
        {"cells": "A1", "rows": ["Region"], "columns": ["Year"], "values": {"Sales": "average"}, "to": "G2"}
    """  # noqa: E501


@calc_tool()
async def chart(
    context: ToolContext,
    cells: Place,
    kind: ChartKind = "column",
    title: str = "",
    x_title: str = "",
    y_title: str = "",
    at: str = "",
    name: str = "",
    header: bool = True,
    labels: bool = True,
    legend: Legend = True,
    rows: bool = False,
) -> None:
    """Make a chart of cells, placed at a cell.

    ``cells`` may be several blocks, as "A1:A9,C1:C9". ``header``: the first row names the series;
    ``labels``: the first column names the points; with ``rows`` each row is a series, and the other
    way round. ``legend`` may name its side. Without ``at`` it stands beside the cells. Of cells of
    a pivot table it becomes a pivot chart, which shows and follows the whole table.

    Examples:
        {"cells": "A1:C9", "kind": "line", "title": "Sales", "x_title": "Month"}
        {"cells": "A1:A9,C1:C9", "kind": "pie", "at": "Sheet2.B2", "name": "Shares"}
    """
