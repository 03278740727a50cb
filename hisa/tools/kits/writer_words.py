"""Tools for the words of a text document in LibreOffice, and for how they look."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from hisa.text.prompt_text import ends
from hisa.tools.base import ToolContext
from hisa.tools.kits.guest_call import call_guest
from hisa.tools.traits import tool

__all__ = [
    "SLOW", "Align", "Caps", "Count", "Length", "Number", "Points", "Position", "Side", "Underline",
    "call_writer", "change_case", "change_style", "clear_format", "delete", "find",
    "format_paragraphs", "format_text", "insert", "make_list", "overview", "read", "replace",
    "show", "style", "styles", "tab_stops", "write",
]  # fmt: skip

_PROGRAM = "writer_program"
_READ = 12_000
"""Characters of a document that are told, both ends of it."""
SLOW = 120.0
"""Seconds for a large document: an export writes about 20 pages a second here."""

Number = Annotated[int, Field(ge=0, le=100_000)]
Count = Annotated[int, Field(ge=1, le=1000)]
Length = Annotated[float, Field(ge=-100, le=500, allow_inf_nan=False)]
Points = Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)]
Underline = Literal["", "none", "single", "double", "dotted", "dashed", "wavy"]
Position = Literal["", "normal", "superscript", "subscript"]
Caps = Literal["", "none", "upper", "lower", "title", "small"]
Align = Literal["", "left", "center", "right", "justify"]
Side = Literal["", "left", "center", "right"]


class TabStop(BaseModel):
    """One tab stop."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    position_cm: Annotated[float, Field(ge=0, le=100)]
    align: Literal["left", "center", "right", "decimal"] = "left"
    fill: Annotated[str, Field(min_length=1, max_length=1)] = " "


async def call_writer(context: ToolContext, function: str, **arguments: Any) -> str:
    """Returns what a function of the program for text documents says."""
    said = await call_guest(context.environment, _PROGRAM, function, seconds=SLOW, **arguments)
    return ends(str(said), _READ)


# Text ---------------------------------------------------------------------------------------------


@tool(reads=True)
async def overview(context: ToolContext) -> str:
    """Tell pages, words, headings, tables, pictures, bookmarks and comments of the document.

    Examples:
        {}
    """
    return await call_writer(context, "overview")


@tool(reads=True)
async def read(context: ToolContext, paragraphs: str = "all") -> str:
    """Read paragraphs with their numbers and styles; tables stand between them by name.

    `paragraphs`, here and in the other tools: "3", "2-5", "1,4-6", "last", "all", "selection" or
    "style:Heading 1". They are those of the text itself; cells have tools of their own.

    Examples:
        1-40
        style:Heading 1
    """
    return await call_writer(context, "read", paragraphs=paragraphs)


@tool(reads=True)
async def find(text: str, context: ToolContext, regex: bool = False) -> str:
    """Tell in which paragraphs a text is found, capital and small letters as given.

    Examples:
        {"text": "Invoice"}
        {"text": "[0-9]{4}-[0-9]{2}", "regex": true}
    """
    return await call_writer(context, "find", text=text, regex=regex)


@tool()
async def insert(text: str, context: ToolContext, before: Number = 0, style: str = "") -> str:
    """Insert paragraphs before a paragraph, or append them at the end; one a line.

    Examples:
        {"text": "First new paragraph\\nSecond one"}
        {"text": "Introduction", "before": 1, "style": "Heading 1"}
    """
    return await call_writer(context, "insert", text=text, before=before, style=style)


@tool()
async def write(paragraph: str, text: str, context: ToolContext) -> str:
    """Write the text of one paragraph anew; its style stays.

    Examples:
        {"paragraph": "3", "text": "The new text of the third paragraph."}
    """
    return await call_writer(context, "write", paragraphs=paragraph, text=text)


@tool()
async def delete(
    context: ToolContext, paragraphs: str = "", text: str = "", occurrence: Number = 0
) -> str:
    """Delete whole paragraphs, or a text in them or everywhere.

    Examples:
        {"paragraphs": "4-6"}
        {"text": " (draft)"}
    """
    return await call_writer(
        context, "delete", paragraphs=paragraphs, text=text, occurrence=occurrence
    )


@tool()
async def replace(
    find: Annotated[str, Field(min_length=1)],
    replacement: str,
    context: ToolContext,
    regex: bool = False,
    match_case: bool = True,
    whole_words: bool = False,
) -> str:
    """Find and replace text everywhere, in tables, notes, headers and footers too.

    With `regex`, the expression is LibreOffice's: $1 is the first group, & all that was found.

    Examples:
        {"find": "colour", "replacement": "color", "match_case": false}
        {"find": "([0-9]+) EUR", "replacement": "€ $1", "regex": true}
    """
    return await call_writer(
        context, "replace", find=find, replacement=replacement, regex=regex,
        match_case=match_case, whole_words=whole_words,
    )  # fmt: skip


@tool()
async def change_case(
    to: Literal["upper", "lower", "title", "sentence"],
    context: ToolContext,
    paragraphs: str = "",
    text: str = "",
) -> str:
    """Write paragraphs or a text in capital or small letters.

    Examples:
        {"to": "upper", "paragraphs": "all"}
        {"to": "title", "paragraphs": "1"}
    """
    return await call_writer(context, "change_case", to=to, paragraphs=paragraphs, text=text)


