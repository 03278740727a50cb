"""The showing part of every application's accessibility tree."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from gi.repository import GLib

from .bus import Bus, Call
from .cells import visible_children
from .node import Node
from .roles import LABELLED_BY, role_name, state_names

__all__ = ["read_tree"]

_A11Y = "org.a11y.atspi"
_ROOT = "/org/a11y/atspi/accessible/root"
_MAX_TEXT = 200
_PROPERTIES = "org.freedesktop.DBus.Properties"
_COUNT_OF_CHARACTERS = GLib.Variant("(ss)", (f"{_A11Y}.Text", "CharacterCount"))
_NULL = "/org/a11y/atspi/null"
_MAX_NODES, _MAX_CHILDREN, _MAX_DEPTH = 8000, 300, 30
_SILENT = frozenset({"push button", "label", "menu item", "menu", "tool bar", "scroll bar"})
"""Roles whose text only repeats their name."""
_LABELLED_NAMES = """text|entry|password text|combo box|spin button|check box|radio button|
toggle button|slider|list box|list|table|tree table"""
_LABELLED = frozenset(_LABELLED_NAMES.replace("\n", "").split("|"))
"""Roles that a text beside them may name."""


class _Clock:
    """What is left of a time limit."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self, most: float) -> float:
        return max(0.0, min(most, self._end - time.monotonic()))


def read_tree(bus: Bus, limit: int, seconds: float) -> list[Node]:
    """The showing top-level windows with everything that shows in them.

    Args:
        bus: the accessibility bus.
        limit: at most so many nodes are asked for more than their name.
        seconds: time limit; what is not known by then is left out.
    """
    clock = _Clock(seconds)
    apps = bus.applications(clock.left(1.0))
    with bus.listening():
        tables = bus.gather([_items_call(name) for name, _ in apps], clock.left(seconds / 2))
    names = bus.gather([_name_call(name) for name, _ in apps], clock.left(0.5))
    windows: list[Node] = []
    for (name, _), table, said in zip(apps, tables, names, strict=True):
        nodes = [_node(item) for item in table[0]] if table and table[0] else []
        found = _assemble(_complete(bus, name, nodes, clock))
        for window in found:
            _stamp(window, str(said[0]) if said else "", window.name)
        windows += found
    shown = [node for window in windows for node in flatten(window)][:limit]
    _fill(bus, shown, clock)
    _drop_unseen_menu_bars(shown)
    cells = visible_children(bus, shown, limit - len(shown), clock.left(seconds / 2))
    for owner, items in cells:
        owner.children += [_cell(owner, item) for item in items]
    for window in windows:
        _straighten(window)
    return windows


def flatten(node: Node) -> list[Node]:
    """A node and everything below it, in reading order."""
    found, stack = [], [node]
    while stack:
        top = stack.pop()
        found.append(top)
        stack += reversed(top.children)
    return found


def _items_call(name: str) -> Call:
    return (name, "/org/a11y/atspi/cache", f"{_A11Y}.Cache", "GetItems", None)


def _name_call(name: str) -> Call:
    arguments = GLib.Variant("(ss)", (f"{_A11Y}.Accessible", "Name"))
    return (name, _ROOT, _PROPERTIES, "Get", arguments)


def _node(item: Any) -> Node:
    (name, path), _, parent, index, count, interfaces, said, role, description, states = item
    return Node(
        name_on_bus=name,
        path=path,
        parent=parent[1],
        index=index,
        children_count=count,
        interfaces=frozenset(one.rpartition(".")[2] for one in interfaces),
        name=said.strip(),
        role=role_name(role),
        description=description,
        states=frozenset(state_names(states)),
    )


