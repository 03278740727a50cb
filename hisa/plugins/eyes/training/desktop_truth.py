"""Describes a desktop as training screens have it: HiSA's elements, as far as they can be seen."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hisa.plugins.eyes.training.training_screens import Row, drop_blank
from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Element, Observation, Window

__all__ = ["LISTS", "STACK", "Stack", "describe_screen"]

LISTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("programs.toml").read_text("utf-8"))
_ROWS = ("list item", "table cell")
_CONTROLS = ("button", "icon", "combo box", "field", "check box", "radio", "switch", "slider")
"""Roles whose parts are no things of their own."""
_PICTURES = {"layered pane": "list item", "list": "list item", "text": "icon"}
"""What a picture is by the role of the element that holds it; in others it is an image."""
_LEAST_SIDE, _LEAST_VISIBLE = 5, 0.6
"""Pixels; share of a box."""
_SAME = 0.75
"""Of the overlap of two boxes of one window or list: intersection over union at least."""
_LETTER = 0.5
"""The width of a letter in heights of its font."""
STACK = """
import json
from Xlib import X, display
root = display.Display().screen().root
def list_shown(window):
    rows = [(child, child.get_attributes()) for child in window.query_tree().children]
    return [c for c, a in rows if a.map_state == X.IsViewable and a.win_class == X.InputOutput]
def box(window):
    shape, place = window.get_geometry(), root.translate_coords(window, 0, 0)
    return [place.x, place.y, place.x + shape.width, place.y + shape.height]
print(json.dumps([[box(top), [top.id] + [part.id for part in list_shown(top)],
    [[part.id, box(inner)] for part in list_shown(top) for inner in list_shown(part)]]
    for top in list_shown(root)]))
