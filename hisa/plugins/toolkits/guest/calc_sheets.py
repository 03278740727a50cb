"""Sheets, names, pages, protection, files and the undo list of a spreadsheet."""

from __future__ import annotations

from typing import Any

import uno  # type: ignore[import-not-found]

from . import office_files
from .calc_places import area, of_address, sheet_of, used
from .calc_text import sheet_text
from .office_bridge import Desk, Refused, changes, looks, setting, works
from .office_files import target_file, write_copy, written

__all__ = ["FUNCTIONS"]


@looks("calc")
def overview(desk: Desk) -> str:
    """Every sheet with what is in it, and what is selected."""
    document = desk.document
    place = uno.fileUrlToSystemPath(document.URL) if document.URL else "never saved"
    saved = "with unsaved changes" if document.isModified() else "saved"
    told = [f"{document.Title} ({place}; {saved}{'; read-only' * document.isReadonly()})"]
    active = desk.controller.ActiveSheet.Name
    sheets = document.Sheets
    told += [_of_sheet(sheets.getByName(name), name == active) for name in sheets.ElementNames]
    names = document.NamedRanges
    told += [f"name {each}: {names.getByName(each).Content}" for each in names.ElementNames]
    selection = document.CurrentSelection
    if hasattr(selection, "RangeAddress"):
        told.append(f"selected: {of_address(desk, selection.RangeAddress).label}")
    return "\n".join(told)


def _of_sheet(sheet: Any, active: bool) -> str:
    block = used(sheet)
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
    """A name that no sheet has.

    Raises:
        Refused: one has it, or no sheet can have it.
    """
    sheets = desk.document.Sheets
    if sheets.hasByName(name):
        raise Refused(f"there is a sheet {name!r} already; sheets: {_order(desk)}")
    if not name or set(name) & set("[]*?:/\\") or name[0] == "'" or name[-1] == "'":
        raise Refused(f"{name!r} cannot be a sheet's name: it is empty, or has one of []*?:/\\")
    return name


def _position(desk: Desk, position: int) -> int:
    """From 0, of a place counted from 1; 0: after the last."""
    count = int(desk.document.Sheets.Count)
    return count if position < 1 else min(position - 1, count)


@changes("calc", "Insert sheet")
def sheet_add(desk: Desk, name: str, position: int) -> str:
    """Insert an empty sheet and show it."""
    sheets = desk.document.Sheets
    sheets.insertNewByName(_new_name(desk, name), _position(desk, position))
    desk.controller.ActiveSheet = sheets.getByName(name)
    return f"sheets: {_order(desk)}"


@changes("calc", "Rename sheet")
def sheet_rename(desk: Desk, sheet: str, name: str) -> str:
    """Give a sheet another name; formulas follow."""
    sheet_of(desk, sheet).Name = _new_name(desk, name)
    return f"sheets: {_order(desk)}"


@changes("calc", "Delete sheet")
def sheet_delete(desk: Desk, sheet: str) -> str:
    """Delete a sheet with all that is on it."""
    found = sheet_of(desk, sheet)
    sheets = desk.document.Sheets
    if sheets.Count == 1:
        raise Refused(f"{found.Name!r} is the only sheet; a spreadsheet has at least one")
    sheets.removeByName(found.Name)
    return f"sheets: {_order(desk)}"


@changes("calc", "Copy sheet")
def sheet_copy(desk: Desk, sheet: str, name: str, position: int) -> str:
    """Copy a sheet and show the copy."""
    source = sheet_of(desk, sheet).Name
    sheets = desk.document.Sheets
    sheets.copyByName(source, _new_name(desk, name), _position(desk, position))
    desk.controller.ActiveSheet = sheets.getByName(name)
    return f"sheets: {_order(desk)}"


@changes("calc", "Move sheet")
def sheet_move(desk: Desk, sheet: str, position: int) -> str:
    """Move a sheet to another place."""
    name = sheet_of(desk, sheet).Name
    sheets = desk.document.Sheets
    before = sheets.ElementNames.index(name)
    target = _position(desk, position)
    sheets.moveByName(name, target + 1 if position > 0 and target > before else target)
    return f"sheets: {_order(desk)}"


_PAPERS = {"A3": (29700, 42000), "A4": (21000, 29700), "A5": (14800, 21000)}
_PAPERS |= {"letter": (21590, 27940), "legal": (21590, 35560)}


