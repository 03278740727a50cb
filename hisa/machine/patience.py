"""Measures how slow the machine is at the moment; every time limit is scaled by it.

A limit that suits an idle machine is too short on a busy one: the same boot, screen reading or
conversion takes many times longer while others compete for the processors. `patience` lengthens a
limit and never shortens it, so on an idle machine the limit is unchanged.
"""

from __future__ import annotations

import os
import time
from functools import cache

__all__ = ["MOST", "Deadline", "patience", "slowness"]

MOST = 16.0
"""Largest factor: a wait has to end, and at 16 times its length something else is wrong."""
_FRESH_SECONDS = 1.0
"""The load is read at most once in this time; a value of this age is still good enough."""
_LOOP, _REFERENCE_SECONDS = 20_000, 0.0022
"""Iterations of the measured loop, and their time on the 2-core Xeon VM where limits were set."""

_last: tuple[float, float] | None = None


def patience(seconds: float) -> float:
    """Returns a time limit for this machine: ``seconds`` scaled by `slowness`."""
    return seconds * slowness()


class Deadline:
    """The end of a wait, postponed while the machine is busy: load may begin during the wait.

    Args:
        seconds: the limit on an idle machine.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._started = time.monotonic()

    @property
    def left(self) -> float:
        """Seconds left at the present load; 0 once the limit has passed."""
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
    """Returns how much slower this machine is than the idle reference machine, 1 to `MOST`."""
    global _last
    now = time.monotonic()
    if _last is None or now - _last[0] > _FRESH_SECONDS:
        _last = (now, min(MOST, max(1.0, _processor() * _competition())))
    return _last[1]


@cache
def _processor() -> float:
    """Returns the best of five times of a fixed loop, relative to the reference machine."""
    best = float("inf")
    for _ in range(5):
        started = time.thread_time()
        total = 0
        for number in range(_LOOP):
            total += number
        best = min(best, time.thread_time() - started)
    return max(1.0, best / _REFERENCE_SECONDS)


def _competition() -> float:
    """Returns the runnable tasks per processor, now or in the last minute, the larger one."""
    affinity = getattr(os, "sched_getaffinity", None)
    processors = (len(affinity(0)) if affinity else os.cpu_count()) or 1
    try:
        with open("/proc/loadavg", encoding="ascii") as file:
            minute, _, _, tasks, _ = file.read().split()
    except (OSError, ValueError):  # Linux alone has it
        return 1.0
    waiting = max(float(minute), float(tasks.partition("/")[0]))
    return max(1.0, waiting / processors)
