"""Waits until the screen has stopped changing and the applications have stopped working."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from PIL import ImageChops

from .screen import Frame, Screen

__all__ = ["cpu_seconds", "settle"]

_POLL_SECONDS = 0.04
_QUIET_SECONDS = 0.2
_CARET_PIXELS = (3, 40)
"""Width and height within which a change is only a blinking text cursor."""
_BUSY_SHARE = 0.3
"""Of one core, over the quiet time: an application that works this much will still draw."""
_TICK = 1.0 / os.sysconf("SC_CLK_TCK")


def cpu_seconds(skipped: frozenset[int]) -> float:
    """Processor time used so far by all processes seen, but for ``skipped`` and the X server."""
    total = 0
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
    return total * _TICK


def _changed(before: Frame, after: Frame) -> bool:
    if before.pixels == after.pixels:
        return False
    box = ImageChops.difference(before.image(), after.image()).getbbox()
    if box is None:
        return False
    width, height = box[2] - box[0], box[3] - box[1]
    return width > _CARET_PIXELS[0] or height > _CARET_PIXELS[1]


def settle(screen: Screen, seconds: float, used: Callable[[], float] | None) -> bool:
    """Wait until nothing has changed for the quiet time, at most ``seconds``; whether it has.

    Args:
        screen: what is watched.
        seconds: the longest wait.
        used: processor time used by the applications so far; None where it cannot be told.
    """
    deadline = time.monotonic() + seconds
    frame, since = screen.grab(), time.monotonic()
    work = used() if used else 0.0
    while (now := time.monotonic()) < deadline:
        if now - since >= _QUIET_SECONDS:
            done = used() if used else 0.0
            if done - work <= _BUSY_SHARE * (now - since):
                return True
            work, since = done, now
        time.sleep(min(_POLL_SECONDS, max(0.0, deadline - now)))
        latest = screen.grab()
        if _changed(frame, latest):
            frame, since = latest, time.monotonic()
            work = used() if used else 0.0
    return False