@changes("calc", "Page style")
def page(desk: Desk, sheet: str, **wanted: Any) -> str:
    """Set how a sheet is printed."""
    given = {name: value for name, value in wanted.items() if value is not None}
    if not given:
        raise Refused("nothing to set is given, such as landscape=true or pages_wide=1")
    found = sheet_of(desk, sheet)
    styles = desk.document.StyleFamilies.getByName("PageStyles")
    style = styles.getByName(found.PageStyle)
    _paper(style, given)
    for key, name in (("pages_wide", "ScaleToPagesX"), ("pages_tall", "ScaleToPagesY")):
        if key in given:
            setattr(style, name, given[key])
    if "margins" in given:
        for side in ("Left", "Right", "Top", "Bottom"):
            setattr(style, f"{side}Margin", round(given["margins"] * 100))
    for part in ("header", "footer"):
        if part in given:
            _running(style, part.title(), given[part])
    if "area" in given:
        areas = (area(desk, given["area"]).range.RangeAddress,) if given["area"] else ()
        found.setPrintAreas(areas)
    if "repeat_rows" in given:
        _repeat(desk, found, given["repeat_rows"])
    return _page_told(desk, found, style)


def _paper(style: Any, given: dict[str, Any]) -> None:
    landscape = given.get("landscape", style.IsLandscape)
    now = sorted((style.Width, style.Height))
    short, long = _PAPERS[given["paper"]] if "paper" in given else now
    style.IsLandscape = landscape
    style.Width, style.Height = (long, short) if landscape else (short, long)


def _running(style: Any, part: str, text: str) -> None:
    """Put a text into the middle of the header or footer; an empty one switches it off."""
    setattr(style, f"{part}IsOn", bool(text))
    if text:
        content = getattr(style, f"RightPage{part}Content")
        content.LeftText.String = content.RightText.String = ""
        content.CenterText.String = text
        setattr(style, f"RightPage{part}Content", content)


def _repeat(desk: Desk, sheet: Any, rows: str) -> None:
    sheet.PrintTitleRows = bool(rows)
    if rows:
        sheet.setTitleRows(area(desk, rows).range.RangeAddress)


def _page_told(desk: Desk, sheet: Any, style: Any) -> str:
    others = [
        each
        for each in desk.document.Sheets.ElementNames
        if each != sheet.Name and desk.document.Sheets.getByName(each).PageStyle == style.Name
    ]
    words = ["landscape" if style.IsLandscape else "portrait"]
    words.append(f"{style.Width / 100:.0f} x {style.Height / 100:.0f} mm")
    if style.ScaleToPagesX or style.ScaleToPagesY:
        words.append(f"fitted to {style.ScaleToPagesX or 'any'} x {style.ScaleToPagesY or 'any'}")
    for part in ("Header", "Footer"):
        if getattr(style, f"{part}IsOn"):
            content = getattr(style, f"RightPage{part}Content")
            words.append(f"{part.lower()} {content.CenterText.String!r}")
    printed = [of_address(desk, each).cells for each in sheet.PrintAreas]
    words += [f"prints {', '.join(printed)}"] if printed else []
    words += [f"repeats rows {_rows(sheet)}"] if sheet.PrintTitleRows else []
    words += [f"the page style is also that of {', '.join(others)}"] if others else []
    return f"{sheet.Name!r}: {', '.join(words)}"


def _rows(sheet: Any) -> str:
    found = sheet.TitleRows
    return f"{found.StartRow + 1}:{found.EndRow + 1}"


# Files and the undo list --------------------------------------------------------------------------

_SAVED = {
    ".ods": "calc8",
    ".xlsx": "Calc MS Excel 2007 XML",
    ".xls": "MS Excel 97",
    ".csv": "Text - txt - csv (StarCalc)",
}
_EXPORTED = {**_SAVED, ".html": "HTML (StarCalc)", ".pdf": "calc_pdf_Export"}


@works("calc")
def save(desk: Desk, path: str, overwrite: bool) -> str:
    """Save the document where it lies, or under another name."""
    return office_files.save(desk, path, overwrite, _SAVED)


@works("calc")
def export(desk: Desk, path: str, cells: str, overwrite: bool) -> str:
    """Write a copy in another format; the document stays as it is."""
    target = target_file(path, _EXPORTED, overwrite=overwrite)
    ending = target.suffix.lower()
    block = area(desk, cells) if cells else None
    if ending == ".csv":
        sheet = block.sheet if block is not None else desk.controller.ActiveSheet
        target.write_text(sheet_text(desk, sheet, separator=","), encoding="utf-8")
        return written(target)
    settings: dict[str, Any] = {}
    if block is not None:
        if ending != ".pdf":
            raise Refused(f"cells can be chosen for .pdf and .csv, not for {ending}")
        chosen = (setting("Selection", block.range),)
        settings["FilterData"] = uno.Any("[]com.sun.star.beans.PropertyValue", chosen)
    write_copy(desk, target, _EXPORTED[ending], **settings)
    return written(target)


FUNCTIONS = {
    "overview": overview, "sheet_add": sheet_add, "sheet_rename": sheet_rename,
    "sheet_delete": sheet_delete, "sheet_copy": sheet_copy, "sheet_move": sheet_move,

    "page": page, "save": save, "export": export,
    "undo": office_files.undo("calc"),
}  # fmt: skip
