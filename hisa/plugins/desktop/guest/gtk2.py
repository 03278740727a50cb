"""Finds the open menus of GTK 2 programs, such as GIMP 2.10, which do not report that they show.

GTK 2 reports no item of a menu as showing. Items of a menu that was never open have no box, and
items of a closed menu keep theirs. So an item shows if it is inside a window without a frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from .bus import Bus, Limit
from .dbus import Call, arguments
from .node import NOWHERE, BoundingBox, Node, flatten

__all__ = ["keep_open", "placed_items"]

_TOOLKIT = "GAIL"
_HOLDERS = frozenset({"menu", "combo box", "window"})
"""Roles of parents of such items: a menu, a list of choices, the window of a context menu."""
_COMPONENT = "org.a11y.atspi.Component"
_ON_SCREEN = arguments("u", 0)
_BORDER = 8
"""Pixels by which an item may be narrower than its menu's window; chosen by hand."""


def placed_items(
    bus: Bus,
    refs: Sequence[tuple[str, str]],
    states: Sequence[frozenset[str]],
    owners: Sequence[Node],
    limit: Limit,
) -> set[int]:
    """Returns the indexes of the references that have a box but are not reported as showing.

    Args:
        bus: the accessibility bus.
        refs: names on the bus and paths.
        states: the reported states of each.
        owners: the parent of each.
        limit: ends the reading.
    """
    candidates = [
        index
        for index, (name, _) in enumerate(refs)
        if bus.toolkits.get(name) == _TOOLKIT
        and owners[index].role in _HOLDERS
        and "visible" in states[index]
        and "showing" not in states[index]
    ]
    calls = [Call(*refs[index], _COMPONENT, "GetExtents", _ON_SCREEN) for index in candidates]
    answers = bus.gather(calls, limit)
    return {
        index
        for index, answer in zip(candidates, answers, strict=True)
        if answer and answer[0][0] != NOWHERE
    }


def keep_open(bus: Bus, windows: Iterable[Node], popups: Callable[[], list[BoundingBox]]) -> None:
    """Drops the items of closed menus, and adds the state "showing" to the others.

    Args:
        bus: the accessibility bus.
        windows: the windows that were read, with the nodes in them.
        popups: returns the boxes of the windows without a frame.
    """
    holders = [
        node
        for window in windows
        if bus.toolkits.get(window.name_on_bus) == _TOOLKIT
        for node in flatten(window)
        if any("showing" not in child.states for child in node.children)
    ]
    boxes = popups() if holders else []
    for holder in holders:
        for item in holder.children:
            if any(_is_inside(item, box) for box in boxes):
                item.states |= {"showing"}
        holder.children = [child for child in holder.children if "showing" in child.states]


def _is_inside(item: Node, popup: BoundingBox) -> bool:
    if item.box is None:
        return False
    left, top, right, bottom = item.box
    across = 0 <= left - popup[0] <= _BORDER and 0 <= popup[2] - right <= _BORDER
    return across and popup[1] <= top and bottom <= popup[3]
