"""What the rules of compare_table look at: pivot tables, styles, filters, sizes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from hisa.tasks.metrics.base import BadRules

__all__ = ["STYLES", "dimensions", "filters", "pivots", "style", "styles"]

_NAMES = """number_format font_name font_family font_color font_bold font_italic font_underline
font_size fill_type bgcolor fgcolor hyperlink merge"""
STYLES = frozenset(_NAMES.split())
"""Names of cell styles that a rule may ask for."""


def pivots(sheet: Any, wanted: Sequence[str]) -> dict[str, dict[str, Any]]:
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
        found[_pivot_source(pivot, left, right)] = _pivot_properties(pivot, wanted, used, left)
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
    pivot: Any, wanted: Sequence[str], used: list[list[tuple[Any, Any]]], left: int
) -> dict[str, Any]:
    names = set(wanted)
    found: dict[str, Any] = {}
    for name, attribute in (
        ("name", "name"),
        ("show_total", "visualTotals"),
        ("show_empty_row", "showEmptyRow"),
        ("show_empty_col", "showEmptyCol"),
        ("show_headers", "showHeaders"),
    ):
        if name in names:
            found[name] = getattr(pivot, attribute)
    if "location" in names:
        found["location"] = getattr(pivot.location, "ref", None)
    if names & {"filter", "selection"}:
        found["selection"] = used if "ordered" in names else [set(items) for items in used]
    if "filter" in names:
        found["filter_fields"] = {field.fld for field in pivot.pageFields}
    if "col_fields" in names:
        found["col_fields"] = [field.x - left for field in pivot.colFields]
    if "row_fields" in names:
        found["row_fields"] = [field.x - left for field in pivot.rowFields]
    if "data_fields" in names:
        with_name = "data_fields_name" in names
        found["data_fields"] = [
            (field.fld - left, field.name if with_name else "", field.subtotal, field.showDataAs)
            for field in pivot.dataFields
        ]
    return found


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


def styles(sheet: Any, wanted: Sequence[str]) -> dict[str, Any]:
    """The styles of a sheet's cells, and the size of the sheet; plain empty cells are left out."""
    plain = [_PLAIN.get(name) for name in wanted]
    found: dict[str, Any] = {"size": (sheet.max_row, sheet.max_column)}
    for cell in list(sheet._cells.values()):
        shown = [style(cell, name) for name in wanted]
        if shown != plain:
            found[cell.coordinate] = shown
    return found


_PLAIN: Mapping[str, Any] = {
    "fill_type": "patternFill",
    "bgcolor": "00000000",
    "fgcolor": "00000000",
    "merge": False,
}


def dimensions(sheet: Any, kind: str, wanted: Sequence[str]) -> dict[Any, dict[str, Any]]:
    """Properties of a sheet's rows ("row") or columns ("column") by number or letter."""
    held = getattr(sheet, f"{kind}_dimensions")
    return {key: {name: getattr(held[key], name, None) for name in wanted} for key in list(held)}


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
