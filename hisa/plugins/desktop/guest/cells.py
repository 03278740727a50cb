"""Reads the showing cells of tables that make their cells on demand; never a whole table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from PIL import Image, ImageChops

from .bus import Bus, Limit
from .dbus import Call, arguments
from .node import BoundingBox, Node
from .role_numbers import role_name, state_names
from .x_screen import Frame

__all__ = ["Cells"]

_A11Y = "org.a11y.atspi"
_PROPERTIES = "org.freedesktop.DBus.Properties"
_MAX_CELLS = 3000
"""Most cells of one table; a spreadsheet shows 420 at 1280x720 and some 1,100 at 1920x1080."""
_MAX_TEXT = 200  # chosen by hand
_MADE = "manages-descendants"
_INSET = 4
"""Pixels from a table's corner to a point that is surely inside a cell; chosen by hand."""
_NULL = "/org/a11y/atspi/null"
_ON_SCREEN = arguments("u", 0)
_FULL_TEXT = arguments("ii", 0, -1)
_NAME = arguments("ss", f"{_A11Y}.Accessible", "Name")

_Ref = tuple[str, str]
_Spot = tuple[int, int]
"""Row and column."""


@dataclass
class _TableReading:
    """The cells of a table at the last reading, and the screen at that time."""

    box: BoundingBox
    corners: tuple[_Spot, _Spot]
    ends: list[BoundingBox | None]
    picture: Image.Image
    cells: dict[_Spot, Node] = field(default_factory=dict)


class Cells:
    """Reads the showing cells of tables; keeps those whose pixels did not change."""

    def __init__(self) -> None:
        self._readings: dict[_Ref, _TableReading] = {}

    def fill(self, bus: Bus, nodes: list[Node], frame: Frame, most: int, limit: Limit) -> None:
        """Adds the showing cells to each table that makes its cells on demand.

        Args:
            bus: the accessibility bus.
            nodes: tables and other nodes.
            frame: the screen before anything was read.
            most: most cells in all; if there are more, ``limit.ran_out`` is set.
            limit: ends the reading.
        """
        tables = [node for node in nodes if node.makes_cells and node.box and not node.children]
        picture = frame.image() if tables else None
        known = {}
        for table in tables:
            ref = (table.name_on_bus, table.path)
            if picture is None or most <= 0 or not limit.left:
                limit.ran_out = True
                continue
            read = self._read(bus, table, picture, min(most, _MAX_CELLS), limit)
            table.children = list(read.cells.values()) if read else []
            size = _size(bus, table, limit) if limit.hidden else None
            if size is not None and len(table.children) == size[0] * size[1]:
                table.states -= {_MADE}  # all its cells are reported
            if read is None:
                continue
            most -= len(read.cells)
            if not (limit.ran_out or limit.moved):
                known[ref] = read
        gone = {(node.name_on_bus, node.path) for node in nodes} - known.keys()
        self._readings = {
            ref: reading for ref, reading in self._readings.items() if ref not in gone
        } | known

    def _read(
        self, bus: Bus, table: Node, picture: Image.Image, most: int, limit: Limit
    ) -> _TableReading | None:
        corners = _corners(bus, table, limit)
        if corners is None or table.box is None:
            return None
        (top, left), (bottom, right) = corners
        spots = [
            (row, column) for row in range(top, bottom + 1) for column in range(left, right + 1)
        ]
        limit.ran_out |= len(spots) > most
        spots = spots[:most]
        ends = _boxes(bus, table, [spots[0], spots[-1]], limit)
        now = _TableReading(table.box, corners, ends, picture)
        old = self._readings.get((table.name_on_bus, table.path))
        old_cells = _reuse_cells(old, now) if old is not None else {}
        new_spots = [spot for spot in spots if spot not in old_cells]
        fresh = _describe(bus, table, new_spots, limit)
        for spot in spots:
            cell = old_cells.get(spot) or fresh.get(spot)
            if cell is not None:
                now.cells[spot] = cell
        return now


def _size(bus: Bus, table: Node, limit: Limit) -> tuple[int, int] | None:
    """Return the numbers of rows and columns of a table, showing or not."""
    rows, columns = bus.gather([_count(table, "NRows"), _count(table, "NColumns")], limit)
    return (int(rows[0]), int(columns[0])) if rows and columns else None


def _reuse_cells(old: _TableReading, now: _TableReading) -> dict[_Spot, Node]:
    """Returns the cells whose pixels are the same, if the table has not moved or scrolled."""
    same = (old.box, old.corners, old.ends) == (now.box, now.corners, now.ends)
    if not same or old.picture.size != now.picture.size:
        return {}
    difference = ImageChops.difference(old.picture, now.picture)
    if difference.crop(now.box).getbbox() is None:
        return old.cells
    return {
        spot: cell
        for spot, cell in old.cells.items()
        if cell.box is not None and difference.crop(cell.box).getbbox() is None
    }


def _refs(bus: Bus, table: Node, spots: list[_Spot], limit: Limit) -> list[_Ref | None]:
    calls = [table.call("Table", "GetAccessibleAt", arguments("ii", *spot)) for spot in spots]
    answers = bus.gather(calls, limit)
    return [tuple(answer[0]) if answer and answer[0][1] != _NULL else None for answer in answers]


