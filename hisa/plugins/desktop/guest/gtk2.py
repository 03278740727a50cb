"""The open menus of GTK 2 programs, such as GIMP 2.10, which do not say that they show.

It says so of no item of a menu. Those of a menu that was never open have no place, and those of one
that was closed keep theirs, so that an item shows where a window without a frame is around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from .bus import Bus, Limit
from .dbus import Call, arguments
from .node import NOWHERE, BoundingBox, Node, flatten

__all__ = ["keep_open", "placed_items"]

_TOOLKIT = "GAIL"
_HOLDERS = frozenset({"menu", "combo box", "window"})
"""What has items that open: a menu bar's menu, a list of choices, the window of a context menu."""
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
    """Returns which of these references have a place without saying that they show.

    Args:
        bus: the accessibility bus.
        refs: names on the bus and paths.
        states: what each says of itself.
        owners: what each hangs on.
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
    """Drop the items of closed menus, and say of the others that they show.

    Args:
        bus: the accessibility bus.
        windows: those that were read, with what is in them.
        popups: tells where the windows without a frame are.
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
