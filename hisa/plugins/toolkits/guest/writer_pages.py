"""Pages of a text document: their size, headers and footers, and breaks."""

from __future__ import annotations

import re
from typing import Any

from .office_bridge import Desk, Refused, changes, works
from .writer_looks import color, hundredths, put, shown_color
from .writer_ranges import chosen, enum, excerpt, note_of, style_called

__all__ = ["FUNCTIONS", "PAPER", "insert_with_fields"]

PAPER = {
    "A3": (29.7, 42.0), "A4": (21.0, 29.7), "A5": (14.8, 21.0), "A6": (10.5, 14.8),
    "B4": (25.0, 35.3), "B5": (17.6, 25.0), "Letter": (21.59, 27.94), "Legal": (21.59, 35.56),
    "Tabloid": (27.94, 43.18),
}  # fmt: skip
"""Width and height in centimetres, upright."""
_FIELDS: dict[str, tuple[str, dict[str, Any]]] = {
    "page": ("PageNumber", {"NumberingType": 4}),
    "pages": ("PageCount", {"NumberingType": 4}),
    "date": ("DateTime", {"IsDate": True, "IsFixed": False}),
    "time": ("DateTime", {"IsDate": False, "IsFixed": False}),
    "title": ("DocInfo.Title", {}),
    "author": ("Author", {"FullName": True}),
    "file": ("FileName", {"FileFormat": 3}),
}
"""4: Arabic numerals; 3: the file's name with its ending."""
_PLACE = re.compile(r"\{(\w+)\}")


def _page_style(desk: Desk, name: str) -> Any:
    inner = (
        style_called(desk, "PageStyles", name)
        if name
        else str(desk.controller.ViewCursor.PageStyleName)
    )
    return desk.document.StyleFamilies.getByName("PageStyles").getByName(inner)


def _begin(desk: Desk) -> int:
    """Returns the length of the undo list before a page style changes.

    Such a change is no step: LibreOffice empties the list with it, as it does from its own dialog
    where a header is concerned, and only once no step is open.

    Raises:
        Refused: the document is read-only.
    """
    if desk.document.isReadonly():
        raise Refused("the document is open read-only; save it under another name")
    return len(desk.document.UndoManager.getAllUndoActionTitles())


def _forgotten(desk: Desk, before: int) -> str:
    """Says what became of the undo list."""
    gone = before - len(desk.document.UndoManager.getAllUndoActionTitles())
    lost = f", and LibreOffice forgot {note_of(gone, 'earlier step')} with it" if gone > 0 else ""
    return f" (undo does not take this back{lost})" if gone >= 0 else ""


@works("writer")
def page(
    desk: Desk,
    style: str,
    paper: str,
    landscape: bool | None,
    columns: int | None,
    column_gap_cm: float,
    background: str,
    **lengths: float | None,
) -> str:
    """Sets size, margins, orientation, columns and background of a page style."""
    target, steps = _page_style(desk, style), _begin(desk)
    _set_size(target, paper, landscape, lengths.pop("width_cm"), lengths.pop("height_cm"))
    margins = {
        "top_cm": "TopMargin",
        "bottom_cm": "BottomMargin",
        "left_cm": "LeftMargin",
        "right_cm": "RightMargin",
    }
    properties: dict[str, Any] = {
        margins[name]: hundredths(value) for name, value in lengths.items() if value is not None
    }
    if background:
        properties["BackColor"] = color(background)
    if properties:
        put([target], properties)
    if columns is not None:
        parts = target.TextColumns
        parts.ColumnCount = columns
        parts.AutomaticDistance = hundredths(column_gap_cm)
        target.TextColumns = parts
    return f"page style {target.DisplayName} is now {_told(target)}{_forgotten(desk, steps)}"


def _set_size(
    target: Any, paper: str, landscape: bool | None, width: float | None, height: float | None
) -> None:
    now = (target.Width, target.Height)
    size = tuple(map(hundredths, PAPER[paper])) if paper else now
    size = (hundredths(width) if width else size[0], hundredths(height) if height else size[1])
    wide = target.IsLandscape if landscape is None else landscape
    if landscape is not None or paper:
        size = (max(size), min(size)) if wide else (min(size), max(size))
    if size != now or bool(wide) != target.IsLandscape:
        target.IsLandscape = bool(wide)
        target.Width, target.Height = size


