"""Leaves out what is scrolled out of what holds it, and of the rest what is hidden.

Toolkits say that an element shows although it is scrolled out of its pane, and there a click meets
whatever lies beside the pane.
"""

from __future__ import annotations

from . import gtk4
from .bus import Bus
from .node import X_PLACES, Node, overlap

__all__ = ["shows_through"]

_PASSING = frozenset({"combo box", "menu bar", "menu item"})
"""What hides nothing in Qt: menus and lists of choices hang on these. Every other widget hides what
sticks out of it, and the parts of a scrolled one are told as fillers."""
_QT_MENUS = frozenset({"menu", "popup menu", "tool tip"})


def shows_through(bus: Bus, node: Node, owner: Node) -> bool:
    """Whether anything of a node is seen through what holds it.

    Its box is cut to what is seen. A window hides nothing: menus stick out.
    """
    toolkit = bus.toolkits.get(node.name_on_bus, "")
    node.view = None if _is_window(bus, node, owner) else owner.view
    if node.box is None:
        return True
    if node.view is not None:
        if toolkit == "gtk" and _has_lost_place(node):
            node.box = node.view
        left, top, right, bottom = node.view
        node.box = (
            max(left, node.box[0]),
            max(top, node.box[1]),
            min(right, node.box[2]),
            min(bottom, node.box[3]),
        )
    if node.box[0] >= node.box[2] or node.box[1] >= node.box[3]:
        return False
    if _clips_parts(node, toolkit):
        node.view = node.box
    return True


def _has_lost_place(node: Node) -> bool:
    """Whether it shows, and is too large for X to tell where, as a list of 10,000 rows."""
    left, top, right, bottom = node.box or (0, 0, 0, 0)
    large = max(right - left, bottom - top) >= X_PLACES // 2
    return large and node.shown and not (node.view and node.box and overlap(node.view, node.box))


def _clips_parts(node: Node, toolkit: str) -> bool:
    """Whether its box ends what is seen of its parts.

    LibreOffice's scroll panes do not: some of what is in them is told in other coordinates.
    """
    if toolkit == "Qt":
        return node.role not in _PASSING
    return node.role == ("scroll pane" if toolkit == gtk4.TOOLKIT else "viewport")


def _is_window(bus: Bus, node: Node, owner: Node) -> bool:
    if gtk4.is_gtk4(bus, node.name_on_bus):
        return gtk4.pops_up(node)
    return node.role in _QT_MENUS or (node.role == "list" and owner.role == "combo box")
