"""Chooses and enlarges a part of a picture, and converts points on it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hisa.screen.geometry import BoundingBox, Point, Size
from hisa.screen.observation import Screenshot

__all__ = ["ENLARGED", "Part", "closer_part"]

ENLARGED = 2
"""Factor by which a part is enlarged, to the size of the whole picture again."""
_INSIDE = 0.9
"""Share of a part's side that its points may span, so that they have some margin."""


@dataclass(frozen=True)
class Part:
    """A part of a picture; its box has whole pixels."""

    box: BoundingBox
    picture: Size
    """Size of the whole picture."""

    @property
    def corners(self) -> tuple[int, int, int, int]:
        """Left, top, right, bottom."""
        box = self.box
        return int(box.left), int(box.top), int(box.right), int(box.bottom)

    @property
    def words(self) -> str:
        """Its place in words for a model: "the upper left part of the screen"."""
        down = _third(self.box.centre.y / self.picture.height, ("upper", "", "lower"))
        across = _third(self.box.centre.x / self.picture.width, ("left", "", "right"))
        side = " ".join(word for word in (down, across) if word) or "middle"
        return f"the {side} part of the screen"

    def enlarge(self, screenshot: Screenshot) -> Screenshot:
        """Returns the part of a screenshot, enlarged."""
        width, height = round(self.box.width), round(self.box.height)
        part = screenshot.full.crop(screenshot.box_on(screenshot.full, self.box))
        return part.resize_to(Size(ENLARGED * width, ENLARGED * height))

    def to_picture(self, point: Point) -> Point:
        """Returns the point of the whole picture for a point on the enlarged part."""
        x, y = point.x / ENLARGED, point.y / ENLARGED
        return Point(self.box.left + x, self.box.top + y, point.space)


def closer_part(picture: Size, point: Point | None, others: Sequence[Point]) -> Part | None:
    """Returns the part to look at more closely, half of each side; None if there is no point.

    It holds the point and as many of the others, taken in their order, as fit with it.

    Args:
        picture: the whole picture's size.
        point: the likeliest place of the target; None: not known.
        others: other possible places, the likeliest first.
    """
    inside = [point] if point is not None else []
    wide, high = picture.width // ENLARGED, picture.height // ENLARGED
    for other in others:
        if _fits([*inside, other], _INSIDE * wide, _INSIDE * high):
            inside.append(other)
    if not inside or not wide or not high:
        return None
    left = _begin([at.x for at in inside], wide, picture.width)
    top = _begin([at.y for at in inside], high, picture.height)
    return Part(BoundingBox(left, top, left + wide, top + high), picture)


def _fits(points: Sequence[Point], wide: float, high: float) -> bool:
    across, down = [at.x for at in points], [at.y for at in points]
    return max(across) - min(across) <= wide and max(down) - min(down) <= high


def _begin(values: Sequence[float], length: int, total: int) -> int:
    """Returns the start of a stretch inside the picture, centred on the values if possible."""
    middle = (min(values) + max(values)) / 2
    return round(min(max(0.0, middle - length / 2), total - length))


def _third(share: float, words: tuple[str, str, str]) -> str:
    return words[min(2, int(3 * share))]
