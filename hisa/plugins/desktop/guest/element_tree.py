"""Reads the showing part of every application's accessibility tree, with texts and labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import gtk2, gtk4
from .box_repair import straighten_boxes
from .bus import Bus, Limit
from .cells import Cells
from .covered_controls import mark_covered
from .dbus import Call, arguments
from .icon_view import scroll_icons
from .node import BoundingBox, Node, flatten
from .role_numbers import LABELLED_BY
from .scale import to_pixels
from .tree_walk import NULL, top_windows, walk
from .x_screen import Frame, TopWindow

__all__ = ["read_tree"]

_A11Y = "org.a11y.atspi"
_MAX_TEXT = 200  # chosen by hand
_TERMINAL_TEXT = 2000
"""Characters from the end of a terminal's text, where the showing part is: 24 rows of 80."""
_PROPERTIES = "org.freedesktop.DBus.Properties"
_COUNT_OF_CHARACTERS = arguments("ss", f"{_A11Y}.Text", "CharacterCount")
_NAME = arguments("ss", f"{_A11Y}.Accessible", "Name")
_FIRST = arguments("i", 0)
_OBJ = "\ufffc"
"""The character that stands for an object inside a text."""
_SILENT = frozenset({"push button", "label", "menu item", "menu", "tool bar", "scroll bar"})
"""Roles whose text only repeats their name."""
_DOCUMENTS = ("document web", "document frame", "document text")
_VALUED = frozenset({"slider", "dial", "spin button", "progress bar", "level bar", "scroll bar"})
"""Roles that show a number; a check mark or the border between two panes may have one too."""
_VALUE_KEYS = tuple(arguments("ss", f"{_A11Y}.Value", key) for key in ("Text", "CurrentValue"))
_LABELLED_NAMES = """text|entry|password text|combo box|spin button|check box|radio button|
toggle button|slider|list box|list|table|tree table"""
_LABELLED = frozenset(_LABELLED_NAMES.replace("\n", "").split("|"))
"""Roles that may have a label beside them."""


def read_tree(
    bus: Bus,
    cells: Cells,
    frame: Frame,
    shown: list[TopWindow],
    most: int,
    limit: Limit,
    *,
    popups: Callable[[], list[BoundingBox]],
) -> list[Node]:
    """Returns the showing top-level windows with everything that shows in them.

    The window in front and its dialogs are read first and the cells of tables last, so that what
    matters most is there if time runs out, which sets ``limit.ran_out``.

    Args:
        bus: the accessibility bus.
        cells: reads the cells of tables, and keeps those that did not change.
        frame: the present screen.
        shown: the windows on it.
        most: most cells that are read.
        limit: ends the reading.
        popups: returns the boxes of the windows without a frame.
    """
    windows = top_windows(bus, limit)
    front = [window for window in windows if window.states & {"active", "modal"}]
    apps = {window.name_on_bus for window in front}
    first = [window for window in windows if window.name_on_bus in apps]
    rest = [window for window in windows if window.name_on_bus not in apps]
    for group in (first, rest):
        _read(bus, group, (0, 0, frame.width, frame.height), limit)
    gtk2.keep_open(bus, windows, popups)
    gtk4.place(bus, windows, shown, popups)
    lost = to_pixels(windows, shown)
    for window in windows:
        straighten_boxes(window)
    mark_covered(bus, windows, frame, limit)
    for group in (first, rest):
        cells.fill(bus, [node for window in group for node in flatten(window)], frame, most, limit)
    limit.ran_out |= lost or _lacks_page(bus, windows)
    return windows


def _lacks_page(bus: Bus, windows: list[Node]) -> bool:
    """Whether a browser reports its tabs and no dialog, but no page yet.

    Chromium takes seconds to report a page of 10,000 rows for the first time.
    """
    browser_windows = [node for node in windows if bus.toolkits.get(node.name_on_bus) == "Chromium"]
    roles = {node.role for window in browser_windows for node in flatten(window) if node.box}
    return "page tab" in roles and roles.isdisjoint({"alert", "dialog", *_DOCUMENTS})


def _read(bus: Bus, windows: list[Node], screen: BoundingBox, limit: Limit) -> None:
    walk(bus, windows, screen, limit)
    nodes = [node for window in windows for node in flatten(window)]
    scroll_icons(bus, nodes, limit)
    placed = [node for node in nodes if "Component" in node.interfaces]
    texts = [node for node in placed if "Text" in node.interfaces and node.role not in _SILENT]
    _fill_texts(bus, texts, limit)
    for node in texts:
        _fill_lines(node)
    _fill_values(bus, nodes, limit)
    _fill_numbers(bus, nodes, limit)
    _fill_chosen(bus, [node for node in texts if node.role == "combo box"], limit)
    _fill_labels(bus, [node for node in placed if node.role in _LABELLED], limit)
    _drop_unseen_menu_bars(nodes)


def _fill_texts(bus: Bus, nodes: list[Node], limit: Limit) -> None:
    """Fill in the first characters of texts.

    Counts them first: some toolkits return nothing if there are fewer than asked for.
    """
    counts = [
        Call(node.name_on_bus, node.path, _PROPERTIES, "Get", _COUNT_OF_CHARACTERS)
        for node in nodes
    ]
    answers = bus.gather(counts, limit)
    filled = [(node, a[0]) for node, a in zip(nodes, answers, strict=True) if a and a[0] > 0]
    calls = [node.call("Text", "GetText", arguments("ii", *_part(node, n))) for node, n in filled]
    for (node, _), answer in zip(filled, bus.gather(calls, limit), strict=True):
        node.text = str(answer[0]) if answer else ""


