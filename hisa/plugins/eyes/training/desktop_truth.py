"""Describes a desktop as training screens have it: HiSA's elements, as far as they can be seen."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import ImageFont

from hisa.screen.geometry import BoundingBox, Size, grow_box
from hisa.screen.observation import Element, Observation

__all__ = ["LISTS", "ROWS", "STACK", "Row", "Stack", "describe_screen"]

LISTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("programs.toml").read_text("utf-8"))
_LEAST_SIDE, _LEAST_CONTRAST, _LEAST_VISIBLE = 5, 8, 0.6
"""Pixels; grey levels, fewer than a disabled icon of a dark theme has; share of a box."""
_NARROW = 0.85
"""The width of a narrow font in relation to DejaVu Sans."""
ROWS = ("list item", "table cell")
_CONTROLS = ("button", "icon", "combo box", "field", "check box", "radio", "switch", "slider")
"""Roles whose parts are no things of their own."""
_PICTURES = {"layered pane": "list item", "list": "list item", "text": "icon"}
"""What a picture is by the role of the element that holds it; in others it is an image."""
_SAME_WINDOW = 0.65
"""The least overlap of a window with its frame and without, as intersection over union."""
_TALLEST = 6
"""The height of the tallest button, in heights of the font; a key over two rows has five."""
_SHADOW = 8
"""Pixels of the shadow around GTK's bubbles, without their arrow."""
_CHECKED = ("check box", "radio", "switch", "menu item", "button", "icon")
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

Row = dict[str, Any]
Stack = list[list[Any]]
Pixels = np.ndarray[Any, np.dtype[Any]]


def describe_screen(observation: Observation, stack: Stack, font_pixels: float) -> list[Row]:
    """Return what can be seen, as lines of screens.jsonl have it, from the lowest to the highest.

    Nothing if the place of a window is not the one that its program reports.

    Args:
        observation: a complete look at its full size, with elements.
        stack: the windows from the lowest to the highest, as `STACK` prints them.
        font_pixels: the height of the programs' font.
    """
    elements = observation.elements or ()
    grey = np.asarray(observation.screenshot.pixels.convert("L")).astype(int)
    bubbles = [grow_box(element.box, -_SHADOW) for element in elements if _is_bubble(element)]
    stack = [*stack, *([_edges(box), [], []] for box in bubbles)]
    owners = _paint_owners(stack, observation.screen)
    rows: dict[int, Row] = {}
    clients = {int(window.id, 16) for window in observation.windows}
    unknown = {n for n, (_, ids, _) in enumerate(stack, 1) if not clients.isdisjoint(ids)}
    for number, element in enumerate(elements):
        role = _choose_role(number, elements, font_pixels)
        top = _find_window(number, observation, stack)
        unknown.discard(top + 1)
        if not role or top < 0:
            continue
        edges = stack[top][0] if role == "dialog" else _drawn_edges(element, elements, role)
        box = _clip_box(edges, owners == top + 1, grey, 0 if role in (*ROWS, "scroll bar") else 2)
        if box is not None and not _is_part(number, role, box, elements, rows):
            states = _choose_states(element, role, observation)
            rows[number] = {"role": role, "box": box, "states": states, "name": element.name}
    if not unknown.isdisjoint(np.unique(owners).tolist()):
        return []
    for top, (_, _, parts) in enumerate(stack):  # buttons of the window manager
        for owner, edges in parts:
            width, height = edges[2] - edges[0], edges[3] - edges[1]
            if owner not in clients and 8 <= height <= 40 and 0.6 < width / height < 1.7:
                box = _clip_box(edges, owners == top + 1, grey, 0)
                row = {"role": "icon", "box": box, "states": [], "name": ""}
                rows |= {-1 - len(rows): row} if box else {}
    return list(rows.values())


