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
        pages = [n for n in flatten(window) if n.role == "document web" and n.shown]
        covers = _covers(pages[0]) if pages and not limit.hidden else []  # others lie in it
        picture = frame.image() if covers else None
        for cover, controls in sorted(covers, key=lambda pair: -len(pair[1]))[:_MOST]:
            first = controls[0]
            drawn = picture and hash(picture.crop(first.box).tobytes())
            key = cover.path, cover.box, first.path, first.box, drawn
            met = known[key] if key in known else _is_met(bus, pages[0], cover, first, limit)
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
    covers: dict[int, tuple[Node, list[Node]]] = {}
    for number, control in enumerate(nodes):
        if "focusable" not in control.states or control.box is None:
            continue
        for other in reversed(large):
            is_part = number <= other < ends[number] or other < number < ends[other]
            if not is_part and _reaches(nodes[other].box or control.box, control.box):
                covers.setdefault(other, (nodes[other], []))[1].append(control)
                break
    return list(covers.values())


def _middle(box: BoundingBox) -> tuple[int, int]:
    return (box[0] + box[2]) // 2, (box[1] + box[3]) // 2


def _reaches(cover: BoundingBox, box: BoundingBox) -> bool:
    """Whether one box has the middle of another, and goes beyond three of its sides."""
    x, y = _middle(box)
    beyond = [cover[n] < box[n] - _EDGE for n in (0, 1)]
    beyond += [cover[n] > box[n] + _EDGE for n in (2, 3)]
    return cover[0] <= x < cover[2] and cover[1] <= y < cover[3] and sum(beyond) >= 3


def _is_met(bus: Bus, page: Node, cover: Node, control: Node, limit: Limit) -> bool:
    """Whether a click on a control meets the cover or a part of it, each time after the first."""
    parts = {node.path for node in flatten(cover)}
    x, y = page.to_app_point(*_middle(control.box or (0, 0, 0, 0)))
    call = page.call("Component", "GetAccessibleAtPoint", arguments("iiu", x, y, 0))
    for number in range(_TRIES):
        (answer,) = bus.gather([call], limit)
        if number and (not answer or answer[0][1] not in parts):
            return False
        time.sleep(_PAUSE)
    return True
