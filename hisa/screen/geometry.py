"""Points, sizes and boxes, each knowing the space it is in, and the one conversion between spaces.

Three spaces exist:

* ``screen``: physical pixels of the desktop, for clicks.
* ``image``: pixels of the image that models see (1280x720 by default), for models.
* ``unit``: 0..1 over the image, for some grounding models.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

__all__ = [
    "BoundingBox",
    "Point",
    "Size",
    "Space",
    "convert",
    "convert_box",
    "fit_within",
    "grow_box",
    "shift_box",
]

Space = Literal["screen", "image", "unit"]


@dataclass(frozen=True, slots=True)
class Size:
    """Width and height in pixels."""

    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Point:
    """A position; the origin is the top left corner."""

    x: float
    y: float
    space: Space = "image"

    def to_pixels(self) -> tuple[int, int]:
        """Returns whole pixels, for protocols that need plain numbers."""
        return round(self.x), round(self.y)


@dataclass(frozen=True, slots=True)
class BoundingBox:
    """A rectangle; ``right`` and ``bottom`` are exclusive."""

    left: float
    top: float
    right: float
    bottom: float
    space: Space = "image"

    @property
    def width(self) -> float:
        """Horizontal extent in units of ``space``."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """Vertical extent in units of ``space``."""
        return self.bottom - self.top

    @property
    def area(self) -> float:
        """Area; 0 for an empty or inverted box."""
        return max(0.0, self.width) * max(0.0, self.height)

    @property
    def centre(self) -> Point:
        """The middle point."""
        return Point((self.left + self.right) / 2, (self.top + self.bottom) / 2, self.space)

    def contains(self, point: Point) -> bool:
        """Whether a point of the same space is inside."""
        if self.space != point.space:
            raise _build_space_error(self.space, point.space)
        return self.left <= point.x < self.right and self.top <= point.y < self.bottom

    def intersection(self, other: BoundingBox) -> BoundingBox | None:
        """Returns the common part, or None if there is none."""
        if self.space != other.space:
            raise _build_space_error(self.space, other.space)
        box = BoundingBox(
            max(self.left, other.left),
            max(self.top, other.top),
            min(self.right, other.right),
            min(self.bottom, other.bottom),
            self.space,
        )
        return box if box.right > box.left and box.bottom > box.top else None


def grow_box(box: BoundingBox, by: float) -> BoundingBox:
    """Returns the box with ``by`` pixels more on each side."""
    return BoundingBox(box.left - by, box.top - by, box.right + by, box.bottom + by, box.space)


def shift_box(box: BoundingBox, across: float, down: float) -> BoundingBox:
    """Returns the box moved ``across`` pixels to the right and ``down`` pixels down."""
    return replace(
        box,
        left=box.left + across,
        top=box.top + down,
        right=box.right + across,
        bottom=box.bottom + down,
    )


def _build_space_error(first: Space, second: Space) -> ValueError:
    return ValueError(f"spaces differ: {first!r} and {second!r}; convert first")


def _extent(space: Space, screen: Size, image: Size) -> tuple[float, float]:
    match space:
        case "screen":
            return screen.width, screen.height
        case "image":
            return image.width, image.height
        case "unit":
            return 1.0, 1.0


def convert(point: Point, to: Space, *, screen: Size, image: Size) -> Point:
    """Returns the same place in another space; no other code maps between spaces.

    A pixel is mapped by the ratio of the extents, so that 0 stays 0 and the far edge stays the
    far edge.

    Args:
        point: the place, in any space.
        to: the space of the result.
        screen: size of the desktop in physical pixels.
        image: size of the picture that models see.
    """
    if point.space == to:
        return point
    from_w, from_h = _extent(point.space, screen, image)
    to_w, to_h = _extent(to, screen, image)
    return Point(point.x * to_w / from_w, point.y * to_h / from_h, to)


def convert_box(box: BoundingBox, to: Space, *, screen: Size, image: Size) -> BoundingBox:
    """Returns a box in another space: `convert` for both corners.

    Args:
        box: the box, in any space.
        to: the space of the result.
        screen: size of the desktop in physical pixels.
        image: size of the picture that models see.
    """
    if box.space == to:
        return box
    first = convert(Point(box.left, box.top, box.space), to, screen=screen, image=image)
    last = convert(Point(box.right, box.bottom, box.space), to, screen=screen, image=image)
    return BoundingBox(first.x, first.y, last.x, last.y, to)


def fit_within(size: Size, limit: Size) -> Size:
    """Returns the largest size of the same shape inside ``limit``, at most ``size`` itself."""
    scale = min(1.0, limit.width / size.width, limit.height / size.height)
    return Size(max(1, round(size.width * scale)), max(1, round(size.height * scale)))
