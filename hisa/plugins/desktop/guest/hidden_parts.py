"""Leaves out elements that are scrolled out of view, and clips the boxes of partly hidden ones.

Toolkits report an element as showing although it is scrolled out of its pane; a click there would
meet whatever is beside the pane.
"""

from __future__ import annotations

from . import gtk4
from .bus import Bus
from .node import X_PLACES, Node, overlap

__all__ = ["shows_through"]

_PASSING = frozenset({"combo box", "menu bar", "menu item"})
"""Roles that clip nothing in Qt: menus and lists of choices are their children. Every other widget
clips its children, and the parts of a scrolled one are reported as fillers."""
_QT_MENUS = frozenset({"menu", "popup menu", "tool tip"})


def shows_through(bus: Bus, node: Node, owner: Node) -> bool:
    """Whether any part of a node is visible inside its ancestors; clips its box to that part.

    A node that is a window of its own, such as a menu, is not clipped.

    Args:
        bus: the accessibility bus, which knows the toolkit.
        node: the node; its ``box`` and ``view`` are set.
        owner: its parent.
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
    """Whether a node shows but is too large for X's coordinates, as a list of 10,000 rows."""
    left, top, right, bottom = node.box or (0, 0, 0, 0)
    large = max(right - left, bottom - top) >= X_PLACES // 2
    return large and node.shown and not (node.view and node.box and overlap(node.view, node.box))


def _clips_parts(node: Node, toolkit: str) -> bool:
    """Whether a node's box clips its children.

    LibreOffice's scroll panes do not: some of their children are reported in other coordinates.
    """
    if toolkit == "Qt":
        return node.role not in _PASSING
    return node.role == ("scroll pane" if toolkit == gtk4.TOOLKIT else "viewport")


def _is_window(bus: Bus, node: Node, owner: Node) -> bool:
    if gtk4.is_gtk4(bus, node.name_on_bus):
        return gtk4.pops_up(node)
    return node.role in _QT_MENUS or (node.role == "list" and owner.role == "combo box")