def _assemble(nodes: list[Node]) -> list[Node]:
    """Top-level nodes that show, each with what shows below it."""
    by_parent: dict[str, list[Node]] = {}
    for node in nodes:
        if node.path != _ROOT:  # Chromium lists its root, whose parent is of the same name
            by_parent.setdefault(node.parent, []).append(node)
    windows = [node for node in by_parent.get(_ROOT, []) if node.shown]
    stack, seen = list(windows), set()
    while stack:
        node = stack.pop()
        if node.path in seen:
            continue
        seen.add(node.path)
        below = [child for child in by_parent.get(node.path, []) if child.shown]
        node.children = sorted(below, key=lambda child: child.index)
        stack += node.children
    return windows


def _stamp(window: Node, app: str, title: str) -> None:
    for node in flatten(window):
        node.app, node.window = app, title


def _complete(bus: Bus, name: str, nodes: list[Node], clock: _Clock) -> list[Node]:
    """Ask for the children that a table lacks; without a table that is the whole tree."""
    known = {node.path: node for node in nodes}
    known.setdefault(_ROOT, _root_of(name))
    _count_children(bus, [node for node in nodes if node.shown and node.lazy], clock)
    asked: set[str] = set()
    for _ in range(_MAX_DEPTH):
        counts = Counter(node.parent for node in known.values())
        wanting = [
            node
            for node in known.values()
            if node.path not in asked
            and (node.shown or node.path == _ROOT)
            and "Table" not in node.interfaces
            and counts[node.path] < node.children_count <= _MAX_CHILDREN
        ]
        asked.update(node.path for node in wanting)
        calls = [node.call("Accessible", "GetChildren") for node in wanting]
        found = [
            (path, node, index)
            for node, answer in zip(wanting, bus.gather(calls, clock.left(1.0)), strict=True)
            for index, (_, path) in enumerate(answer[0] if answer else [])
            if path != _NULL
        ]
        moved = [_adopt(known, path, node, index) for path, node, index in found if path in known]
        refs = [(path, node.path, index) for path, node, index in found if path not in known]
        if not (refs or any(moved)) or len(known) > _MAX_NODES:
            break
        known.update({node.path: node for node in _fetch(bus, name, refs, clock)})
    return list(known.values())


def _count_children(bus: Bus, nodes: list[Node], clock: _Clock) -> None:
    """Tables of elements leave the count of what manages its descendants open."""
    calls = [_property(node.name_on_bus, node.path, "ChildCount") for node in nodes]
    for node, answer in zip(nodes, bus.gather(calls, clock.left(1.0)), strict=True):
        node.children_count = int(answer[0]) if answer else -1


def _adopt(known: dict[str, Node], path: str, parent: Node, index: int) -> bool:
    """Toolkits name a parent that nobody knows; the one that claims the child gets it."""
    child = known[path]
    if child.parent in known:
        return False
    child.parent, child.index = parent.path, index
    return True


def _root_of(name: str) -> Node:
    item = ((name, _ROOT), None, (name, ""), 0, _MAX_CHILDREN, (), "", 0, "", ())
    return _node(item)


def _fetch(bus: Bus, name: str, refs: list[tuple[str, str, int]], clock: _Clock) -> Iterator[Node]:
    """Nodes by path, parent's path and index."""
    calls: list[Call] = []
    for path, _, _ in refs:
        methods = ("GetRole", "GetState", "GetInterfaces")
        calls += [(name, path, f"{_A11Y}.Accessible", method, None) for method in methods]
        calls += [_property(name, path, "Name"), _property(name, path, "ChildCount")]
    answers = bus.gather(calls, clock.left(1.5))
    for number, (path, parent, index) in enumerate(refs):
        role, states, interfaces, said, count = answers[5 * number : 5 * number + 5]
        if not (role and states and interfaces and count):
            continue
        text = str(said[0]) if said else ""
        place = ((name, path), None, (name, parent), index, count[0])
        yield _node((*place, interfaces[0], text, role[0], "", states[0]))


def _property(name: str, path: str, what: str) -> Call:
    arguments = GLib.Variant("(ss)", (f"{_A11Y}.Accessible", what))
    return (name, path, _PROPERTIES, "Get", arguments)


# ---------------------------------------------------------------- boxes, texts, labels


