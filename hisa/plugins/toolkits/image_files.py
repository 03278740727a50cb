"""The toolkit ``images``: pictures in files, looked at and changed without opening a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from hisa.plugins.toolkits.files import plain
from hisa.plugins.toolkits.guest_call import GuestTool, call_guest
from hisa.tools.base import ToolContext
from hisa.tools.toolkit import Toolkit
from hisa.tools.traits import Needs, tool

__all__ = ["IMAGES"]

_PROGRAM = "images_edit"
_SLOW = 120.0
"""Seconds: a picture of 100 million pixels takes about 10 s here."""
Pixels = Annotated[int, Field(ge=0, le=100_000)]
Factor = Annotated[float, Field(ge=0, le=20, allow_inf_nan=False)]


def _made(answer: Mapping[str, Any]) -> str:
    size = f", {answer['width']}x{answer['height']}, {answer['mode']}" if "width" in answer else ""
    notes = "".join(f"; {note}" for note in answer["notes"])
    kind = f"{answer['format']}{size}"
    return f"{plain(answer['path'])} is there now: {kind}, {answer['bytes']:,} bytes{notes}"


_image_tool = GuestTool(_PROGRAM, _SLOW, _made)


@tool(reads=True, seconds=_SLOW)
async def info(path: str, context: ToolContext) -> str:
    """Tell size, format, resolution, transparency and colours of a picture.

    Examples:
        ~/Pictures/photo.jpg
    """
    answer = await call_guest(context.environment, _PROGRAM, "info", seconds=_SLOW, path=path)
    lines = [
        f"{plain(answer['path'])}: {answer['format']}, {answer['width']}x{answer['height']} "
        f"pixels, {answer['mode']}, {answer['bytes']:,} bytes",
        f"mean colour {answer['mean']}, mean brightness {answer['brightness']} of 255",
        "some of it is transparent" if answer["transparent"] else "nothing is transparent",
    ]
    if answer["dpi"]:
        lines.append(f"resolution {answer['dpi'][0]} x {answer['dpi'][1]} dpi")
    if answer["frames"] > 1:
        lines.append(f"{answer['frames']} frames")
    if answer["turned"]:
        lines.append("its EXIF data turns it; width and height are as it is looked at")
    if answer["colors"]:
        lines.append(f"its colours, the most frequent first: {', '.join(answer['colors'])}")
    return "\n".join(lines)


@_image_tool(seconds=_SLOW)
async def convert(
    path: str,
    target: str,
    context: ToolContext,
    color: Literal["", "gray", "rgb", "rgba", "palette", "bilevel"] = "",
    quality: Annotated[int, Field(ge=1, le=100)] = 90,
    background: str = "",
    overwrite: bool = False,
) -> None:
    """Write a picture in another format, told by the target's ending, or in other colours.

    `background` is a colour for what is transparent; `quality` is for JPEG and WebP.

    Examples:
        {"path": "~/photo.png", "target": "~/photo.jpg", "quality": 85}
        {"path": "~/logo.png", "target": "~/logo-gray.png", "color": "gray", "background": "white"}
    """


@_image_tool(seconds=_SLOW)
async def resize(
    path: str,
    target: str,
    context: ToolContext,
    width: Pixels = 0,
    height: Pixels = 0,
    percent: Annotated[float, Field(ge=0, le=10_000, allow_inf_nan=False)] = 0,
    fit: Literal["stretch", "inside", "cover"] = "stretch",
    overwrite: bool = False,
) -> None:
    """Write a picture in another size, in pixels or percent.

    With width or height alone the proportions stay. `inside`: as large as fits, proportions kept;
    `cover`: the box is filled and what stands out is cut off.

    Examples:
        {"path": "~/photo.jpg", "target": "~/small.jpg", "width": 800}
        {"path": "~/photo.jpg", "target": "~/icon.png", "width": 64, "height": 64, "fit": "cover"}
    """


@_image_tool(seconds=_SLOW)
async def crop(
    path: str,
    target: str,
    left: Pixels,
    top: Pixels,
    width: Pixels,
    height: Pixels,
    context: ToolContext,
    overwrite: bool = False,
) -> None:
    """Write a part of a picture, told in pixels from its upper left corner.

    Examples:
        {"path": "~/a.png", "target": "~/b.png", "left": 10, "top": 20, "width": 300, "height": 200}
    """


@_image_tool(seconds=_SLOW)
async def rotate(
    path: str,
    target: str,
    context: ToolContext,
    degrees: Annotated[float, Field(allow_inf_nan=False)] = 0,
    mirror: Literal["", "left-right", "top-bottom"] = "",
    background: str = "white",
    overwrite: bool = False,
) -> None:
    """Write a picture turned clockwise by some degrees, or mirrored.

    `background` fills the corners of a picture that is turned by no multiple of 90; "#0000" leaves
    them transparent.

    Examples:
        {"path": "~/scan.png", "target": "~/upright.png", "degrees": 90}
        {"path": "~/a.png", "target": "~/b.png", "mirror": "left-right"}
    """


@_image_tool(seconds=_SLOW)
async def adjust(
    path: str,
    target: str,
    context: ToolContext,
    brightness: Factor = 1,
    contrast: Factor = 1,
    saturation: Factor = 1,
    sharpness: Factor = 1,
    overwrite: bool = False,
) -> None:
    """Write a picture with other brightness, contrast, saturation or sharpness; 1 is as it is.

    Examples:
        {"path": "~/dark.png", "target": "~/brighter.png", "brightness": 1.5}
        {"path": "~/a.jpg", "target": "~/vivid.jpg", "saturation": 1.4, "contrast": 1.2}
    """


@_image_tool(seconds=_SLOW)
async def combine(
    paths: Annotated[tuple[str, ...], Field(min_length=1, max_length=200)],
    target: str,
    context: ToolContext,
    layout: Literal["row", "column", "grid", "layers"] = "row",
    columns: Annotated[int, Field(ge=1, le=100)] = 2,
    gap: Annotated[int, Field(ge=0, le=1000)] = 0,
    background: str = "white",
    overwrite: bool = False,
) -> None:
    """Write several pictures as one: in a row, a column, a grid, or over one another.

    Examples:
        {"paths": ["~/a.png", "~/b.png"], "target": "~/both.png", "gap": 10}
        {"paths": ["~/photo.jpg", "~/mark.png"], "target": "~/marked.png", "layout": "layers"}
    """


IMAGES = Toolkit(
    "images",
    "picture files",
    (info, convert, resize, crop, rotate, adjust, combine),
    Needs(capabilities=frozenset({"execute"})),
)
"""Pictures in files."""
