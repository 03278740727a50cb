"""Reads and changes the presentation in front of LibreOffice."""

from __future__ import annotations

import uno  # type: ignore[import-not-found]

from . import impress_objects, impress_pages, office_files
from .impress_places import select_slide
from .office_bridge import Desk, serve, setting, works

_ENDINGS = {
    ".odp": "impress8",
    ".pptx": "Impress MS PowerPoint 2007 XML",
    ".ppt": "MS PowerPoint 97",
    ".otp": "impress8_template",
}
_PICTURES = {".png": "image/png", ".jpg": "image/jpeg", ".svg": "image/svg+xml"}


@works("impress")
def export(desk: Desk, path: str, slide: str, width: int, overwrite: bool) -> str:
    """Writes a copy in another format, or a picture of one slide.

    Args:
        desk: LibreOffice, with the presentation in front.
        path: absolute, or with ~ in front; its ending tells the format.
        slide: for a picture, one slide (empty: the one in front); for a PDF, a range such as
            "2-4" (empty: all).
        width: of a picture, in pixels; the height follows from the slide.
        overwrite: whether a file that is there may be replaced.
    """
    endings = {".pdf": "impress_pdf_Export", **_ENDINGS, **_PICTURES}
    target = office_files.target_file(path, endings, overwrite=overwrite)
    ending = target.suffix.lower()
    if ending in _PICTURES:
        _draw(desk, uno.systemPathToFileUrl(str(target)), slide, endings[ending], width)
    elif ending == ".pdf":
        data = (setting("PageRange", slide),) if slide else ()
        value = uno.Any("[]com.sun.star.beans.PropertyValue", data)
        office_files.write_copy(desk, target, endings[ending], FilterData=value)
    else:
        office_files.write_copy(desk, target, endings[ending])
    return office_files.describe_file(target)


def _draw(desk: Desk, url: str, number: str, kind: str, width: int) -> None:
    slide = select_slide(desk, number)
    size = (
        setting("PixelWidth", width),
        setting("PixelHeight", width * slide.Height // slide.Width),
    )
    data = uno.Any("[]com.sun.star.beans.PropertyValue", size)
    painter = desk.service("com.sun.star.drawing.GraphicExportFilter")
    painter.setSourceDocument(slide)
    painter.filter((setting("URL", url), setting("MediaType", kind), setting("FilterData", data)))


if __name__ == "__main__":
    own = {"save": office_files.save("impress", _ENDINGS), "export": export}
    own["undo"] = office_files.undo("impress")
    serve(impress_pages.FUNCTIONS | impress_objects.FUNCTIONS | own)
