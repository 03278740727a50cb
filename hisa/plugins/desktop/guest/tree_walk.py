"""Walks the showing part of the accessibility trees, from each window down.

ATK's bridge also offers a table of all elements of an application in one reply (GetItems). It is
not used: it follows references to objects that are gone, and crashes LibreOffice once a few dialogs
were closed. A walk asks only living objects, and of those only the showing ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from . import gtk2, gtk4
from .bus import Bus, Limit
from .dbus import Call, arguments
from .hidden_parts import shows_through
from .long_lists import CUT, MAX_CHILDREN, children_in_area
from .node import BoundingBox, Node, box_of, plain_title
from .role_numbers import role_name, state_names

__all__ = ["NULL", "ROOT", "top_windows", "walk"]

_A11Y = "org.a11y.atspi"
ROOT = "/org/a11y/atspi/accessible/root"
NULL = "/org/a11y/atspi/null"
_PROPERTIES = "org.freedesktop.DBus.Properties"
_ALL = arguments("s", f"{_A11Y}.Accessible")
_PROPERTY_NAMES = ("Name", "ChildCount", "Description")
_ON_SCREEN = arguments("u", 0)
_MAX_NODES, _MAX_DEPTH = 8000, 60
"""Largest tree; a page of a browser has some 3,000 nodes, 40 deep. A larger tree is cut, and the
reading counts as incomplete."""

_CLOSED = frozenset({"menu", "menu bar", "combo box", "popup menu"})
"""Roles that make their children, maybe thousands, when opened: those do not count as hidden."""

_FIRST_SHARE = 0.25
"""Share of the time for the first reply of all applications, which takes 3 ms when idle."""

_Ref = tuple[str, str]


def top_windows(bus: Bus, limit: Limit) -> list[Node]:
    """Returns the showing top-level windows of all applications, without what is in them."""
    apps = bus.applications(limit)
    # An application that hangs must not take the time that the others need.
    first = limit.part(_FIRST_SHARE)
    names = bus.gather([_property(name, ROOT, "Name") for name, _ in apps], first)
    children = bus.gather([_children(ref) for ref in apps], first)
    limit.ran_out |= first.ran_out
    windows: list[Node] = []
    for (name, _), name_answer, answer in zip(apps, names, children, strict=True):
        refs: list[_Ref] = [(bus_name, path) for bus_name, path in answer[0]] if answer else []
        for node in _read_nodes(bus, [ref for ref in refs if ref[1] != NULL], limit):
            if node is not None:
                node.parent, node.window = ROOT, plain_title(node.name)
                node.app = str(name_answer[0]) if name_answer else name
                windows.append(node)
    return windows


def walk(bus: Bus, windows: list[Node], screen: BoundingBox, limit: Limit) -> None:
    """Adds the showing nodes below the windows, level by level, with their boxes.

    Args:
        bus: the accessibility bus.
        windows: the top-level windows; their ``children`` are filled.
        screen: the box of the screen, in pixels.
        limit: ends the reading; its ``ran_out`` is set if the tree was cut.
    """
    visited = {(node.name_on_bus, node.path) for node in windows}
    level, total = windows, len(windows)
    for _ in range(_MAX_DEPTH):
        level = _below(bus, level, visited, screen, limit)
        total += len(level)
        if not level:
            return
        if total > _MAX_NODES:
            break
    limit.ran_out = True


def _below(
    bus: Bus, level: list[Node], visited: set[_Ref], screen: BoundingBox, limit: Limit
) -> list[Node]:
    """Add the showing children to their parents; return them."""
    refs: list[_Ref] = []
    owners: list[tuple[Node, int]] = []
    for parent, children in _children_of(bus, level, screen, limit):
        for index, (name, path) in children:
            if path != NULL and (name, path) not in visited:
                visited.add((name, path))
                refs.append((name, path))
                owners.append((parent, index))
    nodes = _read_nodes(bus, refs, limit, [owner for owner, _ in owners])
    shown_nodes = []
    for node, (owner, index) in zip(nodes, owners, strict=True):
        if node is None:
            continue
        if not shows_through(bus, node, owner):
            if not limit.hidden:
                continue
            node.states -= {"showing"}
        node.parent, node.index = owner.path, index
        node.app, node.window = owner.app, owner.window
        owner.children.append(node)
        shown_nodes.append(node)
    return shown_nodes


def _children_of(
    bus: Bus, level: list[Node], screen: BoundingBox, limit: Limit
) -> Iterator[tuple[Node, list[tuple[int, _Ref]]]]:
    """Yield each node's children with their numbers; of thousands, only those that may show."""
    parents = [node for node in level if node.children_count and not node.makes_cells]
    few = [node for node in parents if node.children_count <= MAX_CHILDREN]
    answers = iter(bus.gather([_children((node.name_on_bus, node.path)) for node in few], limit))
    for node in parents:
        if node.children_count <= MAX_CHILDREN:
            answer = next(answers)
            yield node, list(enumerate(answer[0] if answer else ()))
        else:
            yield node, children_in_area(bus, node, screen, limit)
            node.states |= {CUT}


