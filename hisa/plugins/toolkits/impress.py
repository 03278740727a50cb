"""The toolkit ``impress``: changes the presentation in front, in the running LibreOffice.

The person sees each change at once; it is one step of the undo list if LibreOffice records it (if
not, the answer says so), and nothing is saved unasked. ComputerRL (table 5) has 22 functions for
Impress.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hisa.plugins.toolkits.guest_call import OFFICE_DIALOGS, GuestTool
from hisa.plugins.toolkits.writer import (
    SLOW,
    Align,
    Count,
    Length,
    Number,
    Points,
    Position,
    Underline,
)
from hisa.text.prompt_text import ends
from hisa.tools.toolkit import Toolkit
from hisa.tools.traits import Needs

__all__ = ["IMPRESS"]


_READ = 12_000
"""Characters of an answer; of a longer one, both ends are kept."""
Layout = Literal[
    "title_slide", "title_content", "two_content", "title_only", "blank", "centered_text"
]
Which = Annotated[str, Field(coerce_numbers_to_str=True)]
"""One slide, several, or a shape: by number, name or word."""


impress_tool = GuestTool("impress_program", SLOW, lambda answer: ends(str(answer), _READ))


@impress_tool(reads=True)
async def overview() -> None:
    """List all slides with their layouts, shapes, places and the beginnings of their texts.

    Examples:
        {}
    """


@impress_tool(reads=True)
async def read(slide: Which = "all") -> None:
    """Read all text of slides, with tables and speaker's notes.

    `slide`, here and in the other tools: "3", "2-4", "1,3", "last", "all" or "current".

    Examples:
        2-3
    """


@impress_tool()
async def add(
    at: Number = 0,
    layout: Layout = "title_content",
    title: str = "",
    content: str = "",
) -> None:
    """Add a slide as number `at` or at the end, with title and content; one point a line.

    Examples:
        {"title": "Results", "content": "More visitors\\nLower costs"}
        {"at": 2, "layout": "blank"}
    """


@impress_tool()
async def duplicate(slide: Which = "current") -> None:
    """Copy a slide; the copy comes right after it.

    Examples:
        3
    """


@impress_tool({"slide": "slides_"})
async def delete(slide: Which) -> None:
    """Delete slides.

    Examples:
        4-6
    """


@impress_tool()
async def move(slide: Which, to: Annotated[int, Field(ge=1)]) -> None:
    """Move a slide to another number.

    Examples:
        {"slide": "5", "to": 2}
    """


@impress_tool({"slide": "slides_"})
async def layout(slide: Which, name: Layout) -> None:
    """Give slides a layout.

    Examples:
        {"slide": "2", "name": "two_content"}
    """


@impress_tool()
async def show(slide: Which) -> None:
    """Go to a slide in the window.

    Examples:
        3
    """


@impress_tool({"slide": "slides_", "color": "color_"})
async def background(slide: Which, color: str = "", image: str = "") -> None:
    """Set the background of slides to a colour or a picture; with neither, to the master's.

    Examples:
        {"slide": "all", "color": "#003366"}
        {"slide": "1", "image": "~/Pictures/sky.jpg"}
    """


@impress_tool({"format": "format_"})
async def size(
    format: Literal["16:9", "4:3", "16:10", "A4"],  # noqa: A002
) -> None:
    """Set the size of all slides; what is on them stays where it is.

    Examples:
        4:3
    """


@impress_tool()
async def notes(slide: Which, text: str) -> None:
    """Write the speaker's notes of a slide; `read` shows them.

    Examples:
        {"slide": "2", "text": "Thank the team here."}
    """


@impress_tool({"slide": "slides_"})
async def footer(
    slide: Which,
    text: str | None = None,
    number: bool | None = None,
    date: bool | None = None,
) -> None:
    """Show a footer text, slide numbers or the date on slides, or hide them.

    Examples:
        {"slide": "all", "text": "Annual report", "number": true}
    """


@impress_tool(seconds=SLOW)
async def save(path: str = "", overwrite: bool = False) -> None:
    """Save the presentation, or save it as another file: .odp, .pptx, .ppt.

    Examples:
        {}
        {"path": "~/Documents/talk.pptx"}
    """


@impress_tool(seconds=SLOW)
async def export(
    path: str,
    slide: Which = "",
    width: Annotated[int, Field(ge=16, le=8000)] = 1280,
    overwrite: bool = False,
) -> None:
    """Export a PDF, a copy, or one slide as a picture: .pdf, .pptx, .odp, .png, .jpg, .svg.

    `width` is a picture's, in pixels. The open presentation stays as it is.

    Examples:
        {"path": "~/talk.pdf"}
        {"path": "~/slide3.png", "slide": "3", "width": 1920}
    """


@impress_tool()
async def undo(steps: Count = 1) -> None:
    """Undo the newest steps of the presentation, the person's as well.

    Examples:
        2
    """


Extent = Annotated[float, Field(gt=0, le=300, allow_inf_nan=False)]
Line = Annotated[int, Field(ge=1, le=1000)]
Rows = Annotated[tuple[tuple[str, ...], ...], Field(min_length=1, max_length=200)]


@impress_tool()
async def write(slide: Which, shape: Which, text: str) -> None:
    """Write the text of a shape: "title", "subtitle", "content", or one by number or name.

    Examples:
        {"slide": "1", "shape": "title", "text": "Our year"}
        {"slide": "2", "shape": "content", "text": "First point\\nSecond point"}
    """


@impress_tool()
async def text_box(
    slide: Which,
    text: str,
    left_cm: Length = 2,
    top_cm: Length = 2,
    width_cm: Extent = 10,
    height_cm: Extent = 1.5,
    size: Points | None = None,
) -> None:
    """Insert a text box.

    Examples:
        {"slide": "2", "text": "Source: own data", "left_cm": 2, "top_cm": 14, "size": 12}
    """


@impress_tool({"slide": "slides_"})
async def format_text(
    slide: Which,
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
    align: Align = "",
    line_spacing: Annotated[float, Field(ge=0.1, le=20)] | None = None,
    before_pt: Points | None = None,
    after_pt: Points | None = None,
    bullets: Literal["", "bullets", "numbers", "letters", "none"] = "",
) -> None:
    """Set alignment, line spacing, bullets or numbers of a shape's paragraphs.

    Examples:
        {"slide": "1", "shape": "title", "align": "left"}
        {"slide": "3", "shape": "content", "bullets": "numbers", "line_spacing": 1.5}
    """


@impress_tool()
async def shape_change(
    slide: Which,
    shape: Which,
    left_cm: Length | None = None,
    top_cm: Length | None = None,
    width_cm: Extent | None = None,
    height_cm: Extent | None = None,
    degrees: Annotated[float, Field(ge=-360, le=360)] | None = None,
    fill: str = "",
    line: str = "",
) -> None:
    """Move, resize, turn (clockwise) or colour a shape.

    Examples:
        {"slide": "1", "shape": "2", "left_cm": 4, "top_cm": 6, "width_cm": 12}
        {"slide": "3", "shape": "Logo", "degrees": 45, "fill": "#ffcc00"}
    """


@impress_tool()
async def shape_delete(slide: Which, shape: Which) -> None:
    """Delete a shape of a slide.

    Examples:
        {"slide": "2", "shape": "3"}
    """


@impress_tool()
async def image_insert(
    slide: Which,
    path: str,
    left_cm: Length | None = None,
    top_cm: Length | None = None,
    width_cm: Extent | None = None,
    height_cm: Extent | None = None,
) -> None:
    """Insert a picture from a file; in the middle by default, proportions kept with one length.

    Examples:
        {"slide": "2", "path": "~/Pictures/chart.png", "width_cm": 12}
    """


@impress_tool()
async def table_insert(
    slide: Which,
    values: Rows,
    left_cm: Length = 2,
    top_cm: Length = 4,
    width_cm: Extent = 20,
    height_cm: Extent = 5,
) -> None:
    """Insert a table with texts.

    Examples:
        {"slide": "3", "values": [["Name", "Amount"], ["Anna", "12"]]}
    """


@impress_tool()
async def table_write(
    slide: Which,
    values: Rows,
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
    match_case: bool = True,
) -> None:
    """Find and replace text on all slides.

    Examples:
        {"find": "2023", "replacement": "2024"}
    """


IMPRESS = Toolkit(
    "impress",
    "LibreOffice Impress",
    (
        *(overview, read, write, add, format_text),
        *(shape_change, text_box, image_insert, delete, move),
        *(duplicate, background, notes, format_paragraphs),
        *(table_insert, table_write, shape_delete),
        *(layout, save, export, replace),
        *(footer, size, show),
        undo,
    ),
    Needs(frozenset({"execute"}), apps=("libreoffice-impress",), dialogs=OFFICE_DIALOGS),
)
"""Presentations."""
