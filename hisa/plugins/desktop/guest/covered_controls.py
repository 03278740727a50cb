"""Marks the controls of a page that something else covers, by asking the browser for hit tests.

A page's tree has no order of depth, and a screenshot does not show a transparent cover.
"""

from __future__ import annotations

import time

from .bus import Bus, Limit
from .dbus import arguments
from .node import BoundingBox, Node, flatten
from .x_screen import Frame

__all__ = ["mark_covered"]

_COVERED = "covered"
"""HiSA's own state of a control if another element gets the clicks on its centre."""
_EDGE = 3
"""Pixels by which a cover extends beyond a control, on at least three sides; what is drawn on a
control, as a hint or a handle, does not."""
_MOST = 8
"""Most covers that are tested in a reading, those of the most controls first; chosen by hand."""
_PAUSE, _TRIES = 0.01, 10
"""Chromium asks the page; until that answers, some 5 ms later, it returns a guess."""


def mark_covered(bus: Bus, windows: list[Node], frame: Frame, limit: Limit) -> None:
    """Adds the state "covered" to the controls of pages whose centre another element covers.

    If boxes and pixels are the same as at the last reading, its answer is used again.

    Args:
        bus: the accessibility bus; remembers the answers.
        windows: the windows that were read, with the nodes in them.
        frame: the screen before anything was read.
        limit: ends the reading.
    """
    known, bus.met = bus.met, {}
    for window in windows:
        pages = [n for n in flatten(window) if n.role == "document web" and n.shown]
        covers = _covers(pages[0]) if pages and not limit.hidden else []  # the first has the others
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
    """Returns possible covers with their controls: each extends beyond them, and is no relative.

    As a rule, what comes later in the page is above. A label's clicks go to its own control.
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
    """Whether one box contains the centre of another, and extends beyond three of its sides."""
    x, y = _middle(box)
    beyond = [cover[n] < box[n] - _EDGE for n in (0, 1)]
    beyond += [cover[n] > box[n] + _EDGE for n in (2, 3)]
    return cover[0] <= x < cover[2] and cover[1] <= y < cover[3] and sum(beyond) >= 3


def _is_met(bus: Bus, page: Node, cover: Node, control: Node, limit: Limit) -> bool:
    """Whether hit tests on a control's centre give the cover or a part of it, all but the first."""
    parts = {node.path for node in flatten(cover)}
    x, y = page.to_app_point(*_middle(control.box or (0, 0, 0, 0)))
    call = page.call("Component", "GetAccessibleAtPoint", arguments("iiu", x, y, 0))
    for number in range(_TRIES):
        (answer,) = bus.gather([call], limit)
        if number and (not answer or answer[0][1] not in parts):
            return False
        time.sleep(_PAUSE)
    return True
