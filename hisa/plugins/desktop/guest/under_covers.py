"""Marks the controls of a page that lie under something else, by what the browser says is met.

A page's tree has no order of depth, and a picture no veil that lets through what it lies over.
"""

from __future__ import annotations

import time

from .bus import Bus, Limit
from .dbus import arguments
from .node import BoundingBox, Node, flatten
from .x_screen import Frame

__all__ = ["mark_covered"]

_COVERED = "covered"
"""The state, of our own, of a control whose middle another thing takes the clicks of."""
_EDGE = 3
"""Pixels by which a cover reaches beyond a control, on three sides: what is drawn on one, as a hint
or a handle, does not."""
_MOST = 8
"""Covers that are asked about in a reading, those of the most controls first; chosen by hand."""
_PAUSE, _TRIES = 0.01, 10
"""Chromium asks the page, and until that answers, some 5 ms later, tells what it guesses."""


def mark_covered(bus: Bus, windows: list[Node], frame: Frame, limit: Limit) -> None:
    """Give the state to the controls of pages whose middle meets what lies over them.

    Where places and pixels are as they were at the last reading, so is the answer.
    """
    known, bus.met = bus.met, {}
    for window in windows:
        pages = [node for node in flatten(window) if node.role == "document web" and node.shown]
        for page in pages[:1]:  # what others there are lie in it
            covers = sorted(_covers(page), key=lambda pair: len(pair[1]), reverse=True)[:_MOST]
            picture = frame.image() if covers else None
            for cover, controls in covers:
                first = controls[0]
                drawn = picture and hash(picture.crop(first.box).tobytes())
                key = cover.path, cover.box, first.path, first.box, drawn
                met = known.get(key) or (
                    key not in known and _is_met(bus, page, cover, _middle(first), limit)
                )
                bus.met |= {} if limit.ran_out else {key: met}
                for control in controls if met else ():
                    control.states |= {_COVERED}


def _covers(page: Node) -> list[tuple[Node, list[Node]]]:
    """Returns what may lie over which controls: it reaches beyond them, and neither has the other.

    What comes later in the page lies above, as a rule; a label's clicks are its control's own.
    """
    nodes = flatten(page)
    ends = [number + len(flatten(node)) for number, node in enumerate(nodes)]
    large = [n for n, node in enumerate(nodes) if n and node.box and node.role != "label"]
    found: dict[int, tuple[Node, list[Node]]] = {}
    for number, control in enumerate(nodes):
        if "focusable" not in control.states or control.box is None:
            continue
        for other in reversed(large):
            is_part = number <= other < ends[number] or other < number < ends[other]
            if not is_part and _reaches(nodes[other].box or control.box, control.box):
                found.setdefault(other, (nodes[other], []))[1].append(control)
                break
    return list(found.values())


def _middle(node: Node) -> tuple[int, int]:
    left, top, right, bottom = node.box or (0, 0, 0, 0)
    return (left + right) // 2, (top + bottom) // 2


def _reaches(cover: BoundingBox, box: BoundingBox) -> bool:
    """Whether one box has the middle of another, and goes beyond three of its sides."""
    beyond = (
        cover[0] < box[0] - _EDGE,
        cover[1] < box[1] - _EDGE,
        cover[2] > box[2] + _EDGE,
        cover[3] > box[3] + _EDGE,
    )
    across = cover[0] <= (box[0] + box[2]) // 2 < cover[2]
    return across and cover[1] <= (box[1] + box[3]) // 2 < cover[3] and sum(beyond) >= 3


def _is_met(bus: Bus, page: Node, cover: Node, at: tuple[int, int], limit: Limit) -> bool:
    """Whether a click there meets the cover or a part of it, each time after the first."""
    parts = {node.path for node in flatten(cover)}
    call = page.call("Component", "GetAccessibleAtPoint", arguments("iiu", *page.as_told(*at), 0))
    for number in range(_TRIES):
        (answer,) = bus.gather([call], limit)
        if number and (not answer or answer[0][1] not in parts):
            return False
        time.sleep(_PAUSE)
    return True
