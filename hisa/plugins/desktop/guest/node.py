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
"""Where GTK says that something is which has no place, and how many places X has for windows."""


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
    """How ``box`` was put right: what was told, times ``scale``, and then moved so many pixels."""
    view: BoundingBox | None = None
    """What of it and its parts is seen, as told, where something that holds it hides the rest."""
    text: str = ""
    label: str = ""
    app: str = ""
    window: str = ""
    children: list[Node] = field(default_factory=list)

    @property
    def shown(self) -> bool:
        """Whether it says that it is on the screen."""
        return {"showing", "visible"} <= self.states

    @property
    def makes_cells(self) -> bool:
        """Whether it is a table that makes its cells, maybe a million, when asked for them.

        The tables of web pages hold theirs as any other parent.
        """
        return "manages-descendants" in self.states and "Table" in self.interfaces

    def on_screen(self, box: BoundingBox) -> BoundingBox:
        """Returns where on the screen a place is that is told in the same way as this one."""
        across, down = self.moved
        left, top, right, bottom = (round(self.scale * edge) for edge in box)
        return left + across, top + down, right + across, bottom + down

    def to_app_point(self, x: int, y: int) -> tuple[int, int]:
        """Returns how the application itself would tell a point of the screen."""
        across, down = self.moved
        return round((x - across) / self.scale), round((y - down) / self.scale)

    def call(self, interface: str, method: str, parameters: Arguments = NOTHING) -> Call:
        """A call to it."""
        return Call(self.name_on_bus, self.path, f"{_A11Y}.{interface}", method, parameters)

    def to_json(self) -> dict[str, Any]:
        """As an element goes over the wire."""
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
    """Returns left, top, right, bottom of GetExtents' answer; None for an empty one.

    Places of X have 16 bits: what is scrolled further GTK 3 tells in another round of them.
    """
    left, top, width, height = response[0] if response else (0, 0, 0, 0)
    if toolkit == "gtk" and NOWHERE not in (left, top):
        left, top = ((edge + X_PLACES // 2) % X_PLACES - X_PLACES // 2 for edge in (left, top))
    return (left, top, left + width, top + height) if width > 0 and height > 0 else None


def overlap(box: BoundingBox, other: BoundingBox) -> bool:
    """Whether two boxes have a pixel in common."""
    left, top, right, bottom = other
    return box[0] < right and left < box[2] and box[1] < bottom and top < box[3]


# A window's title and the name that its tree tells differ in what nobody sees: marks of writing
# direction, blanks at an end.
def plain_title(text: str) -> str:
    """The title without signs that show nothing, with single blanks."""
    if not text.isascii():
        text = "".join(sign for sign in text if unicodedata.category(sign) != "Cf")
    return " ".join(text.split())
