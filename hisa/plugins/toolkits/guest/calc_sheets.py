"""Works on sheets, page styles, files and the undo list of a spreadsheet."""

from __future__ import annotations

from typing import Any

import uno  # type: ignore[import-not-found]

from . import calc_places, office_files
from .calc_places import find_used_area, of_address, sheet_of
from .calc_text import sheet_text
from .office_bridge import Desk, Refused, changes, looks, works
from .office_files import describe_file, target_file, write_copy
from .writer_looks import set_paper

__all__ = ["FUNCTIONS"]


@looks("calc")
def overview(desk: Desk) -> str:
    """Lists every sheet with its contents, and the selection."""
    document = desk.document
    place = uno.fileUrlToSystemPath(document.URL) if document.URL else "never saved"
    saved = "with unsaved changes" if document.isModified() else "saved"
    lines = [f"{document.Title} ({place}; {saved}{'; read-only' * document.isReadonly()})"]
    active = desk.controller.ActiveSheet.Name
    sheets = document.Sheets
    lines += [
        _describe_sheet(sheets.getByName(name), name == active) for name in sheets.ElementNames
    ]
    names = document.NamedRanges
    lines += [f"name {name}: {names.getByName(name).Content}" for name in names.ElementNames]
    selection = document.CurrentSelection
    if hasattr(selection, "RangeAddress"):
        lines.append(f"selected: {of_address(desk, selection.RangeAddress).label}")
    return "\n".join(lines)


def _describe_sheet(sheet: Any, active: bool) -> str:
    block = find_used_area(sheet)
    words = [block.cells if block is not None else "empty"]
    words += ["shown"] if active else []
    words += [] if sheet.IsVisible else ["hidden"]
    words += ["protected"] if sheet.isProtected() else []
    words += [f"charts: {', '.join(sheet.Charts.ElementNames)}"] if sheet.Charts.Count else []
    pivots = sheet.DataPilotTables
    words += [f"pivot tables: {', '.join(pivots.ElementNames)}"] if pivots.Count else []
    words += [f"{sheet.Annotations.Count} comments"] if sheet.Annotations.Count else []
    return f"sheet {sheet.Name!r}: {'; '.join(words)}"


def _order(desk: Desk) -> str:
    return ", ".join(desk.document.Sheets.ElementNames)


def _new_name(desk: Desk, name: str) -> str:
    """Returns the name if a new sheet may have it.

    Raises:
        Refused: a sheet has it already, or no sheet can have it.
    """
    sheets = desk.document.Sheets
    if sheets.hasByName(name):
        raise Refused(f"there is a sheet {name!r} already; sheets: {_order(desk)}")
    if not name or set(name) & set("[]*?:/\\") or name[0] == "'" or name[-1] == "'":
        raise Refused(f"{name!r} cannot be a sheet's name: it is empty, or has one of []*?:/\\")
    return name


def _position(desk: Desk, position: int) -> int:
    """Returns the index, from 0, of a position counted from 1; 0 means after the last."""
    count = int(desk.document.Sheets.Count)
    return count if position < 1 else min(position - 1, count)


@changes("calc", "Insert sheet")
def sheet_add(desk: Desk, name: str, position: int) -> str:
    """Insert an empty sheet and show it.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        name: a name that no sheet has yet.
        position: its position, from 1; 0: the last.
    """
    sheets = desk.document.Sheets
    sheets.insertNewByName(_new_name(desk, name), _position(desk, position))
    desk.controller.ActiveSheet = sheets.getByName(name)
    return f"sheets: {_order(desk)}"


@changes("calc", "Rename sheet")
def sheet_rename(desk: Desk, sheet: str, name: str) -> str:
    """Give a sheet another name; formulas follow.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        sheet: its present name; empty: the sheet that is shown.
        name: a name that no sheet has yet.
    """
    sheet_of(desk, sheet).Name = _new_name(desk, name)
    return f"sheets: {_order(desk)}"


@changes("calc", "Delete sheet")
def sheet_delete(desk: Desk, sheet: str) -> str:
    """Delete a sheet with all that is on it."""
    target = sheet_of(desk, sheet)
    sheets = desk.document.Sheets
    if sheets.Count == 1:
        raise Refused(f"{target.Name!r} is the only sheet; a spreadsheet has at least one")
    sheets.removeByName(target.Name)
    return f"sheets: {_order(desk)}"


