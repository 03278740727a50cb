"""Tools that change how cells, rows and columns look, and which there are."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hisa.plugins.toolkits.calc.in_calc import Count, Place, calc_tool
from hisa.tools.base import ToolContext

__all__ = [
    "border",
    "delete",
    "format_numbers",
    "freeze",
    "insert",
    "look",
    "merge",
    "select",
    "size",
    "style",
    "visible",
]

Lines = Annotated[str, Field(min_length=1, max_length=200)]
"""Rows as "3" or "3:5", columns as "C" or "C:E"; with a sheet in front where it is another."""


@calc_tool()
async def insert(context: ToolContext, before: Lines, count: Count = 1) -> None:
    """Insert empty rows or columns before a row ("3") or column ("C").

    Examples:
        {"before": "3"}
        {"before": "Sheet2.C", "count": 2}
    """


@calc_tool({"lines": "lines_"}, effects=("delete",))
async def delete(context: ToolContext, lines: Lines) -> None:
    """Delete whole rows or columns: "3:5", "C".

    Examples:
        3:5
        Sheet2.C
    """


@calc_tool({"lines": "lines_"})
async def size(
    context: ToolContext,
    lines: Lines,
    millimetres: Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)] = 0,
) -> None:
    """Set the width of columns or the height of rows; 0: as their contents need.

    Examples:
        {"lines": "A:D"}
        {"lines": "1", "millimetres": 12}
    """


@calc_tool({"lines": "lines_"})
async def visible(context: ToolContext, lines: Lines, on: bool) -> None:
    """Hide rows or columns, or show them again.

    Examples:
        {"lines": "C:E", "on": false}
        {"lines": "4:9", "on": true}
    """


@calc_tool()
async def merge(context: ToolContext, cells: Place, on: bool = True) -> None:
    """Merge cells into one, or split a merged one; the contents of the first stay in sight.

    Examples:
        {"cells": "A1:D1"}
        {"cells": "A1:D1", "on": false}
    """


@calc_tool()
async def format_numbers(
    context: ToolContext, cells: Place, code: Annotated[str, Field(min_length=1, max_length=500)]
) -> None:
    """Set the number format: "0.00", "#,##0", "0%", "YYYY-MM-DD", "[$€]#,##0.00", "@" for text.

    Examples:
        {"cells": "C2:C20", "code": "#,##0.00"}
        {"cells": "A:A", "code": "YYYY-MM-DD"}
    """


@calc_tool()
async def style(
    context: ToolContext,
    cells: Place,
    bold: bool | None = None,
    italic: bool | None = None,
    underline: bool | None = None,
    strikethrough: bool | None = None,
    font: Annotated[str, Field(min_length=1, max_length=200)] | None = None,
    size: Annotated[float, Field(ge=2, le=400)] | None = None,
    color: str | None = None,
    background: str | None = None,
    horizontal: Literal["left", "center", "right", "block", "standard"] | None = None,
    vertical: Literal["top", "center", "bottom", "standard"] | None = None,
    wrap: bool | None = None,
    rotation: Annotated[float, Field(ge=-360, le=360)] | None = None,
) -> None:
    """Set font, colors and alignment of cells; what is not given stays.

    A color is "#ff8000" or a name as "red"; "none" takes it away. ``size`` is in points.

    Examples:
        {"cells": "A1:D1", "bold": true, "background": "yellow", "horizontal": "center"}
        {"cells": "B2:B9", "color": "#c9211e", "font": "Liberation Serif", "size": 12}
    """


@calc_tool(reads=True)
async def look(context: ToolContext, cells: Place) -> None:
    """Tell font, colors, alignment and number format of cells.

    Examples:
        A1:D1
    """


@calc_tool()
async def border(
    context: ToolContext,
    cells: Place,
    where: Literal["all", "outline", "inside", "top", "bottom", "left", "right"] = "all",
    points: Annotated[float, Field(ge=0, le=9)] = 0.75,
    color: str = "black",
) -> None:
    """Draw lines around and between cells; 0 points takes them away.

    Examples:
        {"cells": "A1:D20"}
        {"cells": "A1:D1", "where": "bottom", "points": 2, "color": "#2a6099"}
    """


@calc_tool()
async def freeze(
    context: ToolContext,
    rows: Annotated[int, Field(ge=0, le=1000)] = 0,
    columns: Annotated[int, Field(ge=0, le=100)] = 0,
) -> None:
    """Keep the first rows and columns of the shown sheet in sight; 0 and 0: none.

    Examples:
        {"rows": 1}
        {"rows": 0, "columns": 0}
    """


@calc_tool()
async def select(context: ToolContext, cells: Place) -> None:
    """Select cells, and show their sheet.

    Examples:
        B2:D9
        'My sheet'.A1
    """