@tool()
async def show(
    context: ToolContext, paragraphs: str = "", text: str = "", occurrence: Number = 1
) -> str:
    """Select paragraphs or a text in the window and scroll there.

    Examples:
        {"text": "Conclusion"}
        {"paragraphs": "12-14"}
    """
    return await call_writer(
        context, "show", paragraphs=paragraphs, text=text, occurrence=occurrence if text else 0
    )


# Look ---------------------------------------------------------------------------------------------


@tool()
async def format_text(
    context: ToolContext,
    paragraphs: str = "",
    text: str = "",
    occurrence: Number = 0,
    bold: bool | None = None,
    italic: bool | None = None,
    underline: Underline = "",
    strike: bool | None = None,
    font: str = "",
    size: Points | None = None,
    color: str = "",
    highlight: str = "",
    position: Position = "",
    caps: Caps = "",
    spacing_pt: float | None = None,
    style: str = "",
) -> str:
    """Format words: bold, italic, underline, font, size, colour, highlight, superscript.

    It is about every place of `text`, or the one of number `occurrence`, or whole `paragraphs`;
    with both, the places in these. Colours are names or #rrggbb. `style` is a character style.

    Examples:
        {"text": "H2O", "font": "Liberation Sans", "size": 14, "color": "#c00000"}
        {"paragraphs": "1", "bold": true, "underline": "single"}
        {"text": "2", "paragraphs": "3", "position": "subscript"}
    """
    return await call_writer(
        context, "format_text", paragraphs=paragraphs, text=text, occurrence=occurrence,
        bold=bold, italic=italic, underline=underline, strike=strike, font=font, size=size,
        color=color, highlight=highlight, position=position, caps=caps, spacing_pt=spacing_pt,
        style=style,
    )  # fmt: skip


@tool()
async def clear_format(context: ToolContext, paragraphs: str = "", text: str = "") -> str:
    """Take away formatting that was set by hand, so that the styles show.

    Examples:
        {"paragraphs": "all"}
    """
    return await call_writer(context, "clear_format", paragraphs=paragraphs, text=text)


@tool()
async def format_paragraphs(
    paragraphs: str,
    context: ToolContext,
    align: Align = "",
    line_spacing: Annotated[float, Field(ge=0.1, le=20)] | None = None,
    before_pt: Points | None = None,
    after_pt: Points | None = None,
    left_cm: Length | None = None,
    right_cm: Length | None = None,
    first_line_cm: Length | None = None,
    background: str = "",
    keep_with_next: bool | None = None,
) -> str:
    """Set alignment, line spacing, spacing and indents of paragraphs; 1 is single spacing.

    Examples:
        {"paragraphs": "all", "line_spacing": 2}
        {"paragraphs": "2-4", "align": "justify", "first_line_cm": 1, "after_pt": 6}
    """
    return await call_writer(
        context, "format_paragraphs", paragraphs=paragraphs, page_break=None, align=align,
        line_spacing=line_spacing, before_pt=before_pt, after_pt=after_pt, left_cm=left_cm,
        right_cm=right_cm, first_line_cm=first_line_cm, background=background,
        keep_with_next=keep_with_next,
    )  # fmt: skip


@tool()
async def style(paragraphs: str, name: str, context: ToolContext) -> str:
    """Give paragraphs a paragraph style, such as a heading.

    Examples:
        {"paragraphs": "1", "name": "Heading 1"}
    """
    return await call_writer(context, "style", paragraphs=paragraphs, name=name)


@tool(reads=True)
async def styles(
    context: ToolContext,
    family: Literal["paragraph", "character", "page", "list"] = "paragraph",
    used: bool = True,
) -> str:
    """List styles and how they look; those that are used, or all.

    Examples:
        {"family": "paragraph"}
    """
    return await call_writer(context, "styles", family=family, used=used)


@tool()
async def change_style(
    name: str,
    context: ToolContext,
    family: Literal["paragraph", "character"] = "paragraph",
    parent: str = "",
    create: bool = False,
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
) -> str:
    """Change how a style looks, and so all text that has it; or create one.

    The default font of a document is that of the style "Default Paragraph Style".

    Examples:
        {"name": "Default Paragraph Style", "font": "Liberation Sans", "size": 11}
        {"name": "Remark", "create": true, "parent": "Default Paragraph Style", "italic": true}
    """
    return await call_writer(
        context, "change_style", name=name, family=family, parent=parent, create=create,
        font=font, size=size, bold=bold, italic=italic, color=color, align=align,
        line_spacing=line_spacing, before_pt=before_pt, after_pt=after_pt, left_cm=left_cm,
        first_line_cm=first_line_cm,
    )  # fmt: skip


@tool()
async def make_list(
    paragraphs: str,
    context: ToolContext,
    kind: Literal["bullet", "number", "letter", "capital", "roman", "none"] = "bullet",
    level: Annotated[int, Field(ge=1, le=10)] = 1,
    restart: bool = False,
) -> str:
    """Make paragraphs a bulleted or numbered list, or no list.

    Examples:
        {"paragraphs": "3-6", "kind": "number"}
        {"paragraphs": "4", "kind": "bullet", "level": 2}
    """
    return await call_writer(
        context, "make_list", paragraphs=paragraphs, kind=kind, level=level, restart=restart
    )


@tool()
async def tab_stops(paragraphs: str, stops: tuple[TabStop, ...], context: ToolContext) -> str:
    """Set the tab stops of paragraphs; those that were set before are gone.

    Examples:
        {"paragraphs": "all", "stops": [{"position_cm": 15, "align": "right", "fill": "."}]}
    """
    told = [stop.model_dump() for stop in stops]
    return await call_writer(context, "tab_stops", paragraphs=paragraphs, stops=told)