def _told(target: Any) -> str:
    way = "landscape" if target.IsLandscape else "portrait"
    margins = (target.TopMargin, target.BottomMargin, target.LeftMargin, target.RightMargin)
    count = target.TextColumns.ColumnCount
    return (
        f"{target.Width / 1000:.2f} x {target.Height / 1000:.2f} cm {way}, margins top, bottom, "
        f"left, right {', '.join(f'{each / 1000:.2f}' for each in margins)} cm, "
        f"{note_of(max(count, 1), 'column')}, background {shown_color(target.BackColor)}"
    )


@works("writer")
def header_footer(desk: Desk, which: str, text: str, on: bool, align: str, style: str) -> str:
    """Sets the header or footer of a page style, with fields in it; or takes it away."""
    target, steps = _page_style(desk, style), _begin(desk)
    _check_fields(text)
    part = which.capitalize()
    if not on:
        if not getattr(target, f"{part}IsOn"):
            return f"page style {target.DisplayName} has no {which} already"
        setattr(target, f"{part}IsOn", False)
        return f"page style {target.DisplayName} has no {which} now{_forgotten(desk, steps)}"
    setattr(target, f"{part}IsOn", True)
    setattr(target, f"{part}IsShared", True)
    inside = getattr(target, f"{part}Text")
    inside.String = ""
    cursor = inside.createTextCursor()
    insert_with_fields(desk.document, cursor, text)
    cursor.gotoStart(False)
    cursor.gotoEnd(True)
    word = {"left": "LEFT", "right": "RIGHT", "center": "CENTER"}[align]
    cursor.ParaAdjust = enum("style.ParagraphAdjust", word)
    return (
        f"the {which} of page style {target.DisplayName} is now {excerpt(inside.String)}, {align}"
    )


def _check_fields(template: str) -> None:
    unknown = [name for name in _PLACE.findall(template) if name not in _FIELDS]
    if unknown:
        raise Refused(f"there is no field {{{unknown[0]}}}; there are {', '.join(_FIELDS)}")


def insert_with_fields(document: Any, cursor: Any, template: str) -> None:
    """Inserts text in which {page} and the like become fields.

    Raises:
        Refused: there is no such field.
    """
    _check_fields(template)
    at = 0
    for found in _PLACE.finditer(template):
        cursor.Text.insertString(cursor, template[at : found.start()], False)
        kind, properties = _FIELDS[found[1]]
        field = document.createInstance(f"com.sun.star.text.TextField.{kind}")
        for name, value in properties.items():
            setattr(field, name, value)
        if kind == "PageNumber":
            field.SubType = enum("text.PageNumberType", "CURRENT")
        cursor.Text.insertTextContent(cursor, field, False)
        at = found.end()
    cursor.Text.insertString(cursor, template[at:], False)


@changes("writer", "Page break")
def page_break(desk: Desk, paragraph: str, style: str, number_from: int, remove: bool) -> str:
    """Begins a page with a paragraph, of a page style where one is given; or no longer."""
    picked = chosen(desk, paragraph)
    for _, each in picked:
        each.BreakType = enum("style.BreakType", "NONE" if remove else "PAGE_BEFORE")
        each.PageDescName = style_called(desk, "PageStyles", style) if style and not remove else ""
        if number_from:
            if not style:
                raise Refused("number_from needs a page style, which counts from there on")
            each.PageNumberOffset = number_from
    number, first = picked[0]
    begins = first.BreakType.value != "NONE" or first.PageDescName
    pages = note_of(desk.controller.PageCount, "page")
    return f"paragraph {number} {'begins' if begins else 'does not begin'} a page; {pages}"


FUNCTIONS = {
    "page": page, "header_footer": header_footer, "page_break": page_break,

}  # fmt: skip
