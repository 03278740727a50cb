"""Tools for the slides of a presentation in LibreOffice, and for its files."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from hisa.text.prompt_text import ends
from hisa.tools.base import ToolContext
from hisa.tools.kits.guest_call import call_guest
from hisa.tools.kits.writer_words import SLOW, Align, Count, Number, Points
from hisa.tools.traits import tool

__all__ = [
    "add", "background", "call_impress", "delete", "duplicate", "export", "footer", "hide",
    "layout", "master", "move", "notes", "overview", "read", "redo", "save", "show", "size",
    "style", "transition", "undo",
]  # fmt: skip

_READ = 12_000
"""Characters of a presentation that are told, both ends of it."""
Layout = Literal[
    "title_slide", "title_content", "two_content", "title_only", "blank", "centered_text"
]
Centimetres = Annotated[float, Field(gt=0, le=300, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)]


async def call_impress(context: ToolContext, function: str, **arguments: Any) -> str:
    """Returns what a function of the program for presentations says."""
    said = await call_guest(
        context.environment, "impress_program", function, seconds=SLOW, **arguments
    )
    return ends(str(said), _READ)


@tool(reads=True)
async def overview(context: ToolContext) -> str:
    """Tell all slides with their layouts, objects, places and the beginnings of their texts.

    Examples:
        {}
    """
    return await call_impress(context, "overview")


@tool(reads=True)
async def read(context: ToolContext, slides: str = "all") -> str:
    """Read all text of slides, with tables and speaker's notes.

    `slides`, here and in the other tools: "3", "2-4", "1,3", "last", "all" or "current".

    Examples:
        2-3
    """
    return await call_impress(context, "read", slide=slides)


@tool()
async def add(
    context: ToolContext,
    at: Number = 0,
    layout: Layout = "title_content",
    title: str = "",
    content: str = "",
) -> str:
    """Add a slide as number `at` or at the end, with title and content; one point a line.

    Examples:
        {"title": "Results", "content": "More visitors\\nLower costs"}
        {"at": 2, "layout": "blank"}
    """
    return await call_impress(context, "add", at=at, layout=layout, title=title, content=content)


@tool()
async def duplicate(context: ToolContext, slide: str = "current") -> str:
    """Copy a slide; the copy comes right behind it.

    Examples:
        3
    """
    return await call_impress(context, "duplicate", slide=slide)


@tool()
async def delete(slides: str, context: ToolContext) -> str:
    """Delete slides.

    Examples:
        4-6
    """
    return await call_impress(context, "delete", slides_=slides)


@tool()
async def move(slide: str, to: Annotated[int, Field(ge=1)], context: ToolContext) -> str:
    """Move a slide to another number.

    Examples:
        {"slide": "5", "to": 2}
    """
    return await call_impress(context, "move", slide=slide, to=to)


@tool()
async def layout(slides: str, name: Layout, context: ToolContext) -> str:
    """Give slides a layout.

    Examples:
        {"slides": "2", "name": "two_content"}
    """
    return await call_impress(context, "layout", slides_=slides, name=name)


@tool()
async def hide(slides: str, context: ToolContext, hidden: bool = True) -> str:
    """Hide slides from the show, or show them again.

    Examples:
        {"slides": "7", "hidden": true}
    """
    return await call_impress(context, "hide", slides_=slides, hidden=hidden)


@tool()
async def show(slide: str, context: ToolContext) -> str:
    """Go to a slide in the window.

    Examples:
        3
    """
    return await call_impress(context, "show", slide=slide)


@tool()
async def background(slides: str, context: ToolContext, color: str = "", image: str = "") -> str:
    """Set the background of slides to a colour or a picture; with neither, to the master's.

    Examples:
        {"slides": "all", "color": "#003366"}
        {"slides": "1", "image": "~/Pictures/sky.jpg"}
    """
    return await call_impress(context, "background", slides_=slides, color_=color, image=image)


@tool()
async def transition(
    slides: str,
    kind: Literal[
        "none", "fade", "wipe", "push", "cover", "split", "dissolve", "wheel", "random_bars"
    ],
    context: ToolContext,
    seconds: Seconds = 1,
    after: Seconds | None = None,
) -> str:
    """Set the transition of slides; with `after`, the next slide comes by itself so much later.

    Examples:
        {"slides": "all", "kind": "fade"}
        {"slides": "2-4", "kind": "push", "seconds": 0.5, "after": 10}
    """
    return await call_impress(
        context, "transition", slides_=slides, kind=kind, lasts=seconds, after=after
    )


@tool()
async def size(
    context: ToolContext,
    format: Literal["", "16:9", "4:3", "16:10", "A4"] = "",  # noqa: A002
    width_cm: Centimetres | None = None,
    height_cm: Centimetres | None = None,
) -> str:
    """Set the size or orientation of all slides; what is on them stays where it is.

    Examples:
        {"format": "4:3"}
        {"width_cm": 21, "height_cm": 29.7}
    """
    return await call_impress(
        context, "size", format_=format, width_cm=width_cm, height_cm=height_cm
    )


@tool()
async def master(slides: str, name: str, context: ToolContext) -> str:
    """Give slides another of the presentation's masters; `overview` names them.

    Examples:
        {"slides": "all", "name": "Default"}
    """
    return await call_impress(context, "master", slides_=slides, name=name)


@tool()
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
) -> str:
    """Change a master's style, and so all slides: title, subtitle, outline1 to outline9, notes.

    Examples:
        {"name": "title", "font": "Liberation Serif", "size": 40, "color": "#003366"}
    """
    return await call_impress(
        context, "style", name=name, master=master, font=font, size=size, bold=bold,
        italic=italic, color=color, align=align,
    )  # fmt: skip


@tool()
async def notes(slide: str, text: str, context: ToolContext) -> str:
    """Write the speaker's notes of a slide; `read` tells them.

    Examples:
        {"slide": "2", "text": "Thank the team here."}
    """
    return await call_impress(context, "notes", slide=slide, text=text)


@tool()
async def footer(
    slides: str,
    context: ToolContext,
    text: str | None = None,
    number: bool | None = None,
    date: bool | None = None,
) -> str:
    """Show a footer text, slide numbers or the date on slides, or take them away.

    Examples:
        {"slides": "all", "text": "Annual report", "number": true}
    """
    return await call_impress(
        context, "footer", slides_=slides, text=text, number=number, date=date
    )


@tool(seconds=SLOW)
async def save(context: ToolContext, path: str = "", overwrite: bool = False) -> str:
    """Save the presentation, or save it as another file: .odp, .pptx, .ppt.

    Examples:
        {}
        {"path": "~/Documents/talk.pptx"}
    """
    return await call_impress(context, "save", path=path, overwrite=overwrite)


@tool(seconds=SLOW)
async def export(
    path: str,
    context: ToolContext,
    slides: str = "",
    width: Annotated[int, Field(ge=16, le=8000)] = 1280,
    overwrite: bool = False,
) -> str:
    """Export a PDF, a copy, or one slide as a picture: .pdf, .pptx, .odp, .png, .jpg, .svg.

    `width` is a picture's, in pixels. The open presentation stays as it is.

    Examples:
        {"path": "~/talk.pdf"}
        {"path": "~/slide3.png", "slides": "3", "width": 1920}
    """
    return await call_impress(
        context, "export", path=path, slides=slides, width=width, overwrite=overwrite
    )


@tool()
async def undo(context: ToolContext, steps: Count = 1) -> str:
    """Take back the newest steps of the presentation, the person's as well.

    Examples:
        2
    """
    return await call_impress(context, "undo", steps=steps)


@tool()
async def redo(context: ToolContext, steps: Count = 1) -> str:
    """Do again what was taken back.

    Examples:
        1
    """
    return await call_impress(context, "redo", steps=steps)
