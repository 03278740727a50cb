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
    **words: Any,
) -> str:
    """Make a chart of a table."""
    sources = areas(desk, cells)
    target = area(desk, at) if at else _beside(sources[-1])
    taken = _names(desk)
    name = name or _free(taken)
    if name in taken:
        raise Refused(f"there is a chart {name!r} already; charts: {', '.join(taken)}")
    place = uno.createUnoStruct("com.sun.star.awt.Rectangle")
    corner = target.first.Position
    place.X, place.Y, place.Width, place.Height = corner.X, corner.Y, _WIDTH, _HEIGHT
    addresses = tuple(each.range.RangeAddress for each in sources)
    target.sheet.Charts.addNewByName(name, place, addresses, header, labels)
    made = target.sheet.Charts.getByName(name).EmbeddedObject
    service, settings = _KINDS[kind]
    made.Diagram = made.createInstance(f"com.sun.star.chart.{service}")
    for key, value in settings.items():
        setattr(made.Diagram, key, value)
    _set_words(made, **words)
    reveal(desk, target)
    return _told(target.sheet, name)


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


def _set_words(made: Any, title: str, x_title: str, y_title: str, legend: bool) -> None:
    made.HasMainTitle = bool(title)
    if title:
        made.Title.String = title
    for axis, text in (("XAxis", x_title), ("YAxis", y_title)):
        if hasattr(made.Diagram, f"Has{axis}Title"):
            setattr(made.Diagram, f"Has{axis}Title", bool(text))
            if text:
                getattr(made.Diagram, f"{axis}Title").String = text
    made.HasLegend = legend


def _told(sheet: Any, name: str) -> str:
    chart = sheet.Charts.getByName(name)
    made = chart.EmbeddedObject
    kind = made.Diagram.DiagramType.rsplit(".", 1)[-1]
    words = [f"title {made.Title.String!r}"] if made.HasMainTitle else []
    for axis in ("X", "Y"):
        if getattr(made.Diagram, f"Has{axis}AxisTitle", False):
            title = getattr(made.Diagram, f"{axis}AxisTitle").String
            words.append(f"{axis} axis {title!r}")
    words += ["legend"] if made.HasLegend else []
    source = ", ".join(
        Area(sheet, each.StartColumn, each.StartRow, each.EndColumn, each.EndRow).cells
        for each in chart.Ranges
    )
    return f"chart {name!r} on {sheet.Name!r}: {kind} of {source}; {', '.join(words) or 'no title'}"


FUNCTIONS = {"chart": chart}
