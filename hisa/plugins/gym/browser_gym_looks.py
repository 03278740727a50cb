"""Converts BrowserGym's published observation: screenshot, windows and elements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Element, Observation, Screenshot, Window
from hisa.screen.roles import FIELDS
from hisa.text.prompt_text import one_line

__all__ = ["read_look"]

_ROLES = {
    "button": "push button", "textbox": "text", "searchbox": "text", "checkbox": "check box",
    "radio": "radio button", "combobox": "combo box", "listbox": "list box", "option": "list item",
    "menuitem": "menu item", "menuitemcheckbox": "check menu item",
    "menuitemradio": "radio menu item", "tab": "page tab", "tablist": "page tab list",
    "tabpanel": "panel", "spinbutton": "spin button", "slider": "slider", "link": "link",
    "img": "image", "image": "image", "heading": "heading", "cell": "table cell",
    "gridcell": "table cell", "columnheader": "column header", "rowheader": "row header",
    "row": "table row", "table": "table", "grid": "table", "dialog": "dialog",
    "alertdialog": "dialog", "alert": "alert", "listitem": "list item", "treeitem": "tree item",
    "switch": "toggle button", "LabelText": "label", "paragraph": "paragraph", "canvas": "image",
    "Canvas": "image", "SvgRoot": "image", "Date": "date editor", "DateTime": "date editor",
    "InputTime": "date editor",
    "ColorWell": "push button", "Iframe": "internal frame", "progressbar": "progress bar",
}  # fmt: skip
"""Roles of a desktop's accessibility tree, by ARIA's roles and a few of Chromium's own."""
_STATES = {"focused": "focused", "checked": "checked", "selected": "selected"}
_STATES |= {"expanded": "expanded", "pressed": "pressed", "disabled": "disabled"}
_DEEP, _TEXT = 4, 120
"""A clickable element without a name is named by the texts inside it, down to this many levels and
up to this many characters."""
_SEEN = 0.5
"""Share of an element that must be visible; BrowserGym's own marks use the same."""


def read_look(observation: Mapping[str, Any], *, elements: bool, image_limit: Size) -> Observation:
    """Makes an observation from BrowserGym's.

    Args:
        observation: BrowserGym's observation, as `step` and `reset` of its environment return it.
        elements: whether to include the elements.
        image_limit: the largest screenshot that models see, in pixels.
    """
    pixels = observation["screenshot"]
    height, width = pixels.shape[:2]
    screen = Size(width, height)
    titles, active = (
        observation.get("open_pages_titles") or (),
        _number(observation.get("active_page_index")),
    )
    windows = tuple(
        Window(
            str(number),
            one_line(str(title)) or "page",
            "browser",
            BoundingBox(0, 0, width, height, "screen"),
            active=number == active,
        )
        for number, title in enumerate(titles)
    )
    title = next((window.title for window in windows if window.active), "")
    screenshot = Screenshot.from_rgb(screen, pixels.tobytes()).fit_to(image_limit)
    return Observation(
        screenshot=screenshot,
        screen=screen,
        windows=windows,
        elements=tuple(_elements(observation, screen, title)) if elements else None,
    )


def _number(value: Any) -> int:
    """Returns an index that comes as a number or as an array of one."""
    return int(value[0]) if hasattr(value, "__len__") and len(value) else int(value or 0)


def _elements(observation: Mapping[str, Any], screen: Size, window: str) -> Iterator[Element]:
    """Yields the elements that have a box on the screen, in the order of the page."""
    about = observation.get("extra_element_properties") or {}
    nodes = (observation.get("axtree_object") or {}).get("nodes") or ()
    by_id = {node.get("nodeId"): node for node in nodes}
    shown, taken = [], set[Any]()
    for node in _in_order(nodes, by_id):
        # The browser's own parts of a field have the field's id and box, and none of their own.
        bid = node.get("browsergym_id")
        known = (about.get(bid) if bid not in taken else None) or {}
        box = known.get("bbox")
        role = str((node.get("role") or {}).get("value") or "")
        if not box or known.get("visibility", 0) < _SEEN or node.get("ignored"):
            continue
        if role not in _ROLES and not known.get("clickable"):
            continue
        on_screen = _on_screen(box, screen)
        if on_screen is not None:
            taken.add(bid)
            shown.append((node.get("nodeId"), _element(node, known, on_screen, by_id, window)))
    yield from _in_front(shown, by_id)


