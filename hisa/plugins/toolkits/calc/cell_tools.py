"""Tools that read and write cells of a spreadsheet."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hisa.plugins.toolkits.calc.in_calc import SLOW, Place, calc_tool
from hisa.tools.base import ToolContext

__all__ = [
    "clear",
    "copy",
    "fill",
    "find",
    "formula",
    "read",
    "replace",
    "split",
    "transpose",
    "write",
]

Cell = Annotated[str, Field(max_length=32_767)] | float | bool | None
"""32,767 characters are the most that a cell of a spreadsheet file may have."""
Rows = Annotated[list[list[Cell]], Field(min_length=1, max_length=100_000)]


@calc_tool(reads=True, seconds=SLOW)
async def read(
    context: ToolContext,
    cells: Place,
    show: Literal["shown", "values", "formulas"] = "shown",
) -> None:
    """Read cells as a table; what is too long is left out, and said so.

    ``cells`` is as "B2:D9", "A:C" or "Sheet2.B2:D9"; without a sheet it is about the one that is
    shown. "shown" are the texts on the screen, "values" the unrounded numbers.

    Examples:
        {"cells": "A1:D20"}
        {"cells": "Sheet2.A:C", "show": "formulas"}
    """


@calc_tool(seconds=SLOW)
async def write(context: ToolContext, cell: Place, values: Rows) -> None:
    """Write rows of values and formulas, the first at a cell.

    A text is taken as if typed: "=B2*2" is a formula, "12" a number, "2024-03-01" a date, "'012" a
    text. Functions have English names, arguments are parted by ";" or ",". null leaves a cell as it
    is, "" empties it.

    Examples:
        {"cell": "A1", "values": [["Item", "Price"], ["pear", 1.5]]}
        {"cell": "Sheet2.C2", "values": [["=SUM(A2:B2)"]]}
    """


@calc_tool(seconds=SLOW)
async def formula(
    context: ToolContext,
    cells: Place,
    formula: Annotated[str, Field(min_length=1, max_length=8192)],
) -> None:
    """Write a formula into all cells of a block; references adjust to each cell.

    The formula is as it stands in the first cell.

    Examples:
        {"cells": "D2:D20", "formula": "=B2*C2"}
        {"cells": "B21:F21", "formula": "=SUM(B$2:B20)"}
    """


@calc_tool(seconds=SLOW)
async def fill(
    context: ToolContext,
    cells: Place,
    direction: Literal["down", "right", "up", "left"] = "down",
    series: bool = False,
) -> None:
    """Fill a block from its first row or column: copy it, or go on as a series.

    ``cells`` is the whole block with what is copied. A series goes on with 1, 2, … or Mon, Tue, ….

    Examples:
        {"cells": "D2:D20"}
        {"cells": "A2:A32", "direction": "down", "series": true}
    """


@calc_tool(effects=("delete",), seconds=SLOW)
async def clear(
    context: ToolContext,
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
    context: ToolContext,
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
    context: ToolContext,
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
async def copy(context: ToolContext, cells: Place, to: Place, values_only: bool = False) -> None:
    """Copy cells to another place, over what is there; formulas adjust.

    ``to`` is the upper left cell of the new place. ``values_only`` copies results, without formulas
    and formats.

    Examples:
        {"cells": "A1:D20", "to": "Sheet2.A1"}
        {"cells": "D2:D20", "to": "E2", "values_only": true}
    """


@calc_tool()
async def transpose(context: ToolContext, cells: Place, to: Place) -> None:
    """Copy cells so that rows become columns; formulas become their results.

    Examples:
        {"cells": "A1:D5", "to": "F1"}
    """


@calc_tool(seconds=SLOW)
async def split(
    context: ToolContext,
    cells: Place,
    separator: Annotated[str, Field(min_length=1, max_length=20)] = ",",
    overwrite: bool = False,
) -> None:
    r"""Split the texts of a column into columns: the first part stays, the others go beside it.

    Examples:
        {"cells": "A2:A20", "separator": ";"}
        {"cells": "B2:B9", "separator": " ", "overwrite": true}
    """
