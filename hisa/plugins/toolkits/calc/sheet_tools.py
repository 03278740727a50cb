"""Tools for sheets, names, pages, files and the undo list of a spreadsheet."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hisa.plugins.toolkits.calc.in_calc import SLOW, calc_tool
from hisa.tools.base import ToolContext

__all__ = [
    "export",
    "overview",
    "page",
    "save",
    "sheet_add",
    "sheet_copy",
    "sheet_delete",
    "sheet_move",
    "sheet_rename",
    "sheet_tab",
    "undo",
]

SheetName = Annotated[str, Field(min_length=1, max_length=255)]
Steps = Annotated[int, Field(ge=1, le=100)]
"""LibreOffice keeps 100 steps."""
Position = Annotated[int, Field(ge=0, le=10_000)]
"""Counted from 1; 0: the last."""
Pages = Annotated[int, Field(ge=0, le=1000)]
Path = Annotated[str, Field(min_length=2, max_length=4096)]


@calc_tool(reads=True)
async def overview(context: ToolContext) -> None:
    """Tell the sheets and their used cells, charts, pivot tables, names and the selection.

    Examples:
        {}
    """


@calc_tool()
async def sheet_add(context: ToolContext, name: SheetName, position: Position = 0) -> None:
    """Insert an empty sheet and show it; without a position it is the last.

    Examples:
        {"name": "Summary"}
        {"name": "Cover", "position": 1}
    """


@calc_tool()
async def sheet_rename(context: ToolContext, sheet: SheetName, name: SheetName) -> None:
    """Rename a sheet; formulas follow.

    Examples:
        {"sheet": "Sheet1", "name": "Sales 2024"}
    """


@calc_tool(effects=("delete",))
async def sheet_delete(context: ToolContext, sheet: SheetName) -> None:
    """Delete a sheet with all that is on it.

    Examples:
        Sheet2
    """


@calc_tool()
async def sheet_copy(
    context: ToolContext, sheet: SheetName, name: SheetName, position: Position = 0
) -> None:
    """Copy a sheet under a new name and show the copy.

    Examples:
        {"sheet": "Sheet1", "name": "Sheet1 backup"}
    """


@calc_tool()
async def sheet_move(context: ToolContext, sheet: SheetName, position: Position) -> None:
    """Move a sheet to a position, counted from 1; 0: to the end.

    Examples:
        {"sheet": "Summary", "position": 1}
    """


@calc_tool()
async def sheet_tab(
    context: ToolContext,
    sheet: SheetName,
    color: str | None = None,
    visible: bool | None = None,
) -> None:
    """Color a sheet's tab, or hide the sheet or show it again.

    Examples:
        {"sheet": "Sheet1", "color": "#ff8000"}
        {"sheet": "Sheet2", "visible": false}
    """


@calc_tool()
async def page(
    context: ToolContext,
    sheet: str = "",
    landscape: bool | None = None,
    paper: Literal["A3", "A4", "A5", "letter", "legal"] | None = None,
    pages_wide: Pages | None = None,
    pages_tall: Pages | None = None,
    margins: Annotated[float, Field(ge=0, le=100)] | None = None,
    header: str | None = None,
    footer: str | None = None,
    area: str | None = None,
    repeat_rows: str | None = None,
) -> None:
    """Set how a sheet is printed: paper, scale, margins, header, area; what is not given stays.

    ``pages_wide`` and ``pages_tall`` fit it to so many pages; 0: any number. ``margins`` are in mm,
    ``area`` are the cells that are printed, ``repeat_rows`` rows that every page begins with.

    Examples:
        {"landscape": true, "pages_wide": 1, "pages_tall": 0}
        {"sheet": "Sheet2", "area": "A1:F40", "repeat_rows": "1:1", "header": "Sales"}
    """


@calc_tool(seconds=SLOW)
async def save(context: ToolContext, path: str = "", overwrite: bool = False) -> None:
    """Save the spreadsheet where it is or, with a path, there from now on.

    The path ends in .ods, .xlsx, .xls or .csv.

    Examples:
        {}
        {"path": "~/Documents/sales.xlsx"}
    """


@calc_tool(seconds=SLOW)
async def export(
    context: ToolContext, path: Path, cells: str = "", overwrite: bool = False
) -> None:
    """Write a copy as .pdf, .csv, .html, .xlsx, .ods or .xls; the open file stays what it is.

    A .csv has the shown sheet, or the sheet of ``cells``, as it is shown. A .pdf has all sheets, or
    ``cells``.

    Examples:
        {"path": "~/Documents/sales.pdf"}
        {"path": "/tmp/sheet2.csv", "cells": "Sheet2.A1", "overwrite": true}
    """


@calc_tool()
async def undo(context: ToolContext, steps: Steps = 1) -> None:
    """Take the last steps back; a call of a tool is one step.

    Examples:
        2
    """
