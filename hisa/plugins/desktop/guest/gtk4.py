"""The elements of GTK 4 programs, which tell neither what of them shows nor where on the screen.

GTK 4.8, that of Debian 12, says of a window alone that it shows; of what is in one it says no more
than that nobody hid it, and so the pages of a stack all look alike. But whether a point lies in an
element it says by what is drawn. Places are told from a window's corner, without the border that
it draws around itself, and what has no name is told by that of its class.
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
"""As GTK 4 calls itself; GTK 3 is "gtk"."""
IN_WINDOW = arguments("u", 1)
"""Asks for places from a window's corner; those of the screen are not known to it."""
_MOST_BORDER = 64
"""Pixels by which a window of X may be larger than what is told of it; chosen by hand."""
_CLASS = re.compile(r"(Gtk|Adw)[A-Z]\w*")
_WORDS = re.compile(r"([A-Z][a-z0-9]+){2,}")


def is_gtk4(bus: Bus, name: str) -> bool:
    """Whether the application of that name on the bus is known to be one of GTK 4."""
    return bus.toolkits.get(name) == TOOLKIT


def pops_up(node: Node) -> bool:
    """Whether it is a window of its own, without a frame."""
    return node.role == "menu" or node.name == "GtkPopover"


def keep_drawn(bus: Bus, nodes: list[Node | None], limit: Limit) -> list[Node | None]:
    """Returns the nodes with None for those of GTK 4 that are not drawn.

    What has no place of its own, as a page of a stack, is as its parts are, and stays.
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
    """Move the windows of GTK 4 with all that is in them to where they are on the screen.

    Of the windows of that title on the screen it is the one that has the focus where the told one
    has, and whose size fits best. One that fits none stays where it is told. A menu, which is told
    where nothing has moved it yet, is the window without a frame of that very size.
    """
    own = [node for node in windows if is_gtk4(bus, node.name_on_bus)]
    _place_windows(own, shown)
    parts = [part for node in own for part in flatten(node)]
    if any(map(pops_up, parts)):
        free = popups()
        for part in filter(pops_up, parts):
            _place_popup(part, free)
    for part in parts:  # known by its class until here
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
    """Move a menu to the nearest of these boxes that has its size; without one it has no place."""
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
    """Returns by how much a window's boxes are larger, and where in them the told one begins."""
    fits = []
    for left, top, right, bottom in (window.box, *window.outlines):
        across = (right - left) - (box[2] - box[0])
        down = (bottom - top) - (box[3] - box[1])
        if 0 <= across <= _MOST_BORDER and 0 <= down <= _MOST_BORDER:
            fits.append((across + down, (left + across // 2, top + down // 2)))
    return fits


def _centre(box: BoundingBox) -> tuple[int, int]:
    return (box[0] + box[2]) // 2, (box[1] + box[3]) // 2