"""
"""Prints the windows on the screen from the lowest to the highest: box, numbers, parts of parts."""

Stack = list[list[Any]]
Pixels = np.ndarray[Any, np.dtype[Any]]


class _Node(NamedTuple):
    """An element, the numbers of those that hold it from the nearest on, and boxes of its like."""

    element: Element
    around: list[int]
    holders: list[Element]
    twins: list[BoundingBox]


def describe_screen(observation: Observation, stack: Stack, font_pixels: float) -> list[Row]:
    """Return what can be seen, as lines of screens.jsonl have it, from the lowest to the highest.

    Nothing if the place of a window is not the one that its program reports.

    Args:
        observation: a complete look at its full size, with elements.
        stack: the windows from the lowest to the highest, as `STACK` prints them.
        font_pixels: the height of the programs' font.
    """
    elements = observation.elements or ()
    owners = _paint_owners(stack, observation.screen)
    clients = {int(window.id, 16): window.title for window in observation.windows}
    unknown = {top for top, (_, ids, _) in enumerate(stack) if not clients.keys().isdisjoint(ids)}
    rows: dict[int, Row] = {}
    for number, element in enumerate(elements):
        node = _make_node(number, elements)
        role, top = _choose_role(node, font_pixels), _find_window(node, clients, stack)
        unknown.discard(top)
        if not role or top < 0:
            continue
        edges = stack[top][0] if role == "dialog" else _drawn_edges(node, role)
        box = _clip_box(edges, owners == top)
        if box and not _is_part(node, role, rows):
            states = _choose_states(element, role, observation.active)
            rows[number] = {"role": role, "box": box, "states": states, "name": element.name}
    if not unknown.isdisjoint(np.unique(owners).tolist()):
        return []
    everything = [*rows.values(), *_list_title_buttons(stack, owners, clients)]
    return drop_blank(everything, observation.screenshot.pixels)


def _make_node(number: int, elements: Sequence[Element]) -> _Node:
    element, around = elements[number], list[int]()
    at = element.parent
    while at is not None and at >= 0:
        around.append(at)
        at = elements[at].parent
    like = [e for e in elements if (e.parent, e.role) == (element.parent, element.role)]
    return _Node(element, around, [elements[at] for at in around], [e.box for e in like])


def _choose_role(node: _Node, font_pixels: float) -> str:
    """Return what an element is to the eye; empty: no control, or not known to be one."""
    element, holder = node.element, node.holders[0].role if node.holders else ""
    role, box = str(LISTS["roles"].get(element.role, "")), element.box
    is_square = box.width < 1.6 * box.height
    if role == "table cell":
        return _choose_cell_role(node)
    if element.role == "icon":
        return _PICTURES.get(holder, "image")
    if element.role == "text":
        return role if "editable" in element.states else ""
    if element.role == "menu":
        return role if holder in ("menu", "menu bar") else ""
    if role == "dialog":
        return "" if holder else role
    if element.role == "toggle button" and not element.name and not is_square:
        return "switch" if box.width < 2.6 * box.height else "combo box"
    if element.role == "radio button" and _touches_twin(node):
        return "tab"
    is_on_bar = any(holder.role == "tool bar" for holder in node.holders[:2])
    if role in ("check box", "radio") and not is_on_bar:
        return role if box.height < 2.5 * font_pixels and (element.name or is_square) else ""
    if role in ("button", "check box", "radio"):
        is_bare = (is_on_bar and is_square) or not _shows_name(element, font_pixels)
        return "icon" if is_bare else "button"
    return role


def _shows_name(element: Element, font_pixels: float) -> bool:
    """Whether a button is wide enough for its name; if not, it shows a picture."""
    letters = len(element.name or element.text)
    if not letters:
        return element.box.width > 3 * element.box.height
    margin = 1.5 * font_pixels if element.box.width < 1.6 * element.box.height else 0
    return _LETTER * font_pixels * letters + margin <= element.box.width


def _touches_twin(node: _Node) -> bool:
    """Whether a radio button is in a row without gaps, which switches between pages."""
    box = node.element.box
    return any(
        t.top == box.top and (t.left == box.right or t.right == box.left) for t in node.twins
    )


def _choose_cell_role(node: _Node) -> str:
    """Return the role of a cell by its states and those beside it."""
    element, box = node.element, node.element.box
    if not element.name:
        return "check box" if element.states & {"checked", "checkable"} else ""
    in_row = sum(abs(twin.centre.y - box.centre.y) < 2 for twin in node.twins)
    return "table cell" if in_row > 1 else "list item"


def _drawn_edges(node: _Node, role: str) -> Sequence[float]:
    """Return the sides of an element, corrected where its toolkit reports too little or much."""
    element, box = node.element, node.element.box
    if element.role == "page tab" and "multi-line" in element.states:  # GTK reports its label
        row = [twin for twin in node.twins if twin.top < box.bottom]
        gaps = [max(twin.left - box.right, box.left - twin.right) for twin in row]
        across = min([gap / 2 for gap in gaps if 0 <= gap <= 32], default=8)
        return box.left - across, box.top - 4, box.right + across, box.bottom + 4
    if role == "check box" and element.role == "table cell":  # drawn in the middle of its cell
        side, centre = min(box.width, box.height) / 2, box.centre
        return centre.x - side, centre.y - side, centre.x + side, centre.y + side
    return box.left, box.top, box.right, box.bottom


def _find_window(node: _Node, clients: Mapping[int, str], stack: Stack) -> int:
    """Return the place in the stack of the window in which an element is drawn; -1: unknown."""
    chain = [node.element, *node.holders]
    opens = node.element.role == "menu" and chain[1].role == "menu"
    is_known = chain[-1].window in clients.values()
    for top, (edges, ids, _) in reversed([*enumerate(stack)]):
        left, upper, right, lower = edges
        place = BoundingBox(left, upper, right, lower, "screen")
        titles = [clients[client] for client in ids if client in clients]
        fits = titles and (chain[-1].window in titles or not is_known)
        if fits and _share(place, chain[-1].box) > _SAME:
            return top
        if not titles and place.contains(node.element.box.centre):
            if opens or node.element.role.endswith("menu item"):
                return top
            if any(_share(place, element.box) > _SAME for element in chain):
                return top
    return -1


def _share(box: BoundingBox, other: BoundingBox) -> float:
    """Return the intersection of two boxes over their union."""
    common = box.intersection(other)
    return common.area / (box.area + other.area - common.area) if common else 0


def _paint_owners(stack: Stack, screen: Size) -> Pixels:
    """Return for every pixel the place in the stack of the window on top; -1: none."""
    owners = np.full((screen.height, screen.width), -1)
    for top, (edges, _, _) in enumerate(stack):
        left, upper, right, lower = (max(0, edge) for edge in edges)
        owners[upper:lower, left:right] = top
    return owners


def _clip_box(edges: Sequence[float], own: Pixels) -> list[int] | None:
    """Return the part of a box that can be seen; None: too little."""
    left, top, right, bottom = (max(0, round(edge)) for edge in edges)
    inside = own[top:bottom, left:right]
    if not inside.size:
        return None
    columns, lines = (np.flatnonzero(inside.mean(axis) > 0.5).tolist() for axis in (0, 1))
    area = (edges[2] - edges[0]) * (edges[3] - edges[1])
    too_small = min(len(columns), len(lines)) < _LEAST_SIDE
    if too_small or len(columns) * len(lines) < _LEAST_VISIBLE * area:
        return None
    return [left + columns[0], top + lines[0], left + columns[-1] + 1, top + lines[-1] + 1]


def _is_part(node: _Node, role: str, rows: dict[int, Row]) -> bool:
    """Whether an element belongs to a control; the icons in fields are things of their own."""
    holders = [rows[at]["role"] for at in node.around if at in rows]
    holder = next((name for name in holders if name in _CONTROLS), "")
    return bool(holder) and (holder, role) != ("field", "icon")


def _choose_states(element: Element, role: str, active: Window | None) -> list[str]:
    """Return the states of an element that can be seen."""
    states, is_active = element.states, active is not None and active.title == element.window
    shown = {
        "checked": role not in (*_ROWS, "field", "combo box") and states & {"checked", "pressed"},
        "selected": role in ("tab", "menu item", *_ROWS) and "selected" in states,
        "disabled": role in (*_CONTROLS, "menu item") and not states & {"enabled", "sensitive"},
        "focused": role in ("field", "combo box") and "focused" in states and is_active,
        "expanded": role in (*_ROWS, "combo box") and {"expandable", "expanded"} <= states,
    }
    return [state for state, holds in shown.items() if holds]


def _list_title_buttons(stack: Stack, owners: Pixels, clients: Mapping[int, str]) -> list[Row]:
    """Return the window manager's buttons: nearly square parts of frames."""
    rows = list[Row]()
    for top, (_, _, parts) in enumerate(stack):
        for owner, edges in parts:
            width, height = edges[2] - edges[0], edges[3] - edges[1]
            is_small = 8 <= height <= 40 and 0.6 < width / height < 1.7
            box = _clip_box(edges, owners == top)
            if owner not in clients and is_small and box:
                rows.append({"role": "icon", "box": box, "states": [], "name": ""})
    return rows
