"""The charts and sparklines of a sheet, read from the workbook's own XML.

openpyxl leaves out a chart that it cannot read whole, such as some with a date axis that
LibreOffice writes; a chart that is there must not count as missing.
"""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["charts", "sparklines"]

_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


class _Package:
    """The parts of a workbook's file and how they point to each other."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._names = frozenset(archive.namelist())

    def tree(self, part: str) -> Any:
        """A part's XML; an empty element where there is no such part."""
        from lxml import etree

        if part not in self._names:
            return etree.Element("none")
        parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
        return etree.fromstring(self._archive.read(part), parser)

    def related(self, part: str, kind: str) -> dict[str, str]:
        """The parts of a kind ("chart") that a part points to, by relation id."""
        folder, name = posixpath.split(part)
        found = {}
        for relation in self.tree(f"{folder}/_rels/{name}.rels"):
            if str(relation.get("Type")).endswith(f"/{kind}"):
                target = str(relation.get("Target"))
                path = posixpath.normpath(posixpath.join("/" + folder, target))
                found[str(relation.get("Id"))] = path.lstrip("/")
        return found

    def sheet(self, name: str) -> str:
        """The part of a sheet; empty where there is none of that name."""
        sheets = self.related("xl/workbook.xml", "worksheet")
        for sheet in self.tree("xl/workbook.xml").iter("{*}sheet"):
            if sheet.get("name") == name:
                return sheets.get(str(sheet.get(f"{_RELATION}id")), "")
        return ""


def charts(path: Path, name: str, wanted: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The charts of a sheet: the wanted properties by the ranges that each draws."""
    with zipfile.ZipFile(path) as archive:
        package = _Package(archive)
        sheet = package.sheet(name)
        found = {}
        for anchor, chart in _drawn(package, sheet) if sheet else ():
            plot = next(_plots(chart), None)
            if plot is not None:
                ranges = ";".join(_ranges(series) for series in plot.findall("{*}ser"))
                found[ranges] = {
                    item: _property(chart, plot, anchor, item) for item in sorted(set(wanted))
                }
        return found


def _drawn(package: _Package, sheet: str) -> Iterator[tuple[Any, Any]]:
    """Each chart of a sheet with the element that says where it is."""
    for drawing in package.related(sheet, "drawing").values():
        parts = package.related(drawing, "chart")
        for anchor in package.tree(drawing):
            for link in anchor.iter("{*}chart"):
                part = parts.get(str(link.get(f"{_RELATION}id")))
                if part is not None:
                    yield anchor, package.tree(part)


def _plots(chart: Any) -> Iterator[Any]:
    for area in chart.iterfind(".//{*}plotArea/*"):
        if isinstance(area.tag, str) and _local(area).endswith("Chart"):
            yield area


def _local(node: Any) -> str:
    return str(node.tag).rpartition("}")[2]


def _ranges(series: Any) -> str:
    """Where a series takes its values and its categories from."""

    def reference(kind: str) -> str:
        for source in ("numRef", "strRef"):
            formula = series.findtext(f"{{*}}{kind}/{{*}}{source}/{{*}}f")
            if formula is not None:
                return str(formula)
        return ""

    return f"{reference('val')},{reference('cat')}"


def _title(owner: Any) -> str | None:
    """The first piece of a title's text."""
    text = None if owner is None else owner.findtext("{*}title/{*}tx/{*}rich/{*}p/{*}r/{*}t")
    return None if text is None else str(text)


_AXES: Mapping[str, tuple[str, ...]] = {
    "xtitle": ("catAx", "dateAx", "valAx"),
    "ytitle": ("valAx",),
    "ztitle": ("serAx",),
}


def _axis_title(chart: Any, name: str) -> str | None:
    axes = [
        node
        for node in chart.iterfind(".//{*}plotArea/*")
        if isinstance(node.tag, str) and _local(node).endswith("Ax")
    ]
    if name == "ytitle":
        axes = axes[1:]
    return next((_title(axis) for axis in axes if _local(axis) in _AXES[name]), None)


def _property(chart: Any, plot: Any, anchor: Any, name: str) -> Any:
    match name:
        case "title":
            return _title(chart.find("{*}chart"))
        case "legend":
            legend = chart.find("{*}chart/{*}legend")
            place = None if legend is None else legend.find("{*}legendPos")
            return None if legend is None else "r" if place is None else place.get("val", "r")
        case "type":
            return _local(plot)
        case "direction":
            direction = plot.find("{*}barDir")
            return None if direction is None else direction.get("val")
        case "anchor":
            corners = ("{*}from/{*}col", "{*}to/{*}col", "{*}to/{*}row")
            return (anchor.get("editAs"), *(anchor.findtext(corner) for corner in corners))
        case "xtitle" | "ytitle" | "ztitle":
            return _axis_title(chart, name)
    return None  # sizes: readers of task files take one and the same for every chart


def sparklines(path: Path, name: str) -> dict[str, str]:
    """The ranges drawn in a sheet's cells, by cell."""
    with zipfile.ZipFile(path) as archive:
        package = _Package(archive)
        sheet = package.sheet(name)
        lines = list(package.tree(sheet).iter("{*}sparkline")) if sheet else []
    return {str(line.findtext("{*}sqref")): str(line.findtext("{*}f")) for line in lines}
