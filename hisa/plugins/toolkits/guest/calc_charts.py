"""Makes, changes and deletes charts."""

from __future__ import annotations

from typing import Any

import uno  # type: ignore[import-not-found]

from .calc_places import Area, area, areas, constant, reveal, sheet_of
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
"""1/100 mm; as a chart that the menu inserts."""


@changes("calc", "Insert chart")
def chart(
    desk: Desk,
    cells: str,
    kind: str,
    at: str,
    name: str,
    header: bool,
    labels: bool,
    rows: bool,
    **words: Any,
) -> str:
    """Make a chart of a table."""
    sources = areas(desk, cells)
    target = area(desk, at) if at else _beside(sources[-1])
    charts = target.sheet.Charts
    name = name or _free(charts)
    if charts.hasByName(name):
        raise Refused(
            f"there is a chart {name!r} already; charts: {', '.join(charts.ElementNames)}"
        )
    place = uno.createUnoStruct("com.sun.star.awt.Rectangle")
    corner = target.first.Position
    place.X, place.Y, place.Width, place.Height = corner.X, corner.Y, _WIDTH, _HEIGHT
    addresses = tuple(each.range.RangeAddress for each in sources)
    names = (labels, header) if rows else (header, labels)  # of series, of points
    charts.addNewByName(name, place, addresses, *names)
    made = charts.getByName(name).EmbeddedObject
    _set_kind(made, kind)
    if rows:
        made.Diagram.DataRowSource = constant("chart.ChartDataRowSource.ROWS")
    _set_words(made, words)
    reveal(desk, target)
    return _told(target.sheet, name)


def _beside(source: Area) -> Area:
    return Area(source.sheet, source.right + 2, source.top, source.right + 2, source.top)


def _free(charts: Any) -> str:
    numbers = range(1, charts.Count + 2)
    return next(f"Chart {each}" for each in numbers if not charts.hasByName(f"Chart {each}"))


def _set_kind(made: Any, kind: str) -> None:
    service, settings = _KINDS[kind]
    made.Diagram = made.createInstance(f"com.sun.star.chart.{service}")
    for key, value in settings.items():
        setattr(made.Diagram, key, value)


def _set_words(made: Any, words: dict[str, Any]) -> None:
    """Titles and legend; None: as it is."""
    if words.get("title") is not None:
        made.HasMainTitle = bool(words["title"])
        if words["title"]:
            made.Title.String = words["title"]
    for key, axis in (("x_title", "XAxis"), ("y_title", "YAxis")):
        if words.get(key) is not None and hasattr(made.Diagram, f"Has{axis}Title"):
            setattr(made.Diagram, f"Has{axis}Title", bool(words[key]))
            if words[key]:
                getattr(made.Diagram, f"{axis}Title").String = words[key]
    if words.get("legend") is not None:
        made.HasLegend = words["legend"]


@changes("calc", "Change chart")
def chart_edit(desk: Desk, name: str, kind: str | None, cells: str, **words: Any) -> str:
    """Change a chart of the document."""
    sheet, found = _chart(desk, name)
    if kind:
        _set_kind(found.EmbeddedObject, kind)
    if cells:
        found.Ranges = tuple(each.range.RangeAddress for each in areas(desk, cells))
    _set_words(found.EmbeddedObject, words)
    desk.document.setModified(True)
    return _told(sheet, name)


@changes("calc", "Delete chart")
def chart_delete(desk: Desk, name: str) -> str:
    """Delete a chart."""
    sheet, _ = _chart(desk, name)
    sheet.Charts.removeByName(name)
    left = ", ".join(sheet.Charts.ElementNames) or "none"
    return f"charts of {sheet.Name!r}: {left}"


def _chart(desk: Desk, name: str) -> tuple[Any, Any]:
    known = []
    for sheet_name in desk.document.Sheets.ElementNames:
        sheet = sheet_of(desk, sheet_name)
        if sheet.Charts.hasByName(name):
            return sheet, sheet.Charts.getByName(name)
        known += sheet.Charts.ElementNames
    raise Refused(f"there is no chart {name!r}; charts: {', '.join(known) or 'none'}")


def _told(sheet: Any, name: str) -> str:
    found = sheet.Charts.getByName(name)
    made = found.EmbeddedObject
    kind = made.Diagram.DiagramType.rsplit(".", 1)[-1]
    places = [
        Area(sheet, each.StartColumn, each.StartRow, each.EndColumn, each.EndRow).cells
        for each in found.Ranges
    ]
    words = [f"title {made.Title.String!r}"] if made.HasMainTitle else []
    for axis in ("X", "Y"):
        if getattr(made.Diagram, f"Has{axis}AxisTitle", False):
            title = getattr(made.Diagram, f"{axis}AxisTitle").String
            words.append(f"{axis} axis {title!r}")
    words += ["legend"] if made.HasLegend else []
    told = ", ".join(words)
    return f"chart {name!r} on {sheet.Name!r}: {kind} of {', '.join(places)}; {told or 'no title'}"


FUNCTIONS = {"chart": chart, "chart_edit": chart_edit, "chart_delete": chart_delete}
