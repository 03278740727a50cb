"""The toolkit ``writer``: changes the text document in front, in the running LibreOffice.

The person sees each change at once; it is one step of the undo list, and nothing is saved unasked.
ComputerRL (table 5) has 19 functions for Writer.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hisa.plugins.toolkits.guest_call import OFFICE_DIALOGS, GuestTool
from hisa.text.prompt_text import ends
from hisa.tools.toolkit import Toolkit
from hisa.tools.traits import Needs

__all__ = [
    "SLOW",
    "WRITER",
    "Align",
    "Count",
    "Length",
    "Number",
    "Points",
    "Position",
    "Underline",
]


_READ = 12_000
"""Characters of an answer; of a longer one, both ends are kept."""
SLOW = 120.0
"""Seconds for a large document: an export writes about 20 pages a second here."""

Number = Annotated[int, Field(ge=0, le=100_000)]
Count = Annotated[int, Field(ge=1, le=1000)]
Length = Annotated[float, Field(ge=-100, le=500, allow_inf_nan=False)]
Points = Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)]
Underline = Literal["", "none", "single", "double", "dotted", "dashed", "wavy"]
Position = Literal["", "normal", "superscript", "subscript"]
Align = Literal["", "left", "center", "right", "justify"]


writer_tool = GuestTool("writer_program", SLOW, lambda answer: ends(str(answer), _READ))


# Text ---------------------------------------------------------------------------------------------


@writer_tool(reads=True)
async def overview() -> None:
    """List pages, words, headings, tables, pictures and comments of the document.

    Examples:
        {}
    """


@writer_tool(reads=True)
async def read(paragraphs: str = "all") -> None:
    """Read paragraphs with their numbers and styles; tables stand between them by name.

    `paragraphs`, here and in the other tools: "3", "2-5", "1,4-6", "last", "all" or
    "style:Heading 1". They are those of the text itself; cells have tools of their own.

    Examples:
        1-40
        style:Heading 1
    """


@writer_tool(reads=True)
async def find(text: str, regex: bool = False) -> None:
    """List the paragraphs in which a text is found; case matters.

    Examples:
        {"text": "Invoice"}
        {"text": "[0-9]{4}-[0-9]{2}", "regex": true}
    """


@writer_tool()
async def insert(text: str, before: Number = 0, style: str = "") -> None:
    """Insert paragraphs before a paragraph, or append them at the end; one a line.

    Examples:
        {"text": "First new paragraph\\nSecond one"}
        {"text": "Introduction", "before": 1, "style": "Heading 1"}
    """


@writer_tool({"paragraph": "paragraphs"})
async def write(paragraph: str, text: str) -> None:
    """Rewrite the text of one paragraph; its style stays.

    Examples:
        {"paragraph": "3", "text": "The new text of the third paragraph."}
    """


@writer_tool()
async def delete(paragraphs: str) -> None:
    """Delete whole paragraphs; `replace` removes a text.

    Examples:
        4-6
    """


@writer_tool()
async def replace(
    find: Annotated[str, Field(min_length=1)],
    replacement: str,
    regex: bool = False,
    match_case: bool = True,
) -> None:
    """Find and replace text everywhere, in tables, notes, headers and footers too.

    With `regex`, the expression is LibreOffice's: $1 is the first group, & the whole match.

    Examples:
        {"find": "colour", "replacement": "color", "match_case": false}
        {"find": "([0-9]+) EUR", "replacement": "€ $1", "regex": true}
    """


@writer_tool()
async def change_case(
    to: Literal["upper", "lower", "title", "sentence"],
    paragraphs: str = "",
    text: str = "",
) -> None:
    """Write paragraphs or a text in capital or small letters.

    Examples:
        {"to": "upper", "paragraphs": "all"}
        {"to": "title", "paragraphs": "1"}
    """


# Look ---------------------------------------------------------------------------------------------


@writer_tool()
async def format_text(
    paragraphs: str = "",
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
    """Format words: bold, italic, underline, font, size, colour, highlight, superscript.

    Formats every place of `text`, or whole `paragraphs`; with both, the places in them.
    Colours are names or #rrggbb.

    Examples:
        {"text": "H2O", "font": "Liberation Sans", "size": 14, "color": "#c00000"}
        {"paragraphs": "1", "bold": true, "underline": "single"}
        {"text": "2", "paragraphs": "3", "position": "subscript"}
    """


@writer_tool()
async def format_paragraphs(
    paragraphs: str,
    align: Align = "",
    line_spacing: Annotated[float, Field(ge=0.1, le=20)] | None = None,
    before_pt: Points | None = None,
    after_pt: Points | None = None,
    left_cm: Length | None = None,
    first_line_cm: Length | None = None,
) -> None:
    """Set alignment, line spacing, spacing and indents of paragraphs; 1 is single spacing.

    Examples:
        {"paragraphs": "all", "line_spacing": 2}
        {"paragraphs": "2-4", "align": "justify", "first_line_cm": 1, "after_pt": 6}
    """


@writer_tool()
async def style(paragraphs: str, name: str) -> None:
    """Give paragraphs a paragraph style, such as a heading.

    Examples:
        {"paragraphs": "1", "name": "Heading 1"}
    """


@writer_tool()
async def change_style(
    name: str,
    font: str = "",
    size: Points | None = None,
    bold: bool | None = None,
    italic: bool | None = None,
    color: str = "",
    align: Align = "",
    line_spacing: Annotated[float, Field(ge=0.1, le=20)] | None = None,
    before_pt: Points | None = None,
    after_pt: Points | None = None,
    left_cm: Length | None = None,
    first_line_cm: Length | None = None,
) -> None:
    """Change how a paragraph style looks, and so all text that has it.

    The default font of a document is that of the style "Default Paragraph Style".

    Examples:
        {"name": "Default Paragraph Style", "font": "Liberation Sans", "size": 11}
    """


@writer_tool()
async def make_list(
    paragraphs: str,
    kind: Literal["bullet", "number", "letter", "capital", "roman", "none"] = "bullet",
    level: Annotated[int, Field(ge=1, le=10)] = 1,
) -> None:
    """Make paragraphs a bulleted or numbered list, or no list.

    Examples:
        {"paragraphs": "3-6", "kind": "number"}
        {"paragraphs": "4", "kind": "bullet", "level": 2}
    """


Row = tuple[str, ...]


# Pages --------------------------------------------------------------------------------------------


@writer_tool()
async def page(
    paper: Literal["", "A3", "A4", "A5", "letter", "legal"] = "",
    landscape: bool | None = None,
    top_cm: Length | None = None,
    bottom_cm: Length | None = None,
    left_cm: Length | None = None,
    right_cm: Length | None = None,
    columns: Annotated[int, Field(ge=1, le=20)] | None = None,
) -> None:
    """Set paper, orientation, margins and columns of the cursor's page style.

    LibreOffice cannot undo this, and forgets the earlier steps with it.

    Examples:
        {"paper": "A4", "landscape": true}
        {"top_cm": 2, "bottom_cm": 2, "left_cm": 2.5, "right_cm": 2.5}
        {"columns": 2}
    """


@writer_tool()
async def header_footer(
    which: Literal["header", "footer"],
    text: str = "",
    on: bool = True,
    align: Literal["left", "center", "right"] = "center",
) -> None:
    """Set the header or footer, with page numbers and other fields, or remove it.

    In `text` {page}, {pages}, {date} and {title} are fields. As with `page`, there is no undo.

    Examples:
        {"which": "footer", "text": "Page {page} of {pages}"}
        {"which": "header", "on": false}
    """


@writer_tool()
async def page_break(paragraph: str, remove: bool = False) -> None:
    """Begin a new page at a paragraph, or no longer.

    Examples:
        {"paragraph": "7"}
        {"paragraph": "7", "remove": true}
    """


# Tables -------------------------------------------------------------------------------------------


@writer_tool()
async def table_insert(
    values: Annotated[tuple[Row, ...], Field(min_length=1)],
    before: Number = 0,
    name: str = "",
    header: bool = True,
) -> None:
    """Insert a table with texts before a paragraph or at the end.

    With `header` the first row is bold.

    Examples:
        {"values": [["Name", "Amount"], ["Anna", "12"], ["Ben", "7"]], "name": "Amounts"}
    """


@writer_tool(reads=True)
async def table_read(table: str = "") -> None:
    """Read a table by its name or number; the first by default.

    Examples:
        Table1
    """


@writer_tool()
async def table_write(
    cell: str,
    values: Annotated[tuple[Row, ...], Field(min_length=1)],
    table: str = "",
) -> None:
    """Write texts into a table's cells, from one cell on to the right and down.

    Examples:
        {"cell": "B2", "values": [["12"], ["7"]]}
    """


# Parts --------------------------------------------------------------------------------------------


@writer_tool()
async def image_insert(
    path: str,
    before: Number = 0,
    width_cm: Annotated[float, Field(gt=0, le=200)] | None = None,
    height_cm: Annotated[float, Field(gt=0, le=200)] | None = None,
) -> None:
    """Insert a picture from a file before a paragraph, or at the end; it stands in a line.

    With one length the proportions stay.

    Examples:
        {"path": "~/Pictures/chart.png", "before": 4, "width_cm": 10}
    """


# Files --------------------------------------------------------------------------------------------


@writer_tool(seconds=SLOW)
async def save(path: str = "", overwrite: bool = False) -> None:
    """Save the document, or save it as another file: .odt, .docx, .doc, .rtf, .txt, .html.

    Examples:
        {}
        {"path": "~/Documents/report.docx"}
    """


@writer_tool(seconds=SLOW)
async def export(path: str, pages: str = "", overwrite: bool = False) -> None:
    """Export a PDF, or a copy in another format; the open document stays as it is.

    Examples:
        {"path": "~/Documents/report.pdf"}
        {"path": "~/Documents/part.pdf", "pages": "2-4"}
    """


@writer_tool()
async def undo(steps: Count = 1) -> None:
    """Undo the newest steps of the document, the person's as well.

    Examples:
        2
    """


WRITER = Toolkit(
    "writer",
    "LibreOffice Writer",
    (
        *(overview, read, find, insert, write, replace),
        *(format_text, format_paragraphs, style, delete, make_list),
        *(table_insert, table_read, table_write),
        *(image_insert, header_footer, page, page_break, save, export),
        *(change_case, change_style, undo),
    ),
    Needs(frozenset({"execute"}), apps=("libreoffice-writer",), dialogs=OFFICE_DIALOGS),
)
"""Text documents."""
