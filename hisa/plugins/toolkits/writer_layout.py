"""Tools for pages, tables and parts of a text document in LibreOffice, and for its files."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hisa.plugins.toolkits.writer_words import SLOW, Count, Length, Number, Side, writer_tool
from hisa.tools.base import ToolContext

__all__ = [
    "comment",
    "contents",
    "export",
    "footnote",
    "header_footer",
    "hyperlink",
    "image_insert",
    "page",
    "page_break",
    "save",
    "table_change",
    "table_insert",
    "table_read",
    "table_write",
    "undo",
]

Row = tuple[str, ...]


# Pages --------------------------------------------------------------------------------------------


@writer_tool()
async def page(
    context: ToolContext,
    style: str = "",
    paper: Literal["", "A3", "A4", "A5", "A6", "B4", "B5", "Letter", "Legal", "Tabloid"] = "",
    width_cm: Length | None = None,
    height_cm: Length | None = None,
    landscape: bool | None = None,
    top_cm: Length | None = None,
    bottom_cm: Length | None = None,
    left_cm: Length | None = None,
    right_cm: Length | None = None,
    columns: Annotated[int, Field(ge=1, le=20)] | None = None,
    column_gap_cm: Annotated[float, Field(ge=0, le=10)] = 0.5,
    background: str = "",
) -> None:
    """Set paper, orientation, margins and columns of a page style; that at the cursor by default.

    LibreOffice takes a page style back in no undo, and forgets the earlier steps with it.

    Examples:
        {"paper": "A4", "landscape": true}
        {"top_cm": 2, "bottom_cm": 2, "left_cm": 2.5, "right_cm": 2.5}
        {"columns": 2, "column_gap_cm": 1}
    """


@writer_tool()
async def header_footer(
    which: Literal["header", "footer"],
    context: ToolContext,
    text: str = "",
    on: bool = True,
    align: Literal["left", "center", "right"] = "center",
    style: str = "",
) -> None:
    """Set the header or footer, with page numbers and other fields; or take it away.

    In `text` {page}, {pages}, {date}, {time}, {title}, {author} and {file} are fields. As with
    `page`, there is no undo.

    Examples:
        {"which": "footer", "text": "Page {page} of {pages}"}
        {"which": "header", "on": false}
    """


@writer_tool()
async def page_break(
    paragraph: str,
    context: ToolContext,
    style: str = "",
    number_from: Number = 0,
    remove: bool = False,
) -> None:
    """Begin a new page with a paragraph, or no longer; with `style`, of another page style.

    Examples:
        {"paragraph": "7"}
        {"paragraph": "7", "style": "Landscape", "number_from": 1}
    """


@writer_tool()
async def contents(
    context: ToolContext,
    title: str = "Table of Contents",
    levels: Annotated[int, Field(ge=1, le=10)] = 3,
    before: Number = 1,
) -> None:
    """Insert a table of contents before a paragraph, or bring the one there up to date.

    Examples:
        {"levels": 2, "before": 2}
    """


# Tables -------------------------------------------------------------------------------------------


@writer_tool()
async def table_insert(
    values: Annotated[tuple[Row, ...], Field(min_length=1)],
    context: ToolContext,
    before: Number = 0,
    name: str = "",
    header: bool = True,
) -> None:
    """Insert a table with texts before a paragraph or at the end; `header`: the first row is bold.

    Examples:
        {"values": [["Name", "Amount"], ["Anna", "12"], ["Ben", "7"]], "name": "Amounts"}
    """


@writer_tool(reads=True)
async def table_read(context: ToolContext, table: str = "") -> None:
    """Read a table, told by its name or number; the first by default.

    Examples:
        Table1
    """


@writer_tool()
async def table_write(
    cell: str,
    values: Annotated[tuple[Row, ...], Field(min_length=1)],
    context: ToolContext,
    table: str = "",
) -> None:
    """Write texts into a table's cells, from one cell on to the right and down.

    Examples:
        {"cell": "B2", "values": [["12"], ["7"]]}
    """


@writer_tool()
async def table_change(
    action: Literal[
        "insert_rows", "insert_columns", "delete_rows", "delete_columns", "merge", "delete_table"
    ],
    context: ToolContext,
    table: str = "",
    at: Number = 0,
    count: Count = 1,
    cells: str = "",
) -> None:
    """Insert or delete rows and columns of a table, merge cells, or delete the table.

    New rows and columns come before number `at`; 0: at the end. `merge` takes `cells`.

    Examples:
        {"action": "insert_rows", "at": 2, "count": 3}
        {"action": "merge", "cells": "A1:C1"}
    """


# Parts --------------------------------------------------------------------------------------------


@writer_tool()
async def image_insert(
    path: str,
    context: ToolContext,
    before: Number = 0,
    width_cm: Annotated[float, Field(gt=0, le=200)] | None = None,
    height_cm: Annotated[float, Field(gt=0, le=200)] | None = None,
    anchor: Literal["paragraph", "character", "page"] = "paragraph",
    align: Side = "center",
    wrap: Literal["none", "both", "through"] = "none",
    description: str = "",
) -> None:
    """Insert a picture from a file before a paragraph, or at the end.

    With one length the proportions stay. `anchor` "character": it stands in the line like a letter.

    Examples:
        {"path": "~/Pictures/chart.png", "before": 4, "width_cm": 10}
    """


@writer_tool()
async def hyperlink(
    text: Annotated[str, Field(min_length=1)],
    url: str,
    context: ToolContext,
    paragraphs: str = "",
    occurrence: Number = 1,
) -> None:
    """Make a text of the document a link; with an empty `url` it is none any more.

    Examples:
        {"text": "our site", "url": "https://example.org"}
    """


@writer_tool()
async def footnote(
    text: Annotated[str, Field(min_length=1)],
    note: str,
    context: ToolContext,
    endnote: bool = False,
    paragraphs: str = "",
) -> None:
    """Insert a footnote or an endnote behind a text of the document.

    Examples:
        {"text": "as was shown", "note": "See chapter 2."}
    """


@writer_tool()
async def comment(
    text: Annotated[str, Field(min_length=1)],
    comment: str,
    context: ToolContext,
    author: str = "",
    paragraphs: str = "",
) -> None:
    """Put a comment on a text of the document.

    Examples:
        {"text": "12 %", "comment": "Please check this number.", "author": "Anna"}
    """


# Files --------------------------------------------------------------------------------------------


@writer_tool(seconds=SLOW)
async def save(context: ToolContext, path: str = "", overwrite: bool = False) -> None:
    """Save the document, or save it as another file: .odt, .docx, .doc, .rtf, .txt, .html.

    Examples:
        {}
        {"path": "~/Documents/report.docx"}
    """


@writer_tool(seconds=SLOW)
async def export(path: str, context: ToolContext, pages: str = "", overwrite: bool = False) -> None:
    """Export a PDF, or a copy in another format; the open document stays as it is.

    Examples:
        {"path": "~/Documents/report.pdf"}
        {"path": "~/Documents/part.pdf", "pages": "2-4"}
    """


@writer_tool()
async def undo(context: ToolContext, steps: Count = 1) -> None:
    """Take back the newest steps of the document, the person's as well.

    Examples:
        2
    """
