"""Compares the screen with an earlier look, at the very moment of an act.

Between a look and the act that was decided on it, a client needs a tenth of a second or more. A
dialog that opens in that time would get the click.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

from .screen_settling import has_changed
from .x_screen import Frame, Screen, TopWindow

__all__ = ["RecentLooks", "read_held"]

_CAPACITY = 6
"""Number of looks that are kept, 4 to 8 MB each: after the look on which an act was decided, a
client may look for changes, read the elements twice, and check a secret."""

_Windows = frozenset[tuple[int, bool]]


class RecentLooks:
    """The last few looks, by the names under which they were sent."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._looks: OrderedDict[str, tuple[Frame, _Windows]] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, frame: Frame, windows: Iterable[TopWindow]) -> str:
        """Keeps a look; returns its name."""
        with self._lock:
            name = str(next(self._numbers))
            self._looks[name] = (frame, _summarize_windows(windows))
            while len(self._looks) > _CAPACITY:
                self._looks.popitem(last=False)
            return name

    def difference(self, name: str, boxes: Sequence[Sequence[int]], screen: Screen) -> str:
        """Returns how the screen differs from a look; empty if windows and boxes are the same.

        Args:
            name: the look's name.
            boxes: the boxes to compare, each as left, top, right and bottom in screen pixels.
            screen: the present screen.
        """
        with self._lock:
            entry = self._looks.get(name)
        if entry is None:
            return "the look on which it was decided is no longer kept"
        frame, windows = entry
        if _summarize_windows(screen.windows()) != windows:
            return "another window came, went or is in front"
        now = screen.grab()  # last, because later changes are missed
        if (now.width, now.height) != (frame.width, frame.height):
            return "the screen has another size"
        for box in boxes:
            left, top, right, bottom = box
            if has_changed(frame, now, (left, top, right, bottom)):
                return f"the screen changed between ({left}, {top}) and ({right}, {bottom})"
        return ""


def _summarize_windows(windows: Iterable[TopWindow]) -> _Windows:
    return frozenset((window.id, window.active) for window in windows)


def read_held(fields: Any) -> tuple[str, list[list[int]]]:
    """Reads the look and the boxes of a precondition: ``{"look": name, "boxes": [[…], …]}``.

    Raises:
        ValueError: the value does not have that form.
    """
    name = fields.get("look") if isinstance(fields, dict) else None
    boxes = fields.get("boxes") if isinstance(fields, dict) else None
    if not isinstance(name, str) or not isinstance(boxes, list) or len(boxes) > 20:
        raise ValueError(f"unchanged must have look and at most 20 boxes, not {fields!r:.80}")
    for box in boxes:
        is_valid = isinstance(box, list) and len(box) == 4 and all(type(n) is int for n in box)
        if not is_valid or not (0 <= box[0] < box[2] and 0 <= box[1] < box[3]):
            raise ValueError(f"unchanged: a box must be four whole numbers, not {box!r:.80}")
    return name, boxes
