"""The buttons in the title bars that a window manager draws."""

from __future__ import annotations

import itertools

from hisa.grounder.thing import Thing, square_around
from hisa.plugins.reading.blobs import Blob, Sides, look_at_boxes, measure_steps
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation, Window

__all__ = ["title_buttons"]

_HIGH = 44
"""Pixels of the screen above a window's contents in which its title bar lies."""
_ASIDE = 8
"""Pixels by which a frame is wider than what it frames."""
_REACH = 160
"""Pixels of the screen from the corner within which the buttons stand."""
_APART = 4.6
"""How far apart they stand at most, of the width of the larger one."""
_LEAST = 3
"""Pixels of the picture; what is smaller is no button."""
_FAINT = 28
"""Steps of 255 from the title bar that make a button or its sign."""
_SIGNS = {"cross": "Close", "square": "Maximize", "minus": "Minimize"}
_IN_ORDER = ("Close", "Maximize", "Minimize")
"""The order in which window managers put three buttons, from the right."""
_BY_PLACE = 0.6
"""How sure the name of a button is whose sign is not clear, amid three."""


def title_buttons(window: Window, observation: Observation) -> list[Thing]:
    """Find the buttons that are seen above a window's contents, named by their signs.

    Three alike at the right end are named by their order where they are too small to be told
    apart. None where nothing like a button is seen.
    """
    if window.box is None or _is_covered(window, observation):
        return []
    for at_right in (True, False):
        row = _find_row(window.box, observation, at_right=at_right)
        names = [_SIGNS.get(blob.glyph.name, "") for blob in row]
        if not {"Close"} & set(names) and len(set(names) - {""}) < 2:
            names = list(_IN_ORDER) if at_right and _are_three(row) else []
        if names and len(set(names) - {""}) == len(names) - names.count(""):
            pairs = zip(row, names, strict=True)
            return [_button(blob, name, window, observation) for blob, name in pairs if name]
    return []


def _find_row(box: BoundingBox, observation: Observation, *, at_right: bool) -> list[Blob]:
    """The shapes at one end of the title bar, from the corner inwards."""
    left = box.right - _REACH if at_right else box.left - _ASIDE
    strip = BoundingBox(left, box.top - _HIGH, left + _REACH + _ASIDE, box.top, "screen")
    blobs = _find_shapes(strip, box, observation)
    blobs.sort(key=lambda blob: -blob.box.right if at_right else blob.box.left)
    row: list[Blob] = []
    for blob in blobs:
        if not row or _are_beside(row[-1].box, blob.box):
            row.append(blob)
    return row


def _are_beside(first: BoundingBox, second: BoundingBox) -> bool:
    apart = abs(first.centre.x - second.centre.x)
    wide = max(first.width, second.width)
    level = second.top < first.bottom + 1 and second.bottom > first.top - 1
    return level and wide <= apart <= _APART * wide + 2


def _are_three(row: list[Blob]) -> bool:
    """Whether there are three of one size, equally far from each other."""
    if len(row) != 3:
        return False
    boxes = [blob.box for blob in row]
    sizes = [(b.width, b.height) for b in boxes]
    steps = [box.centre.x - other.centre.x for box, other in itertools.pairwise(boxes)]
    same_size = all(abs(size[i] - sizes[0][i]) <= 1 for size in sizes for i in (0, 1))
    squares = all(0.75 <= width / height <= 1.34 for width, height in sizes)
    return same_size and squares and abs(steps[0] - steps[1]) <= 1


def _find_shapes(strip: BoundingBox, of: BoundingBox, observation: Observation) -> list[Blob]:
    """Find what differs from the colour of its row: title bars are shaded from top to bottom."""
    import numpy as np
    from scipy import ndimage

    window_box = observation.convert_box(of, "image")
    part = observation.convert_box(strip, "image")
    left, right = max(0, int(window_box.left)), min(observation.image.width, int(window_box.right))
    top, bottom = max(0, int(part.top)), int(part.bottom)
    if bottom - top < _LEAST or right - left < _LEAST:
        return []
    pixels = np.asarray(observation.screenshot.pixels.crop((left, top, right, bottom)))
    ground = np.sort(pixels, axis=1)[:, pixels.shape[1] // 2]
    mask = measure_steps(pixels, np.broadcast_to(ground[:, None], pixels.shape)) > _FAINT
    labels, _ = ndimage.label(mask, structure=np.ones((3, 3), dtype=int))
    boxes: list[Sides] = []
    for rows, columns in ndimage.find_objects(labels):
        sides = (columns.start, rows.start, columns.stop, rows.stop)
        if _may_be_button(sides, pixels.shape[0]) and not _is_inside(sides, boxes):
            boxes.append(sides)
    around = [(f[0] - 1, f[1] - 1, f[2] + 1, f[3] + 1) for f in boxes if f[0] > 0]
    inside = [_move_blob(blob, left, top) for blob in look_at_boxes(pixels, around)]
    return [blob for blob in inside if part.contains(blob.box.centre)]


def _may_be_button(sides: Sides, high: int) -> bool:
    width, height = sides[2] - sides[0], sides[3] - sides[1]
    touches = sides[1] == 0 or sides[3] == high
    return not touches and _LEAST <= width <= 40 and height >= 2 and width / height <= 8


def _is_inside(sides: Sides, boxes: list[Sides]) -> bool:
    """Whether it stands in one that was found: its sign, then."""
    return any(
        f[0] <= sides[0] and f[1] <= sides[1] and sides[2] <= f[2] and sides[3] <= f[3]
        for f in boxes
    )


def _move_blob(blob: Blob, left: int, top: int) -> Blob:
    box = blob.box
    at = BoundingBox(box.left + left, box.top + top, box.right + left, box.bottom + top)
    return Blob(at, blob.glyph, blob.framed, blob.colour)


def _button(blob: Blob, name: str, window: Window, observation: Observation) -> Thing:
    active = observation.active is None or window.title == observation.active.title
    sign = blob.glyph.name
    box = square_around(observation.convert_box(blob.box, "screen"))
    element = Element(
        "push button",
        name,
        box,
        app=window.app,
        window=window.title,
        description=" ".join(filter(None, (blob.colour, sign, "in the title bar"))),
    )
    sure = blob.glyph.sure if sign in _SIGNS else _BY_PLACE
    return Thing(element, box, (), 1.0 if active else 0.85, sure)


def _is_covered(window: Window, observation: Observation) -> bool:
    """Whether the active window lies over the right end of the title bar."""
    active = observation.active
    if active is None or active is window or active.box is None or window.box is None:
        return False
    corner = BoundingBox(
        window.box.right - _REACH / 2,
        window.box.top - _HIGH / 2,
        window.box.right,
        window.box.top,
        "screen",
    )
    return active.box.contains(corner.centre)