def _choose_role(number: int, elements: Sequence[Element], font_pixels: float) -> str:
    """Return what an element is to the eye; empty: no control, or not known to be one."""
    element, (holder, further) = elements[number], _holders(number, elements)
    role, box = str(LISTS["roles"].get(element.role, "")), element.box
    is_square, on_bar = box.width < 1.6 * box.height, "tool bar" in (holder, further)
    if role == "table cell":
        return _choose_cell_role(element, elements)
    if element.role == "icon":
        return _PICTURES.get(holder, "image")
    if element.role == "text":
        return role if "editable" in element.states else ""
    if element.role == "menu":
        return role if holder in ("menu", "menu bar") else ""
    if role == "dialog":
        return "" if holder else role
    if role in ("button", "check box", "radio") and _is_bubble_entry(number, elements):
        return "menu item"
    if role == "button" and box.height > _TALLEST * font_pixels:
        return ""  # an expander with what it shows
    if element.role == "toggle button" and not element.name and not is_square:
        return "switch" if box.width < 2.6 * box.height else "combo box"
    if element.role == "radio button" and _touches_twin(element, elements):
        return "tab"
    if role in ("check box", "radio") and not on_bar and not (element.name and is_square):
        holds_more = box.height > 2.5 * font_pixels or not (element.name or is_square)
        return "" if holds_more else role
    if role in ("button", "check box", "radio"):
        is_icon = (on_bar and is_square) or not _shows_name(element, font_pixels)
        return "icon" if is_icon else "button"
    return role


def _ancestors(number: int, elements: Sequence[Element]) -> list[int]:
    """Return the numbers of the elements that hold an element, the nearest first."""
    chain: list[int] = []
    at = elements[number].parent
    while at is not None and at >= 0:
        chain.append(at)
        at = elements[at].parent
    return chain


def _holders(number: int, elements: Sequence[Element]) -> list[str]:
    """Return the roles of the element that holds another, and of what holds that; "" for none."""
    return [*(elements[at].role for at in _ancestors(number, elements)[:2]), "", ""][:2]


def _is_bubble(element: Element) -> bool:
    """Whether GTK draws an element as a bubble above the rest of its window, with a shadow."""
    return element.role == "panel" and "modal" in element.states


def _is_bubble_entry(number: int, elements: Sequence[Element]) -> bool:
    """Whether a button is as wide as the column in which it is, in a bubble."""
    box, chain = elements[number].box, _ancestors(number, elements)
    if not any(_is_bubble(elements[at]) for at in chain):
        return False
    column = elements[chain[0]]
    same = (column.box.left, column.box.right) == (box.left, box.right)
    return same and "vertical" in column.states


def _shows_name(element: Element, font_pixels: float) -> bool:
    """Whether a button is wide enough for its name; if not, it shows a picture."""
    margin = 1.5 * font_pixels if element.box.width < 1.6 * element.box.height else 0
    font = ImageFont.truetype("DejaVuSans.ttf", font_pixels)
    if text := element.name or element.text:
        return _NARROW * font.getlength(text) + margin <= element.box.width
    return element.box.width > 3 * element.box.height


def _touches_twin(element: Element, elements: Sequence[Element]) -> bool:
    """Whether a radio button is in a row without gaps, which switches between pages."""
    box = element.box
    twins = [e.box for e in elements if e.role == element.role and e.parent == element.parent]
    return any(t.top == box.top and (t.left == box.right or t.right == box.left) for t in twins)


def _choose_cell_role(element: Element, elements: Sequence[Element]) -> str:
    """Return the role of a cell by those beside, above and below it."""
    if not element.name and not element.states & {"selectable", "checked", "checkable"}:
        return ""  # holds rows
    box = element.box
    twins = [e for e in elements if e.parent == element.parent and e.role == element.role]
    column = [e for e in twins if (e.box.left, e.box.right) == (box.left, box.right)]
    if not element.name and any("checked" in e.states for e in column):
        return "check box"
    if not element.name and box.width < 0.7 * box.height:
        return ""  # a column for a sign that no row shows
    in_row = sum(abs(e.box.centre.y - box.centre.y) < 2 for e in twins)
    return "table cell" if in_row > 1 else "list item"


def _drawn_edges(element: Element, elements: Sequence[Element], role: str) -> Sequence[float]:
    """Return the sides of an element, corrected where its toolkit reports too little or much."""
    box = element.box
    if element.role == "page tab" and "multi-line" in element.states:  # GTK reports its label
        twins = [e.box for e in elements if e.role == "page tab" and e.parent == element.parent]
        gaps = [max(t.left - box.right, box.left - t.right) for t in twins if t.top < box.bottom]
        across = min([gap / 2 for gap in gaps if gap >= 0] or [8], default=8)
        return box.left - min(across, 16), box.top - 4, box.right + min(across, 16), box.bottom + 4
    if role == "check box" and element.role == "table cell":  # drawn in the middle of its cell
        side, centre = min(box.width, box.height) / 2, box.centre
        return centre.x - side, centre.y - side, centre.x + side, centre.y + side
    return _edges(box)


def _edges(box: BoundingBox) -> list[int]:
    return [round(edge) for edge in (box.left, box.top, box.right, box.bottom)]


