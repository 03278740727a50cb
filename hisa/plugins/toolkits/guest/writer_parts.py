"""Reads pictures, and inserts them into a text document."""

from __future__ import annotations

import os
from typing import Any

import uno  # type: ignore[import-not-found]

from .files_common import path_of
from .office_bridge import Desk, Refused, changes, setting
from .writer_looks import hundredths
from .writer_ranges import enum, new_paragraph

__all__ = ["FUNCTIONS", "graphic", "size_of"]

_PIXELS_AN_INCH = 96


def graphic(desk: Desk, path: str) -> Any:
    """Returns the picture of a file.

    Raises:
        Refused: there is no such file, or it is not a picture.
    """
    file = path_of(path)
    if not file.is_file():
        raise Refused(f"there is no file {str(file)!r}")
    provider = desk.service("com.sun.star.graphic.GraphicProvider")
    picture = provider.queryGraphic((setting("URL", uno.systemPathToFileUrl(os.fspath(file))),))
    if picture is None:
        raise Refused(f"{str(file)!r} is not a picture that LibreOffice can read")
    return picture


def size_of(picture: Any, width: float | None, height: float | None) -> tuple[int, int]:
    """Returns width and height in hundredths of a millimetre; one alone keeps the proportions.

    Args:
        picture: as `graphic` returns it.
        width: in centimetres; None: by the height, or the picture's own.
        height: in centimetres; None: by the width, or the picture's own.
    """
    own = picture.Size100thMM
    wide, high = own.Width, own.Height
    if not wide or not high:
        pixels = picture.SizePixel
        wide, high = (
            round(length * 2540 / _PIXELS_AN_INCH) for length in (pixels.Width, pixels.Height)
        )
    if width and height:
        return hundredths(width), hundredths(height)
    if width:
        return hundredths(width), round(hundredths(width) * high / wide)
    if height:
        return round(hundredths(height) * wide / high), hundredths(height)
    return wide, high


def _size(wide: int, high: int) -> Any:
    size = uno.createUnoStruct("com.sun.star.awt.Size")
    size.Width, size.Height = wide, high
    return size


@changes("writer", "Insert picture")
def image_insert(
    desk: Desk,
    path: str,
    before: int,
    width_cm: float | None,
    height_cm: float | None,
) -> str:
    """Inserts the picture of a file, kept in the document.

    Args:
        desk: LibreOffice, with the text document in front.
        path: the picture's file, absolute or from the home folder on.
        before: number of the paragraph that it stands before; 0: at the end.
        width_cm: the width, as for `size_of`.
        height_cm: the height, as for `size_of`.
    """
    picture = graphic(desk, path)
    shape = desk.document.createInstance("com.sun.star.text.TextGraphicObject")
    shape.AnchorType = enum("text.TextContentAnchorType", "AS_CHARACTER")
    shape.Graphic = picture
    shape.Size = _size(*size_of(picture, width_cm, height_cm))
    cursor = new_paragraph(desk, before)
    cursor.Text.insertTextContent(cursor, shape, False)
    if shape.Name not in desk.document.GraphicObjects.ElementNames:
        raise Refused("the picture is not in the document")
    return f"picture {shape.Name} is there, {shape.Width / 1000:.2f} x {shape.Height / 1000:.2f} cm"


FUNCTIONS = {
    "image_insert": image_insert,

}  # fmt: skip
