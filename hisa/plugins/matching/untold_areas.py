"""Areas of a page that the picture shows and of which nothing is told: canvases, empty boxes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hisa.grounder.thing import Thing
from hisa.plugins.matching.scene import Scene
from hisa.plugins.matching.shown_parts import EDGE, FLAT
from hisa.screen.geometry import BoundingBox, grown
from hisa.screen.observation import Element, Observation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["untold_areas"]

_CELL = 4
"""Pixels; what is painted no further apart is one area."""
_LEAST = 24
"""Pixels; what is smaller is a mark or an arrow of something that is told, as a rule."""


def untold_areas(scene: Scene) -> list[Thing]:
    """The parts of the page, as things that say so; none where the look tells no holders."""
    look, elements = scene.observation, scene.observation.elements or ()
    pages = [element for element in elements if element.role == "document web"]
    if not pages or any(element.parent is None for element in elements):
        return []
    page = max(pages, key=lambda element: element.box.area)
    holders = {element.parent for element in elements}
    leaves = [e for n, e in enumerate(elements) if n not in holders]
    painted = _painted(look, page, [e for n, e in enumerate(elements) if n in holders], leaves)
    areas = sorted(_areas(painted), key=lambda box: (box.top, box.left))
    whole = (b for b in areas if not any(b != o and b.intersection(o) == b for o in areas))
    boxes = (look.convert_box(box, "screen") for box in whole)
    return [
        scene.framed(Thing(Element("drawing area", "", box, window=page.window), box))
        for box in boxes
        if not any(box.contains(leaf.box.centre) for leaf in leaves)
    ]


def _painted(
    look: Observation, page: Element, holders: list[Element], leaves: list[Element]
) -> NDArray[np.bool_]:
    """Marks the pixels of a page that differ from their neighbours if nothing told lies there."""
    import numpy as np  # which a start need not wait for

    grey = np.asarray(look.without_pointer.screenshot.pixels.convert("L"), dtype=np.int16)
    differ = np.zeros(grey.shape, dtype=bool)
    differ[:, 1:] |= abs(np.diff(grey, axis=1)) > FLAT
    differ[1:] |= abs(np.diff(grey, axis=0)) > FLAT
    for holder in holders:
        box = look.convert_box(holder.box, "image")
        inside = _part(differ, grown(box, -EDGE)).copy()
        _part(differ, grown(box, EDGE))[:] = False
        _part(differ, grown(box, -EDGE))[:] = inside
    for leaf in leaves:
        _part(differ, grown(look.convert_box(leaf.box, "image"), EDGE))[:] = False
    painted = np.zeros_like(differ)
    around = look.convert_box(page.box, "image")
    _part(painted, around)[:] = _part(differ, around)
    return painted


def _part(picture: NDArray[np.bool_], box: BoundingBox) -> NDArray[np.bool_]:
    left, top, right, bottom = (
        max(0, round(side)) for side in (box.left, box.top, box.right, box.bottom)
    )
    return picture[top:bottom, left:right]


def _areas(painted: NDArray[np.bool_]) -> Iterator[BoundingBox]:
    """The boxes around what is painted without a gap."""
    rows, columns = (painted.nonzero()[axis] // _CELL for axis in (0, 1))
    left = dict.fromkeys(zip(rows.tolist(), columns.tolist(), strict=True))
    while left:
        area: list[Any] = [left.popitem()[0]]
        for row, column in area:
            near = ((row + down, column + right) for down in (-1, 0, 1) for right in (-1, 0, 1))
            area += [cell for cell in near if left.pop(cell, 0) is None]
        ys, xs = zip(*area, strict=True)
        sides = [side * _CELL for side in (min(xs), min(ys), max(xs) + 1, max(ys) + 1)]
        box = BoundingBox(sides[0], sides[1], sides[2], sides[3], "image")
        if min(box.width, box.height) >= _LEAST:
            yield box
