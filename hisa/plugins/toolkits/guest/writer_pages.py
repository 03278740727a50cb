"""Changes the pages of a text document: size, headers and footers, and breaks."""

from __future__ import annotations

import re
from typing import Any

from .office_bridge import Desk, Refused, changes, works
from .writer_looks import hundredths, put, set_paper
from .writer_ranges import enum, excerpt, note_of, select_paragraphs

__all__ = ["FUNCTIONS"]

_FIELDS: dict[str, tuple[str, dict[str, Any]]] = {
    "page": ("PageNumber", {"NumberingType": 4}),
    "pages": ("PageCount", {"NumberingType": 4}),
    "date": ("DateTime", {"IsDate": True, "IsFixed": False}),
    "title": ("DocInfo.Title", {}),
}
"""4: Arabic numerals."""
_PLACE = re.compile(r"\{(\w+)\}")


def _page_style(desk: Desk) -> Any:
    """Returns the style of the page that the cursor is on."""
    styles = desk.document.StyleFamilies.getByName("PageStyles")
    return styles.getByName(str(desk.controller.ViewCursor.PageStyleName))


def _count_undo_steps(desk: Desk) -> int:
    """Returns the length of the undo list before a page style changes.

    Such a change is not a step: LibreOffice empties the list with it (its own dialog does so for
    headers), and only while no step is open.

    Raises:
        Refused: the document is read-only.
    """
    if desk.document.isReadonly():
        raise Refused("the document is open read-only; save it under another name")
    return len(desk.document.UndoManager.getAllUndoActionTitles())


def _describe_lost_steps(desk: Desk, before: int) -> str:
    """Says that undo does not take a change back, and how many earlier steps are lost."""
    gone = before - len(desk.document.UndoManager.getAllUndoActionTitles())
    lost = f", and LibreOffice forgot {note_of(gone, 'earlier step')} with it" if gone > 0 else ""
    return f" (undo does not take this back{lost})" if gone >= 0 else ""


@works("writer")
def page(
    desk: Desk,
    paper: str,
    landscape: bool | None,
    columns: int | None,
    **margins: float | None,
) -> str:
    """Sets size, margins, orientation and columns of a page style.

    Args:
        desk: LibreOffice, with the text document in front.
        paper: a size as `set_paper` takes it; empty: as it is.
        landscape: the orientation; None: as it is.
        columns: number of columns, from 1; None: as it is.
        margins: `top_cm`, `bottom_cm`, `left_cm` and `right_cm`; None: as it is.
    """
    target, steps = _page_style(desk), _count_undo_steps(desk)
    if paper or landscape is not None:
        set_paper(target, paper, landscape)
    properties = {
        f"{name.removesuffix('_cm').title()}Margin": hundredths(value)
        for name, value in margins.items()
        if value is not None
    }
    if properties:
        put([target], properties)
    if columns is not None:
        parts = target.TextColumns
        parts.ColumnCount = columns
        parts.AutomaticDistance = 500
        target.TextColumns = parts
    lost = _describe_lost_steps(desk, steps)
    return f"page style {target.DisplayName} is now {_describe_page(target)}{lost}"


def _describe_page(target: Any) -> str:
    way = "landscape" if target.IsLandscape else "portrait"
    margins = (target.TopMargin, target.BottomMargin, target.LeftMargin, target.RightMargin)
    count = target.TextColumns.ColumnCount
    return (
        f"{target.Width / 1000:.2f} x {target.Height / 1000:.2f} cm {way}, margins top, bottom, "
        f"left, right {', '.join(f'{margin / 1000:.2f}' for margin in margins)} cm, "
        f"{note_of(max(count, 1), 'column')}"
    )


@works("writer")
def header_footer(desk: Desk, which: str, text: str, on: bool, align: str) -> str:
    """Sets the header or footer of a page style, with fields in it, or removes it.

    Args:
        desk: LibreOffice, with the text document in front.
        which: "header" or "footer".
        text: with fields such as {page}, those of `_FIELDS`.
        on: whether there is to be one; false takes it away.
        align: "left", "center" or "right".
    """
    target, steps = _page_style(desk), _count_undo_steps(desk)
    _check_fields(text)
    part = which.capitalize()
    if not on:
        if not getattr(target, f"{part}IsOn"):
            return f"page style {target.DisplayName} already has no {which}"
        setattr(target, f"{part}IsOn", False)
        return (
            f"page style {target.DisplayName} has no {which} now{_describe_lost_steps(desk, steps)}"
        )
    setattr(target, f"{part}IsOn", True)
    setattr(target, f"{part}IsShared", True)
    inside = getattr(target, f"{part}Text")
    inside.String = ""
    cursor = inside.createTextCursor()
    _insert_with_fields(desk.document, cursor, text)
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


def _insert_with_fields(document: Any, cursor: Any, template: str) -> None:
    """Inserts a text in which {page} and the like become fields."""
    at = 0
    for match in _PLACE.finditer(template):
        cursor.Text.insertString(cursor, template[at : match.start()], False)
        kind, properties = _FIELDS[match[1]]
        field = document.createInstance(f"com.sun.star.text.TextField.{kind}")
        for name, value in properties.items():
            setattr(field, name, value)
        if kind == "PageNumber":
            field.SubType = enum("text.PageNumberType", "CURRENT")
        cursor.Text.insertTextContent(cursor, field, False)
        at = match.end()
    cursor.Text.insertString(cursor, template[at:], False)


@changes("writer", "Page break")
def page_break(desk: Desk, paragraph: str, remove: bool) -> str:
    """Begins a new page at a paragraph, or removes that break.

    Args:
        desk: LibreOffice, with the text document in front.
        paragraph: one or several, as `select_paragraphs` takes them.
        remove: whether to take the break away.
    """
    picked = select_paragraphs(desk, paragraph)
    for _, element in picked:
        element.BreakType = enum("style.BreakType", "NONE" if remove else "PAGE_BEFORE")
        element.PageDescName = ""
    number, first = picked[0]
    begins = first.BreakType.value != "NONE"
    pages = note_of(desk.controller.PageCount, "page")
    return f"paragraph {number} {'begins' if begins else 'does not begin'} a page; {pages}"


FUNCTIONS = {
    "page": page, "header_footer": header_footer, "page_break": page_break,

}  # fmt: skip