@changes("calc", "Copy sheet")
def sheet_copy(desk: Desk, sheet: str, name: str, position: int) -> str:
    """Copy a sheet and show the copy.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        sheet: its name; empty: the sheet that is shown.
        name: the copy's name, which no sheet has yet.
        position: the copy's position, from 1; 0: the last.
    """
    source = sheet_of(desk, sheet).Name
    sheets = desk.document.Sheets
    sheets.copyByName(source, _new_name(desk, name), _position(desk, position))
    desk.controller.ActiveSheet = sheets.getByName(name)
    return f"sheets: {_order(desk)}"


@changes("calc", "Move sheet")
def sheet_move(desk: Desk, sheet: str, position: int) -> str:
    """Move a sheet to another place.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        sheet: its name; empty: the sheet that is shown.
        position: its new one, from 1; 0: the last.
    """
    name = sheet_of(desk, sheet).Name
    sheets = desk.document.Sheets
    before = sheets.ElementNames.index(name)
    target = _position(desk, position)
    sheets.moveByName(name, target + 1 if position > 0 and target > before else target)
    return f"sheets: {_order(desk)}"


@changes("calc", "Page style")
def page(
    desk: Desk,
    sheet: str,
    paper: str,
    landscape: bool | None,
    pages_wide: int | None,
    pages_tall: int | None,
    area: str | None,
) -> str:
    """Set how a sheet is printed.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        sheet: its name; empty: the sheet that is shown.
        paper: a size as `set_paper` takes it; empty: as it is.
        landscape: the orientation; None: as it is.
        pages_wide: pages side by side to fit the sheet to; 0: any; None: as it is.
        pages_tall: the same, one below the other.
        area: the cells that are printed; "": all; None: as it is.
    """
    target = sheet_of(desk, sheet)
    style = desk.document.StyleFamilies.getByName("PageStyles").getByName(target.PageStyle)
    if paper or landscape is not None:
        set_paper(style, paper, landscape)
    for value, name in ((pages_wide, "ScaleToPagesX"), (pages_tall, "ScaleToPagesY")):
        if value is not None:
            setattr(style, name, value)
    if area is not None:
        block = (calc_places.area(desk, area).range.RangeAddress,) if area else ()
        target.setPrintAreas(block)
    return _describe_page(desk, target, style)


def _describe_page(desk: Desk, sheet: Any, style: Any) -> str:
    others = [
        name
        for name in desk.document.Sheets.ElementNames
        if name != sheet.Name and desk.document.Sheets.getByName(name).PageStyle == style.Name
    ]
    words = ["landscape" if style.IsLandscape else "portrait"]
    words.append(f"{style.Width / 100:.0f} x {style.Height / 100:.0f} mm")
    if style.ScaleToPagesX or style.ScaleToPagesY:
        words.append(f"fitted to {style.ScaleToPagesX or 'any'} x {style.ScaleToPagesY or 'any'}")
    printed = [of_address(desk, address).cells for address in sheet.PrintAreas]
    words += [f"prints {', '.join(printed)}"] if printed else []
    words += [f"the page style is also that of {', '.join(others)}"] if others else []
    return f"{sheet.Name!r}: {', '.join(words)}"


# Files and the undo list --------------------------------------------------------------------------

_SAVED = {
    ".ods": "calc8",
    ".xlsx": "Calc MS Excel 2007 XML",
    ".xls": "MS Excel 97",
    ".csv": "Text - txt - csv (StarCalc)",
}
_EXPORTED = {**_SAVED, ".html": "HTML (StarCalc)", ".pdf": "calc_pdf_Export"}


@works("calc")
def export(desk: Desk, path: str, overwrite: bool) -> str:
    """Write a copy in another format; the document stays as it is.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        path: absolute, or with ~ in front; its ending is one of `_EXPORTED`.
        overwrite: whether a file that is there may be replaced.
    """
    target = target_file(path, _EXPORTED, overwrite=overwrite)
    ending = target.suffix.lower()
    if ending == ".csv":
        text = sheet_text(desk, desk.controller.ActiveSheet, separator=",")
        target.write_text(text, encoding="utf-8")
    else:
        write_copy(desk, target, _EXPORTED[ending])
    return describe_file(target)


FUNCTIONS = {
    "overview": overview, "sheet_add": sheet_add, "sheet_rename": sheet_rename,
    "sheet_delete": sheet_delete, "sheet_copy": sheet_copy, "sheet_move": sheet_move,

    "page": page, "save": office_files.save("calc", _SAVED), "export": export,
    "undo": office_files.undo("calc"),
}  # fmt: skip
