"""Converts reported boxes to screen pixels, by the windows that the X server knows.

A toolkit that draws larger for a fine screen (GDK_SCALE, QT_SCALE_FACTOR) reports boxes as if it
did not: with a factor of 2, a window at half its coordinates and of half its size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .node import BoundingBox, Node, flatten
from .x_screen import TopWindow

__all__ = ["to_pixels"]

_SCALES = (1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 3.0)
_SLACK = 8
"""Pixels by which an edge may be off: reported ones are rounded, and toolkits have borders of their
own. Chosen by hand."""
_LEAST_SHARE = 0.5
"""Least overlap, as intersection over union, of two boxes of one window, which may have been
resized between two replies. Chosen by hand."""

_Outlines = Mapping[str, Sequence[BoundingBox]]
"""Boxes of the windows on the screen by their titles; "" has those that no application reports."""


def to_pixels(windows: list[Node], shown: Iterable[TopWindow]) -> bool:
    """Multiplies the boxes of applications that draw larger than they report.

    A reported window is compared with the windows of its title on the screen. An application that
    reports no title on the screen may be any window that no other one reports. Menus and lists of
    choices have the factor of their application's other windows. A window that is reported far from
    every window of its title loses its boxes, so that no click goes where it is not.

    Returns:
        Whether boxes were lost.
    """
    outlines = _outlines(windows, shown)
    apps: dict[str, list[Node]] = {}
    for node in windows:
        apps.setdefault(node.name_on_bus, []).append(node)
    lost = [_place(app, outlines) for app in apps.values()]
    return any(lost)


def _outlines(windows: Iterable[Node], shown: Iterable[TopWindow]) -> _Outlines:
    titles = {window.window for window in windows}
    outlines: dict[str, list[BoundingBox]] = {"": []}
    for window in shown:
        title = window.title if window.title in titles else ""
        outlines.setdefault(title, []).extend((window.box, *window.outlines))
    return outlines


def _place(windows: list[Node], outlines: _Outlines) -> bool:
    """Scale the windows of one application; return whether some have no match on the screen."""
    titled = [outlines.get(window.window, ()) if window.window else () for window in windows]
    fits = list(map(_fit, windows, titled))
    if not any(fits) and not any(titled):
        fits = [_fit(window, outlines[""]) for window in windows]
    usual = next(filter(None, fits), 1.0)
    astray = [
        fit is None and _is_astray(window, usual, own)
        for window, fit, own in zip(windows, fits, titled, strict=True)
    ]
    nobody = any(astray) and not any(fits)
    for window, fit, lost in zip(windows, fits, astray, strict=True):
        if lost or nobody:
            _forget(window)
        else:
            _multiply(window, fit or usual)
    return any(astray)


def _fit(window: Node, outlines: Sequence[BoundingBox]) -> float | None:
    """Returns the factor by which the reported box fits an outline; None if there is none."""
    if window.box is None:
        return None
    errors = [
        (_error(_scale_box(window.box, scale), outline), scale)
        for outline in outlines
        for scale in _SCALES
    ]
    error, scale = min(errors, default=(_SLACK + 1, 1.0))
    return scale if error <= _SLACK else None


def _is_astray(window: Node, scale: float, outlines: Sequence[BoundingBox]) -> bool:
    """Whether there are windows of its title, and all of them are elsewhere."""
    if window.box is None or not outlines:
        return False
    box = _scale_box(window.box, scale)
    return all(_share(box, outline) < _LEAST_SHARE for outline in outlines)


def _multiply(window: Node, scale: float) -> None:
    """Multiply all boxes except those of pages, which browsers report in screen pixels."""
    stack: list[tuple[Node, BoundingBox | None]] = [(window, None)] if scale != 1.0 else []
    while stack:
        node, holder = stack.pop()
        if node.box is not None:
            if holder is not None and _error(node.box, holder) <= _SLACK:
                continue
            node.scale, node.box = scale, _scale_box(node.box, scale)
        stack += [(child, node.box or holder) for child in node.children]


def _forget(window: Node) -> None:
    for node in flatten(window):
        node.box = None


def _scale_box(box: BoundingBox, scale: float) -> BoundingBox:
    left, top, right, bottom = (round(scale * edge) for edge in box)
    return left, top, right, bottom


def _error(box: BoundingBox, other: BoundingBox) -> int:
    """Returns the pixels by which two boxes differ at the edge that differs most."""
    return max(abs(a - b) for a, b in zip(box, other, strict=True))


def _share(box: BoundingBox, other: BoundingBox) -> float:
    """Returns the intersection of two boxes over their union."""
    width = min(box[2], other[2]) - max(box[0], other[0])
    height = min(box[3], other[3]) - max(box[1], other[1])
    shared_area = max(0, width) * max(0, height)
    return shared_area / (_area(box) + _area(other) - shared_area)


def _area(box: BoundingBox) -> int:
    return (box[2] - box[0]) * (box[3] - box[1])
