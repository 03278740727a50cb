"""One measure of how slow the machine is just now, which every time limit is scaled by.

A limit that suits an idle machine breaks on a busy one: the same boot, reading of a screen or
conversion takes many times longer while others compete for the processors. `patience` stretches a
limit; it never shortens one, so a limit stays what it says on an idle machine.
"""

from __future__ import annotations

import os
import time
from functools import cache

__all__ = ["MOST", "Deadline", "patience", "slowness"]

MOST = 16.0
"""Largest stretch: a wait has to end, and at 16 times its length something else is wrong."""
_FRESH_SECONDS = 1.0
"""The load is read at most once in this time; a limit a moment old is as good as a new one."""
_LOOP, _REFERENCE_SECONDS = 20_000, 0.0022
"""Turns of the measured loop, and what they take on the 2-core Xeon VM that limits were set on."""

_last: tuple[float, float] | None = None


def patience(seconds: float) -> float:
    """``seconds`` as they are on an idle machine, stretched by what this one was measured to do."""
    return seconds * slowness()


class Deadline:
    """The end of a wait that moves away while the machine is busy: load may come in mid-wait.

    Args:
        seconds: the limit on an idle machine.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._started = time.monotonic()

    @property
    def left(self) -> float:
        """Seconds left as things stand now; 0 once the limit has passed."""
        return max(0.0, self._started + patience(self._seconds) - time.monotonic())

    @property
    def passed(self) -> bool:
        """Whether the limit has passed."""
        return self.left <= 0.0

    @property
    def waited(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started


def slowness() -> float:
    """How many times longer things take here than on the idle reference machine: 1 to `MOST`."""
    global _last
    now = time.monotonic()
    if _last is None or now - _last[0] > _FRESH_SECONDS:
        _last = (now, min(MOST, max(1.0, _processor() * _competition())))
    return _last[1]


@cache
def _processor() -> float:
    """Processor time of a fixed loop against the reference machine's; the best of five."""
    best = float("inf")
    for _ in range(5):
        started = time.thread_time()
        total = 0
        for number in range(_LOOP):
            total += number
        best = min(best, time.thread_time() - started)
    return max(1.0, best / _REFERENCE_SECONDS)


def _competition() -> float:
    """Runnable tasks a processor: what waits now, or waited in the last minute."""
    processors = len(os.sched_getaffinity(0)) or 1
    try:
        with open("/proc/loadavg", encoding="ascii") as file:
            minute, _, _, tasks, _ = file.read().split()
    except (OSError, ValueError):
        return 1.0
    waiting = max(float(minute), float(tasks.partition("/")[0]))
    return max(1.0, waiting / processors)
