"""Completes the elements of GTK 4 programs, which report neither "showing" nor screen positions.

GTK 4.8, that of Debian 12, reports only windows as showing. For elements inside, it reports only
that they are not hidden, so all pages of a stack look alike. But it answers by what is drawn
whether an element contains a point. Positions are relative to a window's corner, without the border
that the window draws around itself. An element without a name has the name of its class.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from .bus import Bus, Limit
from .dbus import arguments
from .node import BoundingBox, Node, flatten
from .x_screen import TopWindow

__all__ = ["IN_WINDOW", "TOOLKIT", "is_gtk4", "keep_drawn", "place", "pops_up"]

TOOLKIT = "GTK"
"""GTK 4's own name for itself; that of GTK 3 is "gtk"."""
IN_WINDOW = arguments("u", 1)
"""Asks for positions relative to a window's corner; GTK 4 does not know those on the screen."""
_MOST_BORDER = 64
"""Pixels by which a window of X may be larger than its reported box; chosen by hand."""
_CLASS = re.compile(r"(Gtk|Adw)[A-Z]\w*")
_WORDS = re.compile(r"([A-Z][a-z0-9]+){2,}")


def is_gtk4(bus: Bus, name: str) -> bool:
    """Whether the application of that name on the bus is known to use GTK 4."""
    return bus.toolkits.get(name) == TOOLKIT


def pops_up(node: Node) -> bool:
    """Whether a node is a separate window without a frame."""
    return node.role == "menu" or node.name == "GtkPopover"


def keep_drawn(bus: Bus, nodes: list[Node | None], limit: Limit) -> list[Node | None]:
    """Returns the nodes, with None in place of GTK 4's that are not drawn.

    Nodes without the interface Component stay: whether they show depends on their parts.

    Args:
        bus: the accessibility bus.
        nodes: the nodes of one level; None for those that do not show.
        limit: ends the reading.
    """
    candidates = [
        (index, node)
        for index, node in enumerate(nodes)
        if node is not None and is_gtk4(bus, node.name_on_bus) and "Component" in node.interfaces
    ]
    placed = [(index, node, node.box) for index, node in candidates if node.box is not None]
    calls = [
        node.call("Component", "Contains", arguments("iiu", *_centre(box), 1))
        for _, node, box in placed
    ]
    drawn = list(nodes)
    for index, _ in candidates:
        drawn[index] = None
    for (index, node, _), answer in zip(placed, bus.gather(calls, limit), strict=True):
        if answer and answer[0]:
            drawn[index] = node
    for drawn_node in drawn:
        if drawn_node is not None and is_gtk4(bus, drawn_node.name_on_bus):
            drawn_node.states |= {"showing"}
    return drawn


def place(
    bus: Bus,
    windows: Iterable[Node],
    shown: Sequence[TopWindow],
    popups: Callable[[], list[BoundingBox]],
) -> None:
    """Moves the windows of GTK 4, with all that is in them, to their positions on the screen.

    A reported window is matched with a window of the same title on the screen: the one with the
    same focus and the best fitting size. A window without a match is not moved. A menu is matched
    with the nearest window without a frame that has exactly its size.

    Args:
        bus: the accessibility bus.
        windows: the windows that were read, with the nodes in them.
        shown: the windows on the screen.
        popups: returns the boxes of the windows without a frame.
    """
    own = [node for node in windows if is_gtk4(bus, node.name_on_bus)]
    _place_windows(own, shown)
    parts = [part for node in own for part in flatten(node)]
    if any(map(pops_up, parts)):
        free = popups()
        for part in filter(pops_up, parts):
            _place_popup(part, free)
    for part in parts:  # the name of its class was needed until here
        if _CLASS.fullmatch(part.name) or (part.role == "filler" and _WORDS.fullmatch(part.name)):
            part.name = ""


def _place_windows(windows: Iterable[Node], shown: Sequence[TopWindow]) -> None:
    free = [window for window in shown if not window.hidden]
    for node in windows:
        if node.box is None:
            continue
        fits = [
            (window.active != ("active" in node.states), border, corner, window)
            for window in free
            if window.title == node.window
            for border, corner in _fits(node.box, window)
        ]
        if not fits:
            continue
        _, _, (left, top), window = min(fits, key=lambda fit: fit[:3])
        free.remove(window)
        _move(node, left - node.box[0], top - node.box[1])


def _place_popup(menu: Node, free: list[BoundingBox]) -> None:
    """Move a menu to the nearest box of exactly its size; without one it loses its box."""
    menu_box = menu.box
    same = [box for box in free if menu_box is not None and _size(box) == _size(menu_box)]
    if menu_box is None or not same:
        for part in flatten(menu):
            part.box = None
        return
    place = min(same, key=lambda box: abs(box[0] - menu_box[0]) + abs(box[1] - menu_box[1]))
    free.remove(place)
    _move(menu, place[0] - menu_box[0], place[1] - menu_box[1])


def _move(node: Node, across: int, down: int) -> None:
    for part in flatten(node):
        part.moved = (part.moved[0] + across, part.moved[1] + down)
        if part.box is not None:
            left, top, right, bottom = part.box
            part.box = (left + across, top + down, right + across, bottom + down)


def _size(box: BoundingBox) -> tuple[int, int]:
    return box[2] - box[0], box[3] - box[1]


def _fits(box: BoundingBox, window: TopWindow) -> list[tuple[int, tuple[int, int]]]:
    """Returns how much larger each fitting box of a window is, and the reported box's corner."""
    fits = []
    for left, top, right, bottom in (window.box, *window.outlines):
        across = (right - left) - (box[2] - box[0])
        down = (bottom - top) - (box[3] - box[1])
        if 0 <= across <= _MOST_BORDER and 0 <= down <= _MOST_BORDER:
            fits.append((across + down, (left + across // 2, top + down // 2)))
    return fits


def _centre(box: BoundingBox) -> tuple[int, int]:
    return (box[0] + box[2]) // 2, (box[1] + box[3]) // 2
