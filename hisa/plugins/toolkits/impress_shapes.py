"""Tools for what stands on the slides of a presentation in LibreOffice."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hisa.plugins.toolkits.impress_slides import Which, impress_tool
from hisa.plugins.toolkits.writer_words import Align, Length, Points, Position, Underline
from hisa.tools.base import ToolContext

__all__ = [
    "format_paragraphs",
    "format_text",
    "image_insert",
    "replace",
    "shape_change",
    "shape_delete",
    "shape_insert",
    "table_insert",
    "table_write",
    "text_box",
    "write",
]

Extent = Annotated[float, Field(gt=0, le=300, allow_inf_nan=False)]
Line = Annotated[int, Field(ge=1, le=1000)]
Rows = Annotated[tuple[tuple[str, ...], ...], Field(min_length=1, max_length=200)]


@impress_tool()
async def write(slide: Which, shape: Which, text: str, context: ToolContext) -> None:
    """Write the text of a shape: "title", "subtitle", "content", or one by number or name.

    Examples:
        {"slide": "1", "shape": "title", "text": "Our year"}
        {"slide": "2", "shape": "content", "text": "First point\\nSecond point"}
    """


@impress_tool()
async def text_box(
    slide: Which,
    text: str,
    context: ToolContext,
    left_cm: Length = 2,
    top_cm: Length = 2,
    width_cm: Extent = 10,
    height_cm: Extent = 1.5,
    size: Points | None = None,
    name: str = "",
) -> None:
    """Insert a text box.

    Examples:
        {"slide": "2", "text": "Source: own data", "left_cm": 2, "top_cm": 14, "size": 12}
    """


@impress_tool({"slide": "slides_"})
async def format_text(
    slide: Which,
    context: ToolContext,
    shape: Which = "",
    text: str = "",
    bold: bool | None = None,
    italic: bool | None = None,
    underline: Underline = "",
    strike: bool | None = None,
    font: str = "",
    size: Points | None = None,
    color: str = "",
    highlight: str = "",
    position: Position = "",
) -> None:
    """Format text of a shape, a text in it, or all text of slides.

    Examples:
        {"slide": "all", "shape": "title", "font": "Liberation Serif", "bold": true}
        {"slide": "2", "text": "urgent", "color": "red", "underline": "single"}
    """


@impress_tool({"slide": "slides_"})
async def format_paragraphs(
    slide: Which,
    shape: Which,
    context: ToolContext,
    align: Align = "",
    line_spacing: Annotated[float, Field(ge=0.1, le=20)] | None = None,
    before_pt: Points | None = None,
    after_pt: Points | None = None,
    bullets: Literal["", "bullets", "numbers", "letters", "none"] = "",
    vertical: Literal["", "top", "middle", "bottom"] = "",
) -> None:
    """Set alignment, line spacing, bullets or numbers of a shape's paragraphs.

    Examples:
        {"slide": "1", "shape": "title", "align": "left"}
        {"slide": "3", "shape": "content", "bullets": "numbers", "line_spacing": 1.5}
    """


@impress_tool()
async def shape_insert(
    slide: Which,
    kind: Literal[
        "rectangle",
        "rounded_rectangle",
        "ellipse",
        "triangle",
        "diamond",
        "right_arrow",
        "left_arrow",
        "up_arrow",
        "down_arrow",
        "star",
        "heart",
        "cloud",
        "speech",
        "line",
    ],
    context: ToolContext,
    left_cm: Length = 2,
    top_cm: Length = 2,
    width_cm: Extent = 5,
    height_cm: Extent = 3,
    text: str = "",
    fill: str = "",
    line: str = "",
    name: str = "",
) -> None:
    """Draw a shape, an arrow or a line; `fill` and `line` are colours, or "none".

    Examples:
        {"slide": "2", "kind": "ellipse", "left_cm": 3, "top_cm": 4, "fill": "#ffcc00"}
        {"slide": "2", "kind": "right_arrow", "text": "Next", "line": "none"}
    """


@impress_tool()
async def shape_change(
    slide: Which,
    shape: Which,
    context: ToolContext,
    left_cm: Length | None = None,
    top_cm: Length | None = None,
    width_cm: Extent | None = None,
    height_cm: Extent | None = None,
    degrees: Annotated[float, Field(ge=-360, le=360)] | None = None,
    fill: str = "",
    line: str = "",
    line_pt: Points | None = None,
    order: Literal["", "front", "back"] = "",
    name: str = "",
) -> None:
    """Move, resize, turn (clockwise), colour, raise, lower or name a shape.

    Examples:
        {"slide": "1", "shape": "2", "left_cm": 4, "top_cm": 6, "width_cm": 12}
        {"slide": "3", "shape": "Logo", "degrees": 45, "order": "front"}
    """


@impress_tool()
async def shape_delete(slide: Which, shape: Which, context: ToolContext) -> None:
    """Delete a shape of a slide.

    Examples:
        {"slide": "2", "shape": "3"}
    """


@impress_tool()
async def image_insert(
    slide: Which,
    path: str,
    context: ToolContext,
    left_cm: Length | None = None,
    top_cm: Length | None = None,
    width_cm: Extent | None = None,
    height_cm: Extent | None = None,
    name: str = "",
) -> None:
    """Insert a picture from a file; in the middle by default, proportions kept with one length.

    Examples:
        {"slide": "2", "path": "~/Pictures/chart.png", "width_cm": 12}
    """


@impress_tool()
async def table_insert(
    slide: Which,
    values: Rows,
    context: ToolContext,
    left_cm: Length = 2,
    top_cm: Length = 4,
    width_cm: Extent = 20,
    height_cm: Extent = 5,
    name: str = "",
) -> None:
    """Insert a table with texts.

    Examples:
        {"slide": "3", "values": [["Name", "Amount"], ["Anna", "12"]]}
    """


@impress_tool()
async def table_write(
    slide: Which,
    values: Rows,
    context: ToolContext,
    row: Line = 1,
    column: Line = 1,
    shape: Which = "",
) -> None:
    """Write texts into the cells of a slide's table, from one cell on; rows are added as needed.

    Examples:
        {"slide": "3", "row": 2, "column": 2, "values": [["14"], ["9"]]}
    """


@impress_tool()
async def replace(
    find: Annotated[str, Field(min_length=1)],
    replacement: str,
    context: ToolContext,
    regex: bool = False,
    match_case: bool = True,
) -> None:
    """Find and replace text on all slides.

    Examples:
        {"find": "2023", "replacement": "2024"}
    """
