"""What can be pointed at, and how two of them lie to one another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "ARROW_WORDS",
    "READ",
    "SHOWS_TEXT",
    "UNCHECKED",
    "Covering",
    "Thing",
    "describe_element",
    "gaps",
    "lines",
    "overlap",
    "sides",
    "square_around",
]

READ = "read text"
"""The role of a line read off the picture."""
SHOWS_TEXT = frozenset({"label", "static", "heading", "paragraph", READ, "section", "caption"})
"""Roles of what only shows text."""
UNCHECKED = "unchecked"
"""The state of a tick that is drawn empty; one in neither state was not recognised."""
ARROW_WORDS = {"up": ("increase", "plus"), "down": ("decrease", "minus")}
"""What the arrows of a spin button go by besides their names."""


@dataclass(frozen=True)
class Covering:
    """What lies over the middle of an element; ``rest`` is the largest part beside it, if any."""

    element: Element
    rest: BoundingBox | None
    is_certain: bool
    """Whether it hides the element: it has words, or the picture shows it in place of that."""

    @property
    def words(self) -> str:
        """Ends before what it is."""
        return "covered by" if self.is_certain else "perhaps hidden by"


@dataclass(frozen=True, eq=False)
class Thing:
    """Something that can be pointed at; ``box`` is the part on the screen, in screen space.

    ``labels`` are the texts beside it that may label it, each with how surely it does (0..1).
    """

    element: Element
    box: BoundingBox
    labels: tuple[tuple[str, float], ...] = ()
    front: float = 1.0
    """How usable it is now: 1, less where it is behind or disabled."""
    drawn: float | None = None
    """How surely the picture shows it, 0..1; None where it is told or written."""
    handle: BoundingBox | None = None
    """The part that is clicked, such as a slider's handle; None: the whole."""
    cover: Covering | None = None
    """What lies over it and leaves no part of it bare."""
    number: int | None = None
    """Its place among the elements of the look; None where it is drawn or read."""
    control: Element | None = None
    """The button on which its words are drawn, which is called otherwise."""

    @property
    def role(self) -> str:
        """The role of accessibility, or `READ`."""
        return self.element.role

    @property
    def is_made_control(self) -> bool:
        """Whether a page made a control of it, of no kind that it tells: it takes the focus."""
        return self.role == "section" and "focusable" in self.element.states

    @property
    def is_bare(self) -> bool:
        """Whether nothing tells what it is."""
        e = self.element
        return not (e.name.strip() or e.text.strip() or e.description or e.label or self.labels)


def gaps(box: BoundingBox, other: BoundingBox) -> tuple[float, float]:
    """Pixels between two boxes across and down; negative where they overlap."""
    across = max(box.left - other.right, other.left - box.right)
    down = max(box.top - other.bottom, other.top - box.bottom)
    return across, down


def overlap(outer: BoundingBox, inner: BoundingBox) -> float:
    """The share of the inner box that both have."""
    common = outer.intersection(inner)
    return common.area / inner.area if common and inner.area else 0.0


def lines(things: Iterable[Thing]) -> list[list[Thing]]:
    """Things in rows from top to bottom, each from left to right."""
    rows: list[list[Thing]] = []
    for thing in sorted(things, key=lambda t: (t.box.centre.y, t.box.left)):
        if rows and thing.box.centre.y < rows[-1][0].box.bottom:
            rows[-1].append(thing)
        else:
            rows.append([thing])
    return [sorted(row, key=lambda t: t.box.left) for row in rows]


def describe_element(element: Element) -> str:
    """The role and name of an element, as planners and events are told."""
    name = element.name or element.label or element.text or element.description
    return f'{element.role} "{" ".join(name.split())[:60]}"'


def sides(boxes: Iterable[BoundingBox]) -> NDArray[np.float64]:
    """The left sides of boxes, their tops, right sides and bottoms: four rows."""
    import numpy as np  # which a start need not wait for

    corners = [(box.left, box.top, box.right, box.bottom) for box in boxes]
    return np.array(corners, dtype=float).reshape(-1, 4).T


def square_around(box: BoundingBox) -> BoundingBox:
    """The square around a box: what is drawn as a line is clicked somewhat above and below too."""
    half = max(box.width, box.height) / 2
    x, y = box.centre.x, box.centre.y
    return BoundingBox(x - half, y - half, x + half, y + half, box.space)