def _read_nodes(
    bus: Bus, refs: list[_Ref], limit: Limit, owners: Sequence[Node] = ()
) -> list[Node | None]:
    """Returns a node for each reference; None for one that does not show or is gone.

    Most children do not show, as the items of closed menus, and are asked only for their state.
    """
    state_calls = [Call(*ref, f"{_A11Y}.Accessible", "GetState") for ref in refs]
    states = [
        frozenset(state_names(answer[0])) if answer else frozenset()
        for answer in bus.gather(state_calls, limit)
    ]
    placed = gtk2.placed_items(bus, refs, states, owners, limit) if owners else set()
    # GTK 3 reports no position for a viewport that is scrolled by more than its height.
    in_panes = {n for n, owner in enumerate(owners) if owner.role == "scroll pane" and owner.shown}
    shown = [
        index
        for index, (name, _) in enumerate(refs)
        if "visible" in states[index]
        and (
            "showing" in states[index]
            or index in placed | in_panes
            or gtk4.is_gtk4(bus, name)
            or (limit.hidden and not (owners and owners[index].role in _CLOSED))
        )
    ]
    fragile = _fragile(bus, {refs[index][0] for index in shown}, limit)
    asks = [_questions(bus, refs[index], refs[index][0] in fragile) for index in shown]
    answers = iter(bus.gather([call for calls in asks for call in calls], limit))
    nodes: list[Node | None] = [None] * len(refs)
    for index, calls in zip(shown, asks, strict=True):
        role, interfaces, extents, *properties = islice(answers, len(calls))
        if role and interfaces and all(properties):
            values = [answer[0] for answer in properties]
            known = (
                values[0] if len(values) == 1 else dict(zip(_PROPERTY_NAMES, values, strict=True))
            )
            toolkit = bus.toolkits.get(refs[index][0], "")
            box = box_of(extents, toolkit)
            node = _node(refs[index], states[index], role, interfaces, known, box)
            if index in in_panes - placed and not node.shown:
                if node.role != "viewport":
                    continue
                node.states, node.box = node.states | {"showing"}, owners[index].box
            nodes[index] = node
    return gtk4.keep_drawn(bus, nodes, limit)


def _fragile(bus: Bus, names: set[str], limit: Limit) -> set[str]:
    """Return the applications that GetAll may crash: in Qt 5 it meets a null interface."""
    unknown_names = sorted(names - bus.toolkits.keys())
    answers = bus.gather(
        [_property(name, ROOT, "ToolkitName", "Application") for name in unknown_names], limit
    )
    bus.toolkits.update(
        {
            name: str(answer[0])
            for name, answer in zip(unknown_names, answers, strict=True)
            if answer
        }
    )
    return {name for name in names if bus.toolkits.get(name, "") in {"", "Qt"}}


def _questions(bus: Bus, ref: _Ref, fragile: bool) -> list[Call]:
    """Return the calls for a showing element: role, interfaces, box, and its properties."""
    calls = [Call(*ref, f"{_A11Y}.Accessible", method) for method in ("GetRole", "GetInterfaces")]
    coordinates = gtk4.IN_WINDOW if gtk4.is_gtk4(bus, ref[0]) else _ON_SCREEN
    calls.append(Call(*ref, f"{_A11Y}.Component", "GetExtents", coordinates))
    if fragile:
        return calls + [_property(*ref, name) for name in _PROPERTY_NAMES]
    return [*calls, Call(*ref, _PROPERTIES, "GetAll", _ALL)]


def _node(
    ref: _Ref,
    states: frozenset[str],
    role: Any,
    interfaces: Any,
    properties: dict[str, Any],
    box: BoundingBox | None,
) -> Node:
    return Node(
        name_on_bus=ref[0],
        path=ref[1],
        parent="",
        index=0,
        children_count=properties.get("ChildCount", 0),
        interfaces=frozenset(interface.rpartition(".")[2] for interface in interfaces[0]),
        name=properties.get("Name", "").strip(),
        role=role_name(role[0]),
        description=properties.get("Description", ""),
        states=states,
        box=box,
    )


def _children(ref: _Ref) -> Call:
    return Call(*ref, f"{_A11Y}.Accessible", "GetChildren")


def _property(name: str, path: str, member: str, interface: str = "Accessible") -> Call:
    return Call(name, path, _PROPERTIES, "Get", arguments("ss", f"{_A11Y}.{interface}", member))
