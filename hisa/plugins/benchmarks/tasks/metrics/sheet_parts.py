"""Parts of a sheet that compare_table checks: charts, sparklines, pivot tables, styles, sizes."""

from __future__ import annotations

import itertools
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hisa.plugins.benchmarks.tasks.metric import BadRules, parsed

__all__ = ["STYLES", "charts", "dimensions", "filters", "pivots", "sparklines", "style", "styles"]

_NAMES = """number_format font_name font_family font_color font_bold font_italic font_underline
font_size fill_type bgcolor fgcolor hyperlink merge"""
STYLES = frozenset(_NAMES.split())
"""Names of cell styles that a rule may ask for."""


def _at(thing: Any, *names: str) -> Any:
    """An attribute of an attribute; None where one of them is not there."""
    for name in names:
        thing = getattr(thing, name, None)
    return thing


def _words(title: Any) -> Any:
    """The first piece of a title's text."""
    paragraphs = _at(title, "tx", "rich", "p")
    return paragraphs[0].r[0].t if paragraphs and paragraphs[0].r else None


_CHART: Mapping[str, Callable[[Any], Any]] = {
    "title": lambda chart: _words(chart.title),
    "legend": lambda chart: _at(chart, "legend", "position"),
    "type": lambda chart: chart.tagname,
    "direction": lambda chart: _at(chart, "barDir"),
    "anchor": lambda chart: (
        _at(chart, "anchor", "editAs"),
        _at(chart, "anchor", "_from", "col"),
        _at(chart, "anchor", "to", "col"),
        _at(chart, "anchor", "to", "row"),
    ),
    "xtitle": lambda chart: _words(_at(chart, "x_axis", "title")),
    "ytitle": lambda chart: _words(_at(chart, "y_axis", "title")),
    "ztitle": lambda chart: _words(_at(chart, "z_axis", "title")),
}
"""Properties of a chart; others, such as its size, are one and the same for every chart here."""