def _boxes(bus: Bus, table: Node, spots: list[_Spot], limit: Limit) -> list[BoundingBox | None]:
    refs = [ref for ref in _refs(bus, table, spots, limit) if ref is not None]
    calls = [Call(*ref, f"{_A11Y}.Component", "GetExtents", _ON_SCREEN) for ref in refs]
    return [_clip_box(answer, table) for answer in bus.gather(calls, limit)]


def _corners(bus: Bus, node: Node, limit: Limit) -> tuple[_Spot, _Spot] | None:
    """Returns row and column of the first and of the last visible cell."""
    if node.box is None:
        return None
    left, top, right, bottom = node.box
    points = [(left + _INSET, top + _INSET), (right - _INSET, bottom - _INSET)]
    calls = [
        node.call(
            "Component", "GetAccessibleAtPoint", arguments("iiu", *node.to_app_point(x, y), 0)
        )
        for x, y in points
    ]
    first, last = bus.gather(calls, limit)
    start = _position(bus, node, first, limit) or (0, 0)
    end = _position(bus, node, last, limit)
    if end is None:
        size = _size(bus, node, limit)
        if size is None:
            return None
        end = (min(size[0], start[0] + 60) - 1, min(size[1], start[1] + 30) - 1)
    return (start, end) if end >= start and end[1] >= start[1] else None


def _count(node: Node, name: str) -> Call:
    parameters = arguments("ss", f"{_A11Y}.Table", name)
    return Call(node.name_on_bus, node.path, _PROPERTIES, "Get", parameters)


def _position(bus: Bus, node: Node, response: Any, limit: Limit) -> tuple[int, int] | None:
    if not response or response[0][1] == _NULL:
        return None
    name, path = response[0]
    (index,) = bus.gather([Call(name, path, f"{_A11Y}.Accessible", "GetIndexInParent")], limit)
    if not index or index[0] < 0:
        return None
    number = arguments("i", index[0])
    calls = [
        node.call("Table", "GetRowAtIndex", number),
        node.call("Table", "GetColumnAtIndex", number),
    ]
    row, column = bus.gather(calls, limit)
    if not row or not column or row[0] < 0 or column[0] < 0:
        return None
    return row[0], column[0]


def _describe(bus: Bus, table: Node, spots: list[_Spot], limit: Limit) -> dict[_Spot, Node]:
    pairs = zip(spots, _refs(bus, table, spots, limit), strict=True)
    refs = [(spot, ref) for spot, ref in pairs if ref is not None]
    calls: list[Call] = []
    for _, ref in refs:
        calls += [
            Call(*ref, f"{_A11Y}.Component", "GetExtents", _ON_SCREEN),
            Call(*ref, f"{_A11Y}.Accessible", "GetState"),
            Call(*ref, f"{_A11Y}.Accessible", "GetRole"),
            Call(*ref, _PROPERTIES, "Get", _NAME),
            Call(*ref, f"{_A11Y}.Text", "GetText", _FULL_TEXT),
        ]
    answers = bus.gather(calls, limit)
    cells = {}
    for number, (spot, ref) in enumerate(refs):
        cell = _cell(table, ref, *answers[5 * number : 5 * number + 5])
        if cell is not None:
            cell.index = spot[1]
            cells[spot] = cell
    _name_by_contents(bus, [cell for cell in cells.values() if not cell.name], limit)
    return cells


def _cell(
    table: Node, ref: _Ref, extents: Any, states: Any, role: Any, name: Any, text: Any
) -> Node | None:
    box = _clip_box(extents, table)
    if box is None or not states or not role:
        return None
    return Node(
        name_on_bus=ref[0],
        path=ref[1],
        parent=table.path,
        index=0,
        children_count=0,
        interfaces=frozenset(),
        name=str(name[0]).strip() if name else "",
        role=role_name(role[0]),
        description="",
        states=frozenset(state_names(states[0])),
        box=box,
        text=str(text[0])[:_MAX_TEXT] if text else "",
        app=table.app,
        window=table.window,
    )


def _name_by_contents(bus: Bus, cells: list[Node], limit: Limit) -> None:
    """Name cells without a name, as those of a picture and a text, by the names inside them."""
    calls = [cell.call("Accessible", "GetChildren") for cell in cells]
    owners: list[Node] = []
    name_calls: list[Call] = []
    for cell, answer in zip(cells, bus.gather(calls, limit), strict=True):
        for name, path in answer[0][:4] if answer else []:
            owners.append(cell)
            name_calls.append(Call(name, path, _PROPERTIES, "Get", _NAME))
    for cell, answer in zip(owners, bus.gather(name_calls, limit), strict=True):
        text = str(answer[0]).strip() if answer else ""
        if text and text not in cell.name:
            cell.name = f"{cell.name} {text}".strip()


def _clip_box(extents: Any, table: Node) -> BoundingBox | None:
    """Returns the part of a reported box inside the table, corrected as the table's own box was."""
    if not extents or table.box is None:
        return None
    left, top, width, height = extents[0]
    left, top, right, bottom = table.on_screen((left, top, left + width, top + height))
    box = (max(left, table.box[0]), max(top, table.box[1]))
    end = (min(right, table.box[2]), min(bottom, table.box[3]))
    return (*box, *end) if end[0] > box[0] and end[1] > box[1] else None
