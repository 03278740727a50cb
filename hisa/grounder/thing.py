"""Elements that can be pointed at, and the positions of two of them to each other."""

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
"""Roles of elements that only show text."""
UNCHECKED = "unchecked"
"""The state of a check box that is drawn empty; one with neither state was not recognised."""
ARROW_WORDS = {"up": ("increase", "plus"), "down": ("decrease", "minus")}
"""Other words for the arrows of a spin button."""


@dataclass(frozen=True)
class Covering:
    """An element over the middle of another; ``rest`` is the largest uncovered part, if any."""

    element: Element
    rest: BoundingBox | None
    is_certain: bool
    """Whether it surely hides the other one: it has words, or the picture shows it instead."""

    @property
    def words(self) -> str:
        """The words before the name of the covering element."""
        return "covered by" if self.is_certain else "perhaps hidden by"


@dataclass(frozen=True, eq=False)
class Thing:
    """An element that can be pointed at; ``box`` is its part on the screen, in screen space.

    ``labels`` are the texts beside it that may label it, each with its probability (0..1).
    """

    element: Element
    box: BoundingBox
    labels: tuple[tuple[str, float], ...] = ()
    front: float = 1.0
    """How usable it is now: 1, or less if it is behind another window or disabled."""
    drawn: float | None = None
    """Probability that the picture shows it, 0..1; None if accessibility or OCR reported it."""
    handle: BoundingBox | None = None
    """The part that is clicked, such as a slider's handle; None: the whole element."""
    cover: Covering | None = None
    """The element that covers it completely, if any."""
    number: int | None = None
    """Its index among the elements of the look; None if it was seen or read in the picture."""
    control: Element | None = None
    """The button on which its words are drawn, if that has a different name."""

    @property
    def role(self) -> str:
        """The role of accessibility, or `READ`."""
        return self.element.role

    @property
    def is_made_control(self) -> bool:
        """Whether a page made it a control without a role: a section that takes the focus."""
        return self.role == "section" and "focusable" in self.element.states

    @property
    def is_bare(self) -> bool:
        """Whether it has no name, text, description or label."""
        e = self.element
        return not (e.name.strip() or e.text.strip() or e.description or e.label or self.labels)


def gaps(box: BoundingBox, other: BoundingBox) -> tuple[float, float]:
    """Returns the pixels between two boxes across and down; negative if they overlap."""
    across = max(box.left - other.right, other.left - box.right)
    down = max(box.top - other.bottom, other.top - box.bottom)
    return across, down


def overlap(outer: BoundingBox, inner: BoundingBox) -> float:
    """Returns the share of the inner box that is inside the outer one, 0..1."""
    common = outer.intersection(inner)
    return common.area / inner.area if common and inner.area else 0.0


def lines(things: Iterable[Thing]) -> list[list[Thing]]:
    """Returns the elements in rows from top to bottom, each from left to right."""
    rows: list[list[Thing]] = []
    for thing in sorted(things, key=lambda t: (t.box.centre.y, t.box.left)):
        if rows and thing.box.centre.y < rows[-1][0].box.bottom:
            rows[-1].append(thing)
        else:
            rows.append([thing])
    return [sorted(row, key=lambda t: t.box.left) for row in rows]


def describe_element(element: Element) -> str:
    """Returns the role and name of an element, as planners and events show them."""
    name = element.name or element.label or element.text or element.description
    return f'{element.role} "{" ".join(name.split())[:60]}"'


def sides(boxes: Iterable[BoundingBox]) -> NDArray[np.float64]:
    """Returns four rows: the left sides, tops, right sides and bottoms of boxes."""
    import numpy as np  # slow to import: kept out of the program's start

    corners = [(box.left, box.top, box.right, box.bottom) for box in boxes]
    return np.array(corners, dtype=float).reshape(-1, 4).T


def square_around(box: BoundingBox) -> BoundingBox:
    """Returns the square around a box: users click slightly above or below a thin line too."""
    half = max(box.width, box.height) / 2
    x, y = box.centre.x, box.centre.y
    return BoundingBox(x - half, y - half, x + half, y + half, box.space)