def charts(sheet: Any, expected: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The charts of a sheet: the wanted properties by the ranges that each draws."""
    names = sorted(_CHART.keys() & set(expected))
    return {
        ";".join(f"{_range(one, 'val')},{_range(one, 'cat')}" for one in chart.series): {
            name: _CHART[name](chart) for name in names
        }
        for chart in sheet._charts
    }


def _range(series: Any, kind: str) -> str:
    """Returns the range of a series' values or categories; empty where it has none."""
    return _at(series, kind, "numRef", "f") or _at(series, kind, "strRef", "f") or ""


def sparklines(path: Path, name: str) -> dict[str, str]:
    """The ranges drawn in a sheet's cells, by cell; openpyxl does not read them."""
    with zipfile.ZipFile(path) as archive:
        sheets = parsed(archive.read("xl/workbook.xml")).iter("{*}sheet")
        numbers = {sheet.get("name"): sheet.get("sheetId") for sheet in sheets}
        part = f"xl/worksheets/sheet{numbers.get(name)}.xml"
        there = part in archive.namelist()
        lines = parsed(archive.read(part)).iter("{*}sparkline") if there else ()
    return {str(line.findtext("{*}sqref")): str(line.findtext("{*}f")) for line in lines}


def pivots(sheet: Any, expected: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The pivot tables of a sheet: properties by the range that each sums up.

    Fields are counted from the first one in use, so that empty columns around the data that one
    program takes in and another leaves out make no difference.
    """
    found = {}
    for pivot in sheet._pivots:
        chosen = [
            [(item.h, item.x) for item in field.items if item.x is not None]
            for field in pivot.pivotFields
        ]
        left = len(list(itertools.takewhile(lambda items: not items, chosen)))
        used = chosen[left:]
        right = len(list(itertools.takewhile(lambda items: not items, reversed(used))))
        used = used[: len(used) - right]
        found[_pivot_source(pivot, left, right)] = _pivot_properties(pivot, expected, used, left)
    return found


def _pivot_source(pivot: Any, left: int, right: int) -> str:
    from openpyxl.utils import coordinate_to_tuple

    source = pivot.cache.cacheSource
    range_ = source.worksheetSource.ref
    if range_ is None:
        return f"{source.type};{source.worksheetSource.name}"
    first, _, last = range_.partition(":")
    (top, start), (bottom, end) = coordinate_to_tuple(first), coordinate_to_tuple(last or first)
    corners = (top, start + left), (bottom, end - right)
    return f"{source.type};{corners};{source.worksheetSource.sheet}"


def _pivot_properties(
    pivot: Any, expected: Sequence[str], used: list[list[tuple[Any, Any]]], left: int
) -> dict[str, Any]:
    def moved(fields: Any) -> list[int]:
        return [field.x - left for field in fields]

    names = set(expected)
    looks: dict[str, Callable[[], Any]] = {
        "name": lambda: pivot.name,
        "show_total": lambda: pivot.visualTotals,
        "show_empty_row": lambda: pivot.showEmptyRow,
        "show_empty_col": lambda: pivot.showEmptyCol,
        "show_headers": lambda: pivot.showHeaders,
        "location": lambda: _at(pivot, "location", "ref"),
        "selection": lambda: used if "ordered" in names else [set(items) for items in used],
        "filter": lambda: {field.fld for field in pivot.pageFields},
        "col_fields": lambda: moved(pivot.colFields),
        "row_fields": lambda: moved(pivot.rowFields),
        "data_fields": lambda: [
            (f.fld - left, "data_fields_name" in names and f.name, f.subtotal, f.showDataAs)
            for f in pivot.dataFields
        ],
    }
    if "filter" in names:
        names.add("selection")
    return {name: look() for name, look in looks.items() if name in names}


def _rgb(colour: Any) -> Any:
    """A colour as eight hexadecimal digits; colours of a theme are all "other"."""
    if colour is None:
        return None
    return colour.rgb if isinstance(colour.rgb, str) else "other"


def style(cell: Any, name: str) -> Any:
    """One style of a cell; most are None for a cell without a value.

    Raises:
        BadRules: no such style.
    """
    if name not in STYLES:
        raise BadRules(f"unknown style {name!r}; there are {sorted(STYLES)}")
    if name == "merge":
        return type(cell).__name__ == "MergedCell"
    if name == "fill_type":
        return getattr(cell.fill, "tagname", None)
    if name in ("bgcolor", "fgcolor"):
        return _rgb(getattr(cell.fill, "fgColor", None))
    if cell.value is None:
        return None
    if name == "number_format":
        return cell.number_format if cell.data_type == "n" else None
    if name == "hyperlink":
        link = cell.hyperlink
        return "" if link is None else (link.target or link.location or "")
    if name == "font_color":
        return _rgb(cell.font.color)
    attribute = name.removeprefix("font_")
    return getattr(cell.font, {"underline": "u", "size": "sz"}.get(attribute, attribute))


def styles(sheet: Any, expected: Sequence[str]) -> dict[str, Any]:
    """The styles of a sheet's cells, and the size of the sheet; plain empty cells are left out."""
    plain = [_PLAIN.get(name) for name in expected]
    found: dict[str, Any] = {"size": (sheet.max_row, sheet.max_column)}
    for cell in list(sheet._cells.values()):
        shown = [style(cell, name) for name in expected]
        if shown != plain:
            found[cell.coordinate] = shown
    return found


_PLAIN: Mapping[str, Any] = {
    "fill_type": "patternFill",
    "bgcolor": "00000000",
    "fgcolor": "00000000",
    "merge": False,
}


def dimensions(sheet: Any, kind: str, expected: Sequence[str]) -> dict[Any, dict[str, Any]]:
    """Properties of a sheet's rows ("row") or columns ("column") by number or letter."""
    held = getattr(sheet, f"{kind}_dimensions")
    return {key: {name: getattr(held[key], name, None) for name in expected} for key in list(held)}


def filters(sheet: Any) -> dict[str, Any]:
    """A sheet's filter: its range, what each column lets through, and its order."""
    held = sheet.auto_filter
    found: dict[str, Any] = {"ref": held.ref, "columns": {}}
    for column in held.filterColumn:
        shown: dict[str, Any] = {"hidden": column.hiddenButton, "button": column.showButton}
        if column.filters is not None:
            shown["values"] = (column.filters.blank, frozenset(column.filters.filter))
        if column.customFilters is not None:
            custom = {(item.operator, item.val) for item in column.customFilters.customFilter}
            shown["custom"] = (column.customFilters._and, custom)
        found["columns"][column.colId] = shown
    order = held.sortState
    if order is not None:
        found["order"] = (order.columnSort, order.caseSensitive, order.sortMethod, order.ref)
        found["by"] = [
            (c.descending, c.sortBy, c.ref, c.customList, c.dxfId, c.iconSet, c.iconId)
            for c in order.sortCondition
        ]
    return found
