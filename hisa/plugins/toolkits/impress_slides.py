"""Tools for the slides of a presentation in LibreOffice, and for its files."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hisa.plugins.toolkits.guest_call import GuestTool
from hisa.plugins.toolkits.writer_words import SLOW, Align, Count, Number, Points
from hisa.text.prompt_text import ends
from hisa.tools.base import ToolContext

__all__ = [
    "add",
    "background",
    "delete",
    "duplicate",
    "export",
    "footer",
    "impress_tool",
    "layout",
    "move",
    "notes",
    "overview",
    "read",
    "save",
    "show",
    "size",
    "style",
    "transition",
    "undo",
]

_READ = 12_000
"""Characters of a presentation that are told, both ends of it."""
Layout = Literal[
    "title_slide", "title_content", "two_content", "title_only", "blank", "centered_text"
]
Which = Annotated[str, Field(coerce_numbers_to_str=True)]
"""A slide, slides or a shape, by number or otherwise."""
Centimetres = Annotated[float, Field(gt=0, le=300, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)]


impress_tool = GuestTool("impress_program", SLOW, lambda said: ends(str(said), _READ))


@impress_tool(reads=True)
async def overview(context: ToolContext) -> None:
    """Tell all slides with their layouts, shapes, places and the beginnings of their texts.

    Examples:
        {}
    """


@impress_tool(reads=True)
async def read(context: ToolContext, slide: Which = "all") -> None:
    """Read all text of slides, with tables and speaker's notes.

    `slide`, here and in the other tools: "3", "2-4", "1,3", "last", "all" or "current".

    Examples:
        2-3
    """


@impress_tool()
async def add(
    context: ToolContext,
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
async def duplicate(context: ToolContext, slide: Which = "current") -> None:
    """Copy a slide; the copy comes right behind it.

    Examples:
        3
    """


@impress_tool({"slide": "slides_"})
async def delete(slide: Which, context: ToolContext) -> None:
    """Delete slides.

    Examples:
        4-6
    """


@impress_tool()
async def move(slide: Which, to: Annotated[int, Field(ge=1)], context: ToolContext) -> None:
    """Move a slide to another number.

    Examples:
        {"slide": "5", "to": 2}
    """


@impress_tool({"slide": "slides_"})
async def layout(slide: Which, name: Layout, context: ToolContext) -> None:
    """Give slides a layout.

    Examples:
        {"slide": "2", "name": "two_content"}
    """


@impress_tool()
async def show(slide: Which, context: ToolContext) -> None:
    """Go to a slide in the window.

    Examples:
        3
    """


@impress_tool({"slide": "slides_", "color": "color_"})
async def background(slide: Which, context: ToolContext, color: str = "", image: str = "") -> None:
    """Set the background of slides to a colour or a picture; with neither, to the master's.

    Examples:
        {"slide": "all", "color": "#003366"}
        {"slide": "1", "image": "~/Pictures/sky.jpg"}
    """


@impress_tool({"slide": "slides_", "seconds": "lasts"})
async def transition(
    slide: Which,
    kind: Literal[
        "none", "fade", "wipe", "push", "cover", "split", "dissolve", "wheel", "random_bars"
    ],
    context: ToolContext,
    seconds: Seconds = 1,
    after: Seconds | None = None,
) -> None:
    """Set the transition of slides; with `after`, the next slide comes by itself so much later.

    Examples:
        {"slide": "all", "kind": "fade"}
        {"slide": "2-4", "kind": "push", "seconds": 0.5, "after": 10}
    """


@impress_tool({"format": "format_"})
async def size(
    context: ToolContext,
    format: Literal["", "16:9", "4:3", "16:10", "A4"] = "",  # noqa: A002
    width_cm: Centimetres | None = None,
    height_cm: Centimetres | None = None,
) -> None:
    """Set the size or orientation of all slides; what is on them stays where it is.

    Examples:
        {"format": "4:3"}
        {"width_cm": 21, "height_cm": 29.7}
    """


@impress_tool()
async def style(
    name: str,
    context: ToolContext,
    master: str = "",
    font: str = "",
    size: Points | None = None,
    bold: bool | None = None,
    italic: bool | None = None,
    color: str = "",
    align: Align = "",
) -> None:
    """Change a master's style, and so all slides: title, subtitle, outline1 to outline9, notes.

    Examples:
        {"name": "title", "font": "Liberation Serif", "size": 40, "color": "#003366"}
    """


@impress_tool()
async def notes(slide: Which, text: str, context: ToolContext) -> None:
    """Write the speaker's notes of a slide; `read` tells them.

    Examples:
        {"slide": "2", "text": "Thank the team here."}
    """


@impress_tool({"slide": "slides_"})
async def footer(
    slide: Which,
    context: ToolContext,
    text: str | None = None,
    number: bool | None = None,
    date: bool | None = None,
) -> None:
    """Show a footer text, slide numbers or the date on slides, or take them away.

    Examples:
        {"slide": "all", "text": "Annual report", "number": true}
    """


@impress_tool(seconds=SLOW)
async def save(context: ToolContext, path: str = "", overwrite: bool = False) -> None:
    """Save the presentation, or save it as another file: .odp, .pptx, .ppt.

    Examples:
        {}
        {"path": "~/Documents/talk.pptx"}
    """


@impress_tool(seconds=SLOW)
async def export(
    path: str,
    context: ToolContext,
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
async def undo(context: ToolContext, steps: Count = 1) -> None:
    """Take back the newest steps of the presentation, the person's as well.

    Examples:
        2
    """