def _part(node: Node, count: int) -> tuple[int, int]:
    """Returns the range of characters to read: the first ones, or the last of a terminal."""
    return (
        (max(0, count - _TERMINAL_TEXT), count)
        if node.role == "terminal"
        else (0, min(count, _MAX_TEXT))
    )


def _fill_values(bus: Bus, nodes: list[Node], limit: Limit) -> None:
    """Fill in the values of a page's fields without a text, such as sliders, dates and times.

    The parts of a date are separate fields; their values are joined as the text of the whole.
    """
    web = {"Value", "Hypertext"}
    bare = [node for node in nodes if web <= node.interfaces and not node.text.strip(_OBJ)]
    calls = [node.call("Accessible", "GetAttributes") for node in bare]
    shown: dict[int, str] = {}
    for node, answer in zip(bare, bus.gather(calls, limit), strict=True):
        attributes = dict(answer[0]) if answer else {}
        value, empty = str(attributes.get("valuetext", "")), str(attributes.get("placeholder", ""))
        # An empty part of a date reports "0", with only one digit.
        node.text = "" if empty and value == "0" else value[:_MAX_TEXT]
        shown[id(node)] = node.text or empty
    for editor in (node for node in nodes if node.role == "date editor"):
        leaves = [
            node for node in flatten(editor) if not node.children and node.role != "push button"
        ]
        if any(node.text for node in leaves if id(node) in shown):
            editor.text = "".join(shown.get(id(node), node.text) for node in leaves)
        for node in leaves:
            node.text = "" if id(node) in shown else node.text


def _fill_numbers(bus: Bus, nodes: list[Node], limit: Limit) -> None:
    """Fill in the values of controls without a text outside pages."""
    shown = [
        node
        for node in nodes
        if "Value" in node.interfaces and "Hypertext" not in node.interfaces
        if node.role in _VALUED and not node.text
    ]
    calls = [
        Call(node.name_on_bus, node.path, _PROPERTIES, "Get", key)
        for node in shown
        for key in _VALUE_KEYS
    ]
    answers = iter(bus.gather(calls, limit))
    for node, words, number in zip(shown, answers, answers, strict=True):
        value = round(float(number[0]), 4) if number else None
        text = (words and str(words[0])) or ("" if value is None else f"{value:.15g}")
        node.text = text[:_MAX_TEXT] if "indeterminate" not in node.states else ""


def _fill_lines(node: Node) -> None:
    """Fill in the text of a page's editor from its lines, which are separate objects in it."""
    lines = [child for child in node.children if "editable" in child.states]
    if {"editable", "multi-line"} <= node.states and lines and len(lines) == len(node.children):
        text = "\n".join(line.text.replace(_OBJ, "").rstrip("\n") for line in lines)
        if len(text) > len(node.text.replace(_OBJ, "")):
            node.text = text[:_MAX_TEXT]


def _fill_chosen(bus: Bus, nodes: list[Node], limit: Limit) -> None:
    """Fill in the chosen entry of a page's list, from the menu that is its only child.

    The lists of other toolkits report it themselves, by their name or text.
    """
    web = [
        node
        for node in nodes
        if "Hypertext" in node.interfaces and node.children_count == 1 and not node.text.strip(_OBJ)
    ]
    held = bus.gather([node.call("Accessible", "GetChildren") for node in web], limit)
    menus = _pair_references(web, [answer[0][:1] if answer else [] for answer in held])
    calls = [
        Call(name, path, f"{_A11Y}.Selection", "GetSelectedChild", _FIRST)
        for _, name, path in menus
    ]
    answers = bus.gather(calls, limit)
    chosen = _pair_references([node for node, *_ in menus], [answer or [] for answer in answers])
    names = [Call(name, path, _PROPERTIES, "Get", _NAME) for _, name, path in chosen]
    for (node, *_), answer in zip(chosen, bus.gather(names, limit), strict=True):
        node.text = str(answer[0]).strip()[:_MAX_TEXT] if answer else node.text


def _pair_references(nodes: list[Node], references: list[Any]) -> list[tuple[Node, str, str]]:
    """Pair each node with the name and path of each reference for it."""
    pairs = zip(nodes, references, strict=True)
    return [(node, name, path) for node, refs in pairs for name, path in refs if path != NULL]


def _fill_labels(bus: Bus, nodes: list[Node], limit: Limit) -> None:
    relation_calls = [node.call("Accessible", "GetRelationSet") for node in nodes]
    owners: list[Node] = []
    calls: list[Call] = []
    for node, answer in zip(nodes, bus.gather(relation_calls, limit), strict=True):
        relations = answer[0] if answer else []
        for kind, targets in relations:
            if kind == LABELLED_BY and targets:
                owners.append(node)
                name, path = targets[0]
                calls.append(Call(name, path, _PROPERTIES, "Get", _NAME))
    for node, answer in zip(owners, bus.gather(calls, limit), strict=True):
        node.label = str(answer[0]).strip() if answer else ""


def _drop_unseen_menu_bars(nodes: list[Node]) -> None:
    """Drop menu bars without a box: on the screen, another one has replaced the toolkit's own."""
    for node in nodes:
        node.children = [
            child for child in node.children if child.role != "menu bar" or child.box is not None
        ]
