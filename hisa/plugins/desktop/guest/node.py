"""One accessible object, as read from the accessibility bus."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import Any

from .dbus import NOTHING, Arguments, Call

__all__ = [
    "NOWHERE",
    "X_PLACES",
    "BoundingBox",
    "Node",
    "box_of",
    "flatten",
    "overlap",
    "plain_title",
]

BoundingBox = tuple[int, int, int, int]
"""Left, top, right, bottom, in pixels of the screen."""

_A11Y = "org.a11y.atspi"
NOWHERE, X_PLACES = -(1 << 31), 1 << 16
"""GTK's coordinate for what has no position, and the number of different coordinates in X."""


@dataclass
class Node:
    """One accessible object."""

    name_on_bus: str
    path: str
    parent: str
    index: int
    children_count: int
    interfaces: frozenset[str]
    name: str
    role: str
    description: str
    states: frozenset[str]
    box: BoundingBox | None = None
    scale: float = 1.0
    moved: tuple[int, int] = (0, 0)
    """How ``box`` was corrected: the reported box, times ``scale``, then moved by these pixels."""
    view: BoundingBox | None = None
    """The visible part of it and its children, in reported units; None: nothing clips it."""
    text: str = ""
    label: str = ""
    app: str = ""
    window: str = ""
    children: list[Node] = field(default_factory=list)

    @property
    def shown(self) -> bool:
        """Whether its application reports that it is on the screen."""
        return {"showing", "visible"} <= self.states

    @property
    def makes_cells(self) -> bool:
        """Whether it is a table that makes its cells, maybe a million, only on demand.

        Tables of web pages have theirs as children, as any other parent.
        """
        return "manages-descendants" in self.states and "Table" in self.interfaces

    def on_screen(self, box: BoundingBox) -> BoundingBox:
        """Converts a box that was reported in the same way as this one to screen pixels."""
        across, down = self.moved
        left, top, right, bottom = (round(self.scale * edge) for edge in box)
        return left + across, top + down, right + across, bottom + down

    def to_app_point(self, x: int, y: int) -> tuple[int, int]:
        """Converts a point of the screen to the application's own units."""
        across, down = self.moved
        return round((x - across) / self.scale), round((y - down) / self.scale)

    def call(self, interface: str, method: str, parameters: Arguments = NOTHING) -> Call:
        """Returns a call to the object, to be sent with `Bus.gather`.

        Args:
            interface: the AT-SPI interface without its prefix, such as "Component".
            method: the method's name.
            parameters: the packed arguments.
        """
        return Call(self.name_on_bus, self.path, f"{_A11Y}.{interface}", method, parameters)

    def to_json(self) -> dict[str, Any]:
        """Returns the element as a JSON object."""
        return {
            "role": self.role,
            "name": self.name,
            "box": self.box,
            "text": self.text,
            "label": self.label,
            "states": sorted(self.states),
            "app": self.app,
            "window": self.window,
            "description": self.description,
        }


def flatten(node: Node) -> list[Node]:
    """Returns a node and everything below it, in reading order."""
    nodes, stack = [], [node]
    while stack:
        top = stack.pop()
        nodes.append(top)
        stack += reversed(top.children)
    return nodes


def box_of(response: Any, toolkit: str) -> BoundingBox | None:
    """Returns left, top, right, bottom of GetExtents' reply; None for an empty box.

    X's coordinates have 16 bits, and GTK 3 reports larger ones modulo 65,536.
    """
    left, top, width, height = response[0] if response else (0, 0, 0, 0)
    if toolkit == "gtk" and NOWHERE not in (left, top):
        left, top = ((edge + X_PLACES // 2) % X_PLACES - X_PLACES // 2 for edge in (left, top))
    return (left, top, left + width, top + height) if width > 0 and height > 0 else None


def overlap(box: BoundingBox, other: BoundingBox) -> bool:
    """Whether two boxes have a pixel in common."""
    left, top, right, bottom = other
    return box[0] < right and left < box[2] and box[1] < bottom and top < box[3]


# A window's title and its name in the tree differ in invisible characters: marks of writing
# direction, blanks at the end.
def plain_title(text: str) -> str:
    """Returns the title without invisible characters, with single blanks."""
    if not text.isascii():
        text = "".join(sign for sign in text if unicodedata.category(sign) != "Cf")
    return " ".join(text.split())
