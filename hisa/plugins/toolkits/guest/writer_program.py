"""Reads and changes the text document in front of LibreOffice."""

from __future__ import annotations

import uno  # type: ignore[import-not-found]

from . import office_files, writer_format, writer_pages, writer_parts, writer_tables, writer_text
from .office_bridge import Desk, serve, setting, works

_ENDINGS = {
    ".odt": "writer8", ".docx": "MS Word 2007 XML", ".doc": "MS Word 97",
    ".rtf": "Rich Text Format", ".txt": "Text (encoded)", ".html": "HTML (StarWriter)",
    ".ott": "writer8_template", ".epub": "EPUB",
}  # fmt: skip
_UTF8 = "UTF8,LF,,,"
"""Options of the text filter, which otherwise writes in the system's encoding."""


@works("writer")
def export(desk: Desk, path: str, pages: str, overwrite: bool) -> str:
    """Writes a copy in another format.

    Args:
        desk: LibreOffice, with the text document in front.
        path: absolute, or with ~ in front; its ending tells the format.
        pages: the pages of a PDF, as "2-4"; empty: all.
        overwrite: whether a file that is there may be replaced.
    """
    endings = {".pdf": "writer_pdf_Export", **_ENDINGS}
    target = office_files.target_file(path, endings, overwrite=overwrite)
    ending = target.suffix.lower()
    if ending == ".pdf":
        chosen = (setting("PageRange", pages),) if pages else ()
        data = uno.Any("[]com.sun.star.beans.PropertyValue", chosen)
        office_files.write_copy(desk, target, endings[ending], FilterData=data)
    elif ending == ".txt":
        office_files.write_copy(desk, target, endings[ending], FilterOptions=_UTF8)
    else:
        office_files.write_copy(desk, target, endings[ending])
    return office_files.describe_file(target)


if __name__ == "__main__":
    serve(
        {"save": office_files.save("writer", _ENDINGS), "export": export}
        | {"undo": office_files.undo("writer")}
        | writer_text.FUNCTIONS
        | writer_format.FUNCTIONS
        | writer_pages.FUNCTIONS
        | writer_tables.FUNCTIONS
        | writer_parts.FUNCTIONS
    )
