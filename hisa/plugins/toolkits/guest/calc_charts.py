"""Makes charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import uno  # type: ignore[import-not-found]

from .calc_places import Area, area, areas, reveal
from .office_bridge import Desk, Refused, changes

__all__ = ["FUNCTIONS"]

_KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "column": ("BarDiagram", {"Vertical": False}),
    "bar": ("BarDiagram", {"Vertical": True}),
    "stacked column": ("BarDiagram", {"Vertical": False, "Stacked": True}),
    "stacked bar": ("BarDiagram", {"Vertical": True, "Stacked": True}),
    "line": ("LineDiagram", {}),
    "area": ("AreaDiagram", {}),
    "pie": ("PieDiagram", {}),
    "donut": ("DonutDiagram", {}),
    "scatter": ("XYDiagram", {"SymbolType": -1}),
    "net": ("NetDiagram", {}),
}
_WIDTH, _HEIGHT = 16000, 9000
"""In 1/100 mm; the size of a chart that the menu inserts."""


@changes("calc", "Insert chart")
def chart(
    desk: Desk,
    cells: str,
    kind: str,
    at: str,
    name: str,
    header: bool,
    labels: bool,
    **words: Any,
) -> str:
    """Make a chart of a table.

    Args:
        desk: LibreOffice, with the spreadsheet in front.
        cells: one block or several, as `areas` takes them.
        kind: the kind of chart, one of `_KINDS`.
        at: the cell of its upper left corner; empty: beside the last block.
        name: a new name; empty: "Chart" with the next free number.
        header: whether the first row names the series.
        labels: whether the first column names the points.
        words: `title`, `x_title` and `y_title`, empty for none; and `legend`, whether it has one.
    """
    sources = areas(desk, cells)
    target = area(desk, at) if at else _beside(sources[-1])
    taken = _names(desk)
    name = name or _find_free_name(taken)
    if name in taken:
        raise Refused(f"there is a chart {name!r} already; charts: {', '.join(taken)}")
    place = uno.createUnoStruct("com.sun.star.awt.Rectangle")
    corner = target.first.Position
    place.X, place.Y, place.Width, place.Height = corner.X, corner.Y, _WIDTH, _HEIGHT
    addresses = tuple(source.range.RangeAddress for source in sources)
    target.sheet.Charts.addNewByName(name, place, addresses, header, labels)
    chart_object = target.sheet.Charts.getByName(name).EmbeddedObject
    service, settings = _KINDS[kind]
    chart_object.Diagram = chart_object.createInstance(f"com.sun.star.chart.{service}")
    for key, value in settings.items():
        setattr(chart_object.Diagram, key, value)
    _set_words(chart_object, **words)
    reveal(desk, target)
    return _describe_chart(target.sheet, name)


def _beside(source: Area) -> Area:
    return Area(source.sheet, source.right + 2, source.top, source.right + 2, source.top)


def _names(desk: Desk) -> list[str]:
    """Returns the names of the charts of all sheets; a new chart may have none of them."""
    sheets = desk.document.Sheets
    every = (sheets.getByIndex(index) for index in range(sheets.Count))
    return [name for sheet in every for name in sheet.Charts.ElementNames]


def _find_free_name(taken: Sequence[str]) -> str:
    names = (f"Chart {number}" for number in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


def _set_words(chart_object: Any, title: str, x_title: str, y_title: str, legend: bool) -> None:
    chart_object.HasMainTitle = bool(title)
    if title:
        chart_object.Title.String = title
    for axis, text in (("XAxis", x_title), ("YAxis", y_title)):
        if hasattr(chart_object.Diagram, f"Has{axis}Title"):
            setattr(chart_object.Diagram, f"Has{axis}Title", bool(text))
            if text:
                getattr(chart_object.Diagram, f"{axis}Title").String = text
    chart_object.HasLegend = legend


def _describe_chart(sheet: Any, name: str) -> str:
    chart = sheet.Charts.getByName(name)
    chart_object = chart.EmbeddedObject
    kind = chart_object.Diagram.DiagramType.rsplit(".", 1)[-1]
    words = [f"title {chart_object.Title.String!r}"] if chart_object.HasMainTitle else []
    for axis in ("X", "Y"):
        if getattr(chart_object.Diagram, f"Has{axis}AxisTitle", False):
            title = getattr(chart_object.Diagram, f"{axis}AxisTitle").String
            words.append(f"{axis} axis {title!r}")
    words += ["legend"] if chart_object.HasLegend else []
    source = ", ".join(
        Area(sheet, address.StartColumn, address.StartRow, address.EndColumn, address.EndRow).cells
        for address in chart.Ranges
    )
    return f"chart {name!r} on {sheet.Name!r}: {kind} of {source}; {', '.join(words) or 'no title'}"


FUNCTIONS = {"chart": chart}