def _in_front(
    shown: Sequence[tuple[Any, Element]], by_id: Mapping[Any, Mapping[str, Any]]
) -> Iterator[Element]:
    """Yields the elements whose centre no later element covers, as an open list of choices does."""
    above = {
        child: number for number, node in by_id.items() for child in node.get("childIds") or ()
    }

    def is_inside(number: Any, other: Any) -> bool:
        while number is not None and number != other:
            number = above.get(number)
        return bool(number == other)

    for at, (number, element) in enumerate(shown):
        middle = element.box.centre
        if not any(
            other.box.contains(middle) and not is_inside(later, number)
            for later, other in shown[at + 1 :]
        ):
            yield element


def _in_order(
    nodes: Sequence[Mapping[str, Any]], by_id: Mapping[Any, Mapping[str, Any]]
) -> Iterator[Mapping[str, Any]]:
    """Yields the nodes in reading order; BrowserGym lists the tree level by level."""
    visited: set[Any] = set()
    for root in nodes:
        waiting = [root]
        while waiting:
            node = waiting.pop()
            if node.get("nodeId") not in visited:
                visited.add(node.get("nodeId"))
                yield node
                children = (by_id.get(child) for child in node.get("childIds") or ())
                waiting += [child for child in children if child is not None][::-1]


def _on_screen(box: list[float], screen: Size) -> BoundingBox | None:
    left, top, width, height = (float(side) for side in box)
    sides = max(0.0, left), max(0.0, top), left + width, top + height
    right, bottom = min(sides[2], screen.width), min(sides[3], screen.height)
    if right - sides[0] < 1 or bottom - sides[1] < 1:
        return None
    return BoundingBox(sides[0], sides[1], right, bottom, "screen")


def _element(
    node: Mapping[str, Any],
    known: Mapping[str, Any],
    box: BoundingBox,
    by_id: Mapping[Any, Mapping[str, Any]],
    window: str,
) -> Element:
    value = (node.get("value") or {}).get("value")
    name = str((node.get("name") or {}).get("value") or "")
    role = str((node.get("role") or {}).get("value") or "")
    if not name and _ROLES.get(role) not in FIELDS:  # the text in a field is not its name
        name = _read_text(node, by_id)
        if not name and known.get("clickable"):
            name = " ".join(_read_texts(node, by_id, _DEEP))[:_TEXT]
    about = str((node.get("description") or {}).get("value") or "")
    return Element(
        _ROLES.get(role, "section"),
        one_line(name),
        box,
        text="" if value is None else str(value),
        states=_states(node, known),
        app="browser",
        window=window,
        description=one_line(about),
    )


def _states(node: Mapping[str, Any], known: Mapping[str, Any]) -> frozenset[str]:
    """Returns an element's states by the names of a desktop's accessibility tree."""
    properties = {
        entry.get("name"): (entry.get("value") or {}).get("value")
        for entry in node.get("properties") or ()
    }
    states = {"showing", "visible"}
    states |= {
        _STATES[name] for name, value in properties.items() if name in _STATES and _is_true(value)
    }
    more = {
        "enabled": "disabled" not in states,
        "editable": bool(properties.get("editable")) and not _is_true(properties.get("readonly")),
        "multi-line": _is_true(properties.get("multiline")),
        "clickable": bool(known.get("clickable")),
        "expandable": "expanded" in properties,
    }
    return frozenset(states | {name for name, holds in more.items() if holds})


def _read_text(node: Mapping[str, Any], by_id: Mapping[Any, Mapping[str, Any]]) -> str:
    """Returns the text directly inside: a clickable element often has no name of its own."""
    inside = (by_id.get(child) or {} for child in node.get("childIds") or ())
    texts = (
        str((child.get("name") or {}).get("value") or "")
        for child in inside
        if (child.get("role") or {}).get("value") == "StaticText"
    )
    return " ".join(text for text in texts if text.strip())


def _read_texts(
    node: Mapping[str, Any], by_id: Mapping[Any, Mapping[str, Any]], deep: int
) -> Iterator[str]:
    """Yields the texts of a node and of all inside it, ``deep`` levels down."""
    if text := _read_text(node, by_id):
        yield text
    for child in node.get("childIds") or () if deep else ():
        yield from _read_texts(by_id.get(child) or {}, by_id, deep - 1)


def _is_true(value: Any) -> bool:
    """Whether a property is set; Chromium gives a bool or a word."""
    return value is True or value in ("true", "mixed")