def _make_box(edges: Sequence[float]) -> BoundingBox:
    left, top, right, bottom = edges
    return BoundingBox(left, top, right, bottom, "screen")


def _find_window(number: int, observation: Observation, stack: Stack) -> int:
    """Return the place in the stack of the window in which an element is drawn; -1: unknown."""
    elements = observation.elements or ()
    chain = [number, *_ancestors(number, elements)]
    element, root = elements[number], elements[chain[-1]]
    opened = element.role == "menu" and _holders(number, elements)[0] == "menu"
    popped = opened or element.role.endswith("menu item")
    clients = {int(window.id, 16): window.title for window in observation.windows}
    fits = []
    for top, (edges, ids, _) in reversed(list(enumerate(stack))):
        place = _make_box(edges)
        titles = [clients[client] for client in ids if client in clients]
        if titles and (root.window in titles or root.window not in clients.values()):
            if (share := _share(place, root.box)) > _SAME_WINDOW:
                fits.append((share, top))
        elif not titles and place.contains(element.box.centre):
            inside = [elements[at].box for at in chain[:-1] or chain]
            if popped or any(_share(box, place) > 0.6 for box in inside):
                return top
    return max(fits, default=(0, -1))[1]


def _share(box: BoundingBox, other: BoundingBox) -> float:
    """Return the intersection of two boxes over their union."""
    common = box.intersection(other)
    return common.area / (box.area + other.area - common.area) if common else 0


def _paint_owners(stack: Stack, screen: Size) -> Pixels:
    """Return for every pixel the number of the window on top, from 1; 0: the background."""
    owners = np.zeros((screen.height, screen.width), np.int16)
    for number, (edges, _, _) in enumerate(stack, 1):
        left, top, right, bottom = (max(0, edge) for edge in edges)
        owners[top:bottom, left:right] = number
    return owners


def _clip_box(edges: Sequence[float], own: Pixels, grey: Pixels, around: int) -> list[int] | None:
    """Return the part of a box that can be seen; None: too little, or it shows nothing."""
    left, top, right, bottom = (max(0, round(edge)) for edge in edges)
    inside = own[top:bottom, left:right]
    if not inside.size:
        return None
    lines = [np.flatnonzero(inside.mean(axis) > 0.5) for axis in (0, 1)]
    runs = [np.split(line, np.flatnonzero(np.diff(line) > 1) + 1) for line in lines]
    across, down = (max(run, key=len) for run in runs)
    area = (edges[2] - edges[0]) * (edges[3] - edges[1])
    too_small = min(across.size, down.size) < _LEAST_SIDE
    if too_small or across.size * down.size < _LEAST_VISIBLE * area:
        return None
    left, right = left + int(across[0]), left + int(across[-1]) + 1
    top, bottom = top + int(down[0]), top + int(down[-1]) + 1
    rows = grey[max(0, top - around) : bottom + around]
    contrast = np.ptp(rows[:, max(0, left - around) : right + around])
    return [left, top, right, bottom] if contrast >= _LEAST_CONTRAST else None


def _is_part(
    number: int, role: str, box: list[int], elements: Sequence[Element], rows: dict[int, Row]
) -> bool:
    """Whether a box belongs to another thing; a row that is one control gives way to it."""
    own = _make_box(box)
    for at in _ancestors(number, elements):
        if at not in rows or rows[at]["role"] not in (*_CONTROLS, *ROWS):
            continue
        holder = _make_box(rows[at]["box"])
        common = own.intersection(holder)
        inside = common is not None and common.area > 0.9 * own.area
        if rows[at]["role"] in _CONTROLS:
            return inside and (rows[at]["role"], role) != ("field", "icon")
        if inside and own.area > 0.8 * holder.area:
            if role not in _CONTROLS:
                return True
            del rows[at]
    return False


def _choose_states(element: Element, role: str, observation: Observation) -> list[str]:
    """Return the states of an element that can be seen."""
    states = element.states
    active = observation.active is not None and observation.active.title == element.window
    shown = {
        "checked": role in _CHECKED and bool(states & {"checked", "pressed"}),
        "selected": role in ("tab", "menu item", *ROWS) and "selected" in states,
        "disabled": role in (*_CONTROLS, "menu item") and not states & {"enabled", "sensitive"},
        "focused": role in ("field", "combo box") and "focused" in states and active,
        "expanded": role in (*ROWS, "combo box") and {"expandable", "expanded"} <= states,
    }
    return [state for state, holds in shown.items() if holds]
