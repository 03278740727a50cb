"""Corrects the boxes of items in icon views, which GTK 3 reports as if nothing were scrolled."""

from __future__ import annotations

from .bus import Bus, Limit
from .dbus import Call, arguments
from .node import Node, flatten, overlap
from .role_numbers import state_names

__all__ = ["scroll_icons"]

_A11Y = "org.a11y.atspi"
_PROPERTIES = "org.freedesktop.DBus.Properties"
_VALUE = arguments("ss", f"{_A11Y}.Value", "CurrentValue")


def scroll_icons(bus: Bus, nodes: list[Node], limit: Limit) -> None:
    """Moves the items by the values of the scroll bars beside them.

    Items that are scrolled out of view lose their boxes. Boxes are in the application's own units.

    Args:
        bus: the accessibility bus.
        nodes: the nodes of all windows.
        limit: ends the reading.
    """
    for pane in nodes:
        if pane.role != "scroll pane" or bus.toolkits.get(pane.name_on_bus) != "gtk":
            continue
        views = [view for view in pane.children if view.role == "layered pane" and view.children]
        if views:
            across, down = _read_scroll_offset(bus, pane, limit)
            for view in views:
                _move(view, -across, -down)


def _read_scroll_offset(bus: Bus, pane: Node, limit: Limit) -> tuple[int, int]:
    """Returns by how much a pane is scrolled; its bars may be hidden while they are not used."""
    (answer,) = bus.gather([pane.call("Accessible", "GetChildren")], limit)
    calls: list[Call] = []
    for name, path in answer[0] if answer else ():
        calls += [
            Call(name, path, f"{_A11Y}.Accessible", "GetState"),
            Call(name, path, _PROPERTIES, "Get", _VALUE),
        ]
    answers = bus.gather(calls, limit)
    across = down = 0
    for states, value in zip(answers[::2], answers[1::2], strict=True):
        if states and value:
            upright = "vertical" in state_names(states[0])
            across, down = (across, round(value[0])) if upright else (round(value[0]), down)
    return across, down


def _move(view: Node, across: int, down: int) -> None:
    for item in flatten(view)[1:]:
        if item.box is not None and view.box is not None:
            left, top, right, bottom = item.box
            box = (left + across, top + down, right + across, bottom + down)
            item.box = box if overlap(box, view.box) else None
