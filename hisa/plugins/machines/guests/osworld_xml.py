"""Converts OSWorld's accessibility XML to elements, in both families of its namespaces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple
from xml.etree import ElementTree

from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element
from hisa.screen.roles import CUT
from hisa.text.prompt_text import OBJECT_CHARACTER
from hisa.text.window_titles import plain_title

__all__ = ["Tree", "parse_tree"]

_MAX_CHARACTERS = 50_000_000  # chosen by hand
_MAX_TEXT = 200  # chosen by hand
_CHILDREN = 1024
"""Most children of a node that OSWorld's guest reports; it leaves out the others silently."""
_PAIR = re.compile(r"\(?\s*(-?\d+)\s*,\s*(-?\d+)\s*\)?")
_STATE = re.compile(r"(/ns/state|deskat:state\.)")
_COMPONENT = re.compile(r"(/ns/component|deskat:component\.)")


class Tree(NamedTuple):
    """A parsed tree: its showing elements that have a box, and whether those are all."""

    elements: tuple[Element, ...]
    complete: bool


def parse_tree(xml: str) -> Tree:
    """Returns the showing elements; HiSA's own guest marks an incomplete tree at its root.

    Raises:
        ValueError: not XML, too large, or with a document type.
    """
    if len(xml) > _MAX_CHARACTERS:
        raise ValueError(f"a tree of {len(xml)} characters; at most {_MAX_CHARACTERS}")
    if "<!DOCTYPE" in xml[:10_000] or "<!ENTITY" in xml:
        raise ValueError("the tree has a document type, which is not allowed")
    try:
        root = ElementTree.fromstring(xml)
    except ElementTree.ParseError as error:
        raise ValueError(f"not XML: {error}") from error
    complete = root.get("partial") != "true" and not any(map(_may_lack_shown, root.iter()))
    return Tree(tuple(_walk(root)), complete)


def _may_lack_shown(node: ElementTree.Element) -> bool:
    """Whether left-out children may be showing; they are not if the showing ones end earlier."""
    if len(node) != _CHILDREN:
        return False
    shown = [_element(child, "", "", app="", window="") is not None for child in node]
    return shown[-1] or not any(shown)


def _walk(root: ElementTree.Element) -> Iterator[Element]:
    """Yields the elements depth first, without recursion: the sender decides how deep a tree is."""
    stack, number = [(root, "", "", -1)], 0
    while stack:
        node, app, window, parent = stack.pop()
        role = _local(node.tag).replace("-", " ")
        name = (node.get("name") or "").strip()  # GTK pads the names of menus
        if role == "application":
            app = name
        elif role in {"frame", "dialog", "window"} and not window:
            window = plain_title(name)
        element = _element(node, role, name, app=app, window=window)
        if element is not None:
            yield replace(element, parent=parent)
            parent, number = number, number + 1
        stack += [(child, app, window, parent) for child in reversed(node)]


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _element(
    node: ElementTree.Element, role: str, name: str, *, app: str, window: str
) -> Element | None:
    states, box = {CUT} if len(node) == _CHILDREN else set(), {}
    for key, value in node.attrib.items():
        space, _, local = key.rpartition("}")
        if _STATE.search(space) and value == "true":
            states.add(local)
        elif _COMPONENT.search(space) and (pair := _PAIR.fullmatch(value)):
            box[local] = (int(pair[1]), int(pair[2]))
    if "showing" not in states or "screencoord" not in box or "size" not in box:
        return None
    (left, top), (width, height) = box["screencoord"], box["size"]
    if width <= 0 or height <= 0:
        return None
    return Element(
        role=role,
        name=name,
        box=BoundingBox(left, top, left + width, top + height, "screen"),
        text=(node.text or "").replace(OBJECT_CHARACTER, "").strip("\n")[:_MAX_TEXT],
        states=frozenset(states),
        app=app,
        window=window,
    )
