"""Writes the tree in OSWorld's XML, for clients that know no other format."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from .access import Reading
    from .node import Node

__all__ = ["terminal_text", "to_xml"]

_BASE = "https://accessibility.ubuntu.example.org/ns"
_NAMES = {kind: f"{_BASE}/{kind}" for kind in ("state", "component", "attributes", "value")}
_PREFIXES = {"st": "state", "cp": "component", "attr": "attributes", "val": "value"}
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_xml(reading: Reading) -> str:
    """Returns a ``desktop-frame`` with an ``application`` for each program that shows a window.

    If the reading is incomplete, the frame has an attribute for that; other clients ignore it.
    """
    for prefix, kind in _PREFIXES.items():
        ElementTree.register_namespace(prefix, _NAMES[kind])
    root = ElementTree.Element("desktop-frame", {"name": "main"})
    if not reading.complete:
        root.set("partial", "true")
    apps: dict[str, ElementTree.Element] = {}
    for window in reading.windows:
        if window.app not in apps:
            attributes = {"name": _clean(window.app)}
            apps[window.app] = ElementTree.SubElement(root, "application", attributes)
        _add(apps[window.app], window)
    return ElementTree.tostring(root, encoding="unicode")


def terminal_text(windows: list[Node]) -> str | None:
    """Returns the text of the first terminal on the screen; None if there is none."""
    from .node import flatten

    terminals = (node for window in windows for node in flatten(window) if node.role == "terminal")
    return next((node.text.rstrip() for node in terminals), None)


def _add(parent: ElementTree.Element, top: Node) -> None:
    stack = [(parent, top)]
    while stack:
        above, node = stack.pop()
        element = ElementTree.SubElement(above, node.role.replace(" ", "-"), _attributes(node))
        element.text = _clean(node.text) or None
        stack += [(element, child) for child in reversed(node.children)]


def _attributes(node: Node) -> dict[str, str]:
    attributes = {"name": _clean(node.name)}
    attributes |= {f"{{{_NAMES['state']}}}{state}": "true" for state in sorted(node.states)}
    if node.box is not None:
        left, top, right, bottom = node.box
        attributes[f"{{{_NAMES['component']}}}screencoord"] = f"({left}, {top})"
        attributes[f"{{{_NAMES['component']}}}size"] = f"({right - left}, {bottom - top})"
    return attributes


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("", text)