def _fill(bus: Bus, nodes: list[Node], clock: _Clock) -> None:
    placed = [node for node in nodes if "Component" in node.interfaces]
    on_screen = GLib.Variant("(u)", (0,))
    boxes = [node.call("Component", "GetExtents", on_screen) for node in placed]
    for node, answer in zip(placed, bus.gather(boxes, clock.left(3.0)), strict=True):
        node.box = box_of(answer)
    texts = [node for node in placed if "Text" in node.interfaces and node.role not in _SILENT]
    _fill_texts(bus, texts, clock)
    _fill_labels(bus, [node for node in placed if node.role in _LABELLED], clock)


def _fill_texts(bus: Bus, nodes: list[Node], clock: _Clock) -> None:
    """The first characters; some toolkits answer nothing where fewer are there than asked for."""
    counts = [
        (node.name_on_bus, node.path, _PROPERTIES, "Get", _COUNT_OF_CHARACTERS) for node in nodes
    ]
    answers = bus.gather(counts, clock.left(1.0))
    filled = [
        (node, min(_MAX_TEXT, a[0]))
        for node, a in zip(nodes, answers, strict=True)
        if a and a[0] > 0
    ]
    asked = [node.call("Text", "GetText", GLib.Variant("(ii)", (0, end))) for node, end in filled]
    for (node, _), answer in zip(filled, bus.gather(asked, clock.left(2.0)), strict=True):
        node.text = str(answer[0])[:_MAX_TEXT] if answer else ""


def _fill_labels(bus: Bus, nodes: list[Node], clock: _Clock) -> None:
    asked = [node.call("Accessible", "GetRelationSet") for node in nodes]
    owners, calls = [], []
    for node, answer in zip(nodes, bus.gather(asked, clock.left(1.0)), strict=True):
        relations = answer[0] if answer else []
        for kind, targets in relations:
            if kind == LABELLED_BY and targets:
                owners.append(node)
                name, path = targets[0]
                calls.append(_property(name, path, "Name"))
    for node, answer in zip(owners, bus.gather(calls, clock.left(1.0)), strict=True):
        node.label = str(answer[0]).strip() if answer else ""


def box_of(answer: Any) -> tuple[int, int, int, int] | None:
    """Left, top, right, bottom of GetExtents' answer; None for an empty one."""
    if not answer:
        return None
    left, top, width, height = answer[0]
    return (left, top, left + width, top + height) if width > 0 and height > 0 else None


def _drop_unseen_menu_bars(nodes: list[Node]) -> None:
    """A menu bar without a place is a toolkit's own one, replaced on the screen by another."""
    for node in nodes:
        node.children = [
            child for child in node.children if child.role != "menu bar" or child.box is not None
        ]


def _straighten(window: Node) -> None:
    """LibreOffice places what is in its root pane as if there were no menu bar above it.

    The pane is as large as the panel that holds it, so the two corners tell by how much.
    """
    for parent in flatten(window):
        for pane in parent.children:
            if pane.role != "root pane" or pane.box is None or parent.box is None:
                continue
            across, down = parent.box[0] - pane.box[0], parent.box[1] - pane.box[1]
            same = pane.box[2] + across == parent.box[2] and pane.box[3] + down == parent.box[3]
            if same and (across or down):
                _shift(pane, across, down)


def _shift(top: Node, across: int, down: int) -> None:
    for node in flatten(top):
        if node.box is not None:
            left, up, right, bottom = node.box
            node.box = (left + across, up + down, right + across, bottom + down)


def _cell(owner: Node, item: dict[str, Any]) -> Node:
    return Node(
        name_on_bus=owner.name_on_bus,
        path=item["path"],
        parent=owner.path,
        index=item["index"],
        children_count=0,
        interfaces=frozenset(),
        name=item["name"],
        role=role_name(item["role"]),
        description="",
        states=frozenset(state_names(item["states"])),
        box=item["box"],
        text=item["text"],
        app=owner.app,
        window=owner.window,
    )
