"""Waits until the screen has stopped changing and the applications have stopped working."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import NamedTuple

from PIL import ImageChops

from .node import BoundingBox
from .x_screen import Frame, Screen

__all__ = ["Work", "has_changed", "settle", "work_done"]

_POLL_SECONDS = 0.04
"""Pause between two looks; chosen by hand."""
_QUIET_SECONDS = 0.2
"""A screen has settled if nothing changes for this long; chosen by hand."""
_CARET_PIXELS = (3, 40)
"""Width and height within which a change is only a blinking text cursor."""
_BUSY_SHARE = 0.15
"""Share of one core over the quiet time: an application that works this much will still draw."""
_TICK = 1.0 / os.sysconf("SC_CLK_TCK")


class Work(NamedTuple):
    """What the applications do: processor seconds used so far, and whether one awaits its turn.

    On a busy machine, an application that has much to do may use little, because it waits for a
    processor or for the disk.
    """

    seconds: float
    waiting: bool


def work_done(skipped: frozenset[int]) -> Work:
    """Returns the work of all visible processes, except ``skipped`` and the X server."""
    total, waiting = 0, False
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) in skipped:
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                head, _, rest = file.read().rpartition(")")
        except OSError:
            continue
        if not head.endswith("(Xvfb"):
            fields = rest.split()
            total += int(fields[11]) + int(fields[12])
            waiting = waiting or fields[0] in "DR"
    return Work(total * _TICK, waiting)


_PAUSE = 0.5
"""Longest time between two changes of a screen that never stands still; chosen by hand."""


def has_changed(before: Frame, after: Frame, part: BoundingBox | None = None) -> bool:
    """Whether two pictures differ by more than a blinking caret.

    Args:
        before: the earlier picture of the screen.
        after: the later one, of the same size.
        part: the box to compare, in screen pixels; None: the whole screen.
    """
    if before.pixels == after.pixels:
        return False
    image, other = before.image(), after.image()
    if part is not None:
        image, other = image.crop(part), other.crop(part)
    box = ImageChops.difference(image, other).getbbox()
    if box is None:
        return False
    return box[2] - box[0] > _CARET_PIXELS[0] or box[3] - box[1] > _CARET_PIXELS[1]


def settle(
    screen: Screen,
    seconds: float,
    look: Callable[[], Work] | None,
    *,
    not_before: float = 0.0,
    restless: float | None = None,
) -> bool:
    """Waits until nothing has changed for the quiet time; returns False if ``seconds`` pass first.

    Args:
        screen: the screen to watch.
        seconds: the longest wait.
        look: returns what the applications do; None if unknown.
        not_before: monotonic time before which no screen counts as settled.
        restless: the longest wait for a screen that changes without a pause; None: ``seconds``.
    """
    started = last = time.monotonic()
    deadline = started + seconds
    frame, since, before = screen.grab(), started, _look(look)
    while (now := time.monotonic()) < deadline:
        if now - since >= _QUIET_SECONDS and now >= not_before:
            work = _look(look)
            used = work.seconds - before.seconds
            if used <= _BUSY_SHARE * (now - since) and not work.waiting:
                return True
            before, since = work, now
        time.sleep(min(_POLL_SECONDS, max(0.0, deadline - now)))
        latest = screen.grab()
        if has_changed(frame, latest):
            now = time.monotonic()
            started, last = started if now - last <= _PAUSE else now, now
            since, before, frame = now, _look(look), latest
            if restless is not None and now - started >= restless:
                return False
    return False


def _look(look: Callable[[], Work] | None) -> Work:
    return look() if look else Work(0.0, False)
