"""Makes charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import uno  # type: ignore[import-not-found]

from .calc_places import Area, area, areas, constant, reveal
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
    """Make a chart of a table; of a pivot table's cells a pivot chart, as Calc's own menu does."""
    sources = areas(desk, cells)
    pivot = _pivot_of(sources)
    if pivot and rows:
        raise Refused(
            f"{cells} is of pivot table {pivot!r}, whose columns are the series: leave out rows, "
            "or make a pivot table with rows and columns the other way round"
        )
    target = area(desk, at) if at else _beside(sources[-1])
    taken = _names(desk)
    name = name or _free(taken)
    if name in taken:
        raise Refused(f"there is a chart {name!r} already; charts: {', '.join(taken)}")
    place = uno.createUnoStruct("com.sun.star.awt.Rectangle")
    corner = target.first.Position
    place.X, place.Y, place.Width, place.Height = corner.X, corner.Y, _WIDTH, _HEIGHT
    if pivot:
        target.sheet.PivotCharts.addNewByName(name, place, pivot)
    else:
        addresses = tuple(each.range.RangeAddress for each in sources)
        names = (labels, header) if rows else (header, labels)  # of series, of points
        target.sheet.Charts.addNewByName(name, place, addresses, *names)
    made = _found(target.sheet, name).EmbeddedObject
    _set_kind(made, kind)
    if rows:
        made.Diagram.DataRowSource = constant("chart.ChartDataRowSource.ROWS")
    _set_words(made, words)
    reveal(desk, target)
    return _told(target.sheet, name)


def _pivot_of(sources: Sequence[Area]) -> str:
    """The name of the pivot table that holds all these cells; empty where none does."""
    tables = sources[0].sheet.DataPilotTables
    for name in tables.ElementNames:
        out = tables.getByName(name).OutputRange
        held = Area(sources[0].sheet, out.StartColumn, out.StartRow, out.EndColumn, out.EndRow)
        if all(source.within(held) == source for source in sources):
            return str(name)
    return ""


def _beside(source: Area) -> Area:
    return Area(source.sheet, source.right + 2, source.top, source.right + 2, source.top)


def _names(desk: Desk) -> list[str]:
    """The charts of all sheets; a name that another sheet's chart has is refused too."""
    sheets = desk.document.Sheets
    every = (sheets.getByIndex(index) for index in range(sheets.Count))
    return [name for sheet in every for name in sheet.Charts.ElementNames]


def _free(taken: Sequence[str]) -> str:
    names = (f"Chart {number}" for number in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


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
        made.HasLegend = bool(words["legend"])
        if isinstance(words["legend"], str):
            side = words["legend"].upper()
            made.Legend.Alignment = constant(f"chart.ChartLegendPosition.{side}")


def _found(sheet: Any, name: str) -> Any:
    """A chart of a sheet; among all charts, those of pivot tables are only listed."""
    charts = sheet.PivotCharts if sheet.PivotCharts.hasByName(name) else sheet.Charts
    return charts.getByName(name)


def _source(sheet: Any, found: Any) -> str:
    if hasattr(found, "PivotTableName"):
        return f"pivot table {found.PivotTableName!r}"
    return ", ".join(
        Area(sheet, each.StartColumn, each.StartRow, each.EndColumn, each.EndRow).cells
        for each in found.Ranges
    )


def _told(sheet: Any, name: str) -> str:
    found = _found(sheet, name)
    made = found.EmbeddedObject
    kind = made.Diagram.DiagramType.rsplit(".", 1)[-1]
    words = [f"title {made.Title.String!r}"] if made.HasMainTitle else []
    for axis in ("X", "Y"):
        if getattr(made.Diagram, f"Has{axis}AxisTitle", False):
            title = getattr(made.Diagram, f"{axis}AxisTitle").String
            words.append(f"{axis} axis {title!r}")
    if made.HasLegend:
        side = made.Legend.Alignment.value.lower()
        words.append("legend" if side == "right" else f"legend at the {side}")
    told = ", ".join(words) or "no title"
    return f"chart {name!r} on {sheet.Name!r}: {kind} of {_source(sheet, found)}; {told}"


FUNCTIONS = {"chart": chart}
