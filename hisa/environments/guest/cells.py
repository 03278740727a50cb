"""What shows of a table that makes its cells only when asked: never the whole of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from gi.repository import GLib

from .bus import Bus, Call

if TYPE_CHECKING:
    from .node import Node

__all__ = ["visible_children"]

_A11Y = "org.a11y.atspi"
_MAX_CELLS = 700
_MAX_TEXT = 200
_INSET = 4
_NULL = "/org/a11y/atspi/null"


def visible_children(
    bus: Bus, nodes: list[Node], limit: int, seconds: float
) -> list[tuple[Node, list[dict[str, Any]]]]:
    """For each table that makes its cells on demand, those that show, at most ``limit`` in all."""
    deadline = time.monotonic() + seconds
    found = []
    for node in nodes:
        lazy = "manages-descendants" in node.states and "Table" in node.interfaces
        if not lazy or node.children or node.box is None or limit <= 0:
            continue
        left = deadline - time.monotonic()
        if left <= 0:
            break
        refs = _refs(bus, node, min(limit, _MAX_CELLS), left)
        items = _describe(bus, refs, node.box, deadline - time.monotonic())
        limit -= len(items)
        found.append((node, items))
    return found


def _refs(bus: Bus, node: Node, limit: int, seconds: float) -> list[tuple[str, str]]:
    corner = _corners(bus, node, seconds)
    if corner is None:
        return []
    (top, left), (bottom, right) = corner
    places = [(row, column) for row in range(top, bottom + 1) for column in range(left, right + 1)]
    calls = [
        node.call("Table", "GetAccessibleAt", GLib.Variant("(ii)", place))
        for place in places[:limit]
    ]
    answers = bus.gather(calls, seconds)
    return [tuple(answer[0]) for answer in answers if answer and answer[0][1] != _NULL]


def _corners(
    bus: Bus, node: Node, seconds: float
) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Row and column of the first and of the last visible cell."""
    if node.box is None:
        return None
    left, top, right, bottom = node.box
    points = [(left + _INSET, top + _INSET), (right - _INSET, bottom - _INSET)]
    calls = [
        node.call("Component", "GetAccessibleAtPoint", GLib.Variant("(iiu)", (x, y, 0)))
        for x, y in points
    ]
    first, last = bus.gather(calls, seconds)
    start = _position(bus, node, first, seconds) or (0, 0)
    end = _position(bus, node, last, seconds)
    if end is None:
        size = bus.gather([_count(node, "NRows"), _count(node, "NColumns")], seconds)
        if not all(size):
            return None
        rows, columns = (int(answer[0]) for answer in size)
        end = (min(rows, start[0] + 60) - 1, min(columns, start[1] + 30) - 1)
    return start, end


def _count(node: Node, what: str) -> Call:
    arguments = GLib.Variant("(ss)", (f"{_A11Y}.Table", what))
    return (node.name_on_bus, node.path, "org.freedesktop.DBus.Properties", "Get", arguments)


def _position(bus: Bus, node: Node, answer: Any, seconds: float) -> tuple[int, int] | None:
    if not answer or answer[0][1] == _NULL:
        return None
    name, path = answer[0]
    (index,) = bus.gather([(name, path, f"{_A11Y}.Accessible", "GetIndexInParent", None)], seconds)
    if not index or index[0] < 0:
        return None
    number = GLib.Variant("(i)", (index[0],))
    calls = [
        node.call("Table", "GetRowAtIndex", number),
        node.call("Table", "GetColumnAtIndex", number),
    ]
    row, column = bus.gather(calls, seconds)
    if not row or not column or row[0] < 0 or column[0] < 0:
        return None
    return row[0], column[0]


def _describe(
    bus: Bus, refs: list[tuple[str, str]], clip: tuple[int, int, int, int], seconds: float
) -> list[dict[str, Any]]:
    screen, span = GLib.Variant("(u)", (0,)), GLib.Variant("(ii)", (0, -1))
    calls: list[Call] = []
    for name, path in refs:
        label = GLib.Variant("(ss)", (f"{_A11Y}.Accessible", "Name"))
        calls += [
            (name, path, f"{_A11Y}.Component", "GetExtents", screen),
            (name, path, f"{_A11Y}.Accessible", "GetState", None),
            (name, path, f"{_A11Y}.Accessible", "GetRole", None),
            (name, path, "org.freedesktop.DBus.Properties", "Get", label),
            (name, path, f"{_A11Y}.Text", "GetText", span),
        ]
    answers = bus.gather(calls, max(0.0, seconds))
    unnamed = [ref for i, ref in enumerate(refs) if not (answers[5 * i + 3] or ("",))[0]]
    inner = _inner_names(bus, unnamed, max(0.0, seconds))
    items = []
    for index, (_, path) in enumerate(refs):
        extents, states, role, said, text = answers[5 * index : 5 * index + 5]
        box = _clipped(extents, clip)
        if box is None or not states or not role:
            continue
        items.append(
            {
                "path": path,
                "index": index,
                "box": box,
                "states": states[0],
                "role": role[0],
                "name": (str(said[0]).strip() if said else "") or inner.get(path, ""),
                "text": str(text[0])[:_MAX_TEXT] if text else "",
            }
        )
    return items


def _inner_names(bus: Bus, refs: list[tuple[str, str]], seconds: float) -> dict[str, str]:
    """A cell that holds a picture and a text is called what is in it."""
    calls = [(*ref, f"{_A11Y}.Accessible", "GetChildren", None) for ref in refs]
    owners, asked = [], []
    for (_, path), answer in zip(refs, bus.gather(calls, seconds), strict=True):
        for child in answer[0][:4] if answer else []:
            owners.append(path)
            label = GLib.Variant("(ss)", (f"{_A11Y}.Accessible", "Name"))
            asked.append((*child, "org.freedesktop.DBus.Properties", "Get", label))
    names: dict[str, str] = {}
    for path, answer in zip(owners, bus.gather(asked, seconds), strict=True):
        said = str(answer[0]).strip() if answer else ""
        if said and said not in names.get(path, ""):
            names[path] = f"{names[path]} {said}" if path in names else said
    return names


def _clipped(extents: Any, clip: tuple[int, int, int, int]) -> tuple[int, int, int, int] | None:
    if not extents:
        return None
    left, top, width, height = extents[0]
    box = (max(left, clip[0]), max(top, clip[1]))
    end = (min(left + width, clip[2]), min(top + height, clip[3]))
    return (*box, *end) if end[0] > box[0] and end[1] > box[1] else None
