"""Waits until the screen has stopped changing and the applications have stopped working."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import NamedTuple

from PIL import ImageChops

from .x_screen import Frame, Screen

__all__ = ["Steady", "Work", "settle", "work_done"]

_POLL_SECONDS = 0.04
"""Between two looks; chosen by hand."""
_QUIET_SECONDS = 0.2
"""How long nothing may change on a settled screen; chosen by hand."""
_CARET_PIXELS = (3, 40)
"""Width and height within which a change is only a blinking text cursor."""
_BUSY_SHARE = 0.15
"""Of one core, over the quiet time: an application that works this much will still draw."""
_TICK = 1.0 / os.sysconf("SC_CLK_TCK")


class Work(NamedTuple):
    """What the applications do: processor seconds used so far, and whether one awaits its turn.

    On a busy machine an application that has much to do may use little: it stands in line for a
    processor or for the disk.
    """

    seconds: float
    waiting: bool


def work_done(skipped: frozenset[int]) -> Work:
    """The work of all processes that are seen, but for ``skipped`` and the X server."""
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


_TILE = 16
"""Side in pixels of the tiles whose changes are counted: a line of text."""
_STEADY = (4, 1.8)
"""Changes, and seconds from the first to the last of them in one wait, from which on a tile changes
steadily: what loads, or fades in, is over sooner and is waited for."""
_REMEMBERED = 60.0
"""Seconds for which that is remembered after its last change; chosen by hand."""
_MISSED = 3
"""Changes that stay away in a wait, from which on a tile is no longer taken for a steady one."""
_PAUSE = 0.5
"""Between two changes of a screen that never stands still, at most; chosen by hand."""

_Tile = tuple[int, int]


class Steady:
    """The parts of the screen that change all the time: a clock, prices, a clip that plays."""

    def __init__(self) -> None:
        self._began = self._ended = 0.0
        self._times: dict[_Tile, list[float]] = {}
        self._known: dict[_Tile, tuple[float, float]] = {}
        """When a tile changed last, and the seconds between two of its changes."""

    def begin(self, now: float) -> None:
        """Begin a wait; forget what stood still in the last one, or was not seen for long."""
        waited = self._ended - self._began
        self._known = {
            tile: (last, period)
            for tile, (last, period) in self._known.items()
            if last > now - _REMEMBERED and (tile in self._times or waited < _MISSED * period)
        }
        self._began, self._times = now, {}

    def watch(self) -> float:
        """Go on with the wait; returns the monotonic time."""
        self._ended = time.monotonic()
        return self._ended

    def others(self, tiles: set[_Tile], now: float) -> set[_Tile]:
        """Note tiles that changed; returns those of them that do not do so all the time."""
        count, span = _STEADY
        for tile in tiles:
            times = self._times.setdefault(tile, [])
            times.append(now)
            if tile in self._known or (len(times) >= count and now - times[0] >= span):
                period = self._known[tile][1] if len(times) < count else 0.0
                self._known[tile] = now, period or (now - times[0]) / (len(times) - 1)
        return tiles - self._known.keys()


def _changed(before: Frame, after: Frame) -> set[_Tile]:
    """The tiles that differ; none where it is but a caret."""
    if before.pixels == after.pixels:
        return set()
    difference = ImageChops.difference(before.image(), after.image())
    box = difference.getbbox()
    if box is None or (box[2] - box[0] <= _CARET_PIXELS[0] and box[3] - box[1] <= _CARET_PIXELS[1]):
        return set()
    left, top = box[0] // _TILE, box[1] // _TILE
    part = difference.crop((left * _TILE, top * _TILE, *box[2:]))
    red, green, blue = part.split()
    most = ImageChops.lighter(ImageChops.lighter(red, green), blue)
    tiles = most.point([0] + [255] * 255).reduce(_TILE)
    width = tiles.width
    return {
        (left + at % width, top + at // width) for at, value in enumerate(tiles.tobytes()) if value
    }


def settle(
    screen: Screen,
    seconds: float,
    look: Callable[[], Work] | None,
    steady: Steady | None = None,
    *,
    not_before: float = 0.0,
    restless: float | None = None,
) -> bool:
    """Wait until nothing has changed for the quiet time; returns False if ``seconds`` pass first.

    What changes steadily is no reason to wait, nor is the work that it takes.

    Args:
        screen: what is watched.
        seconds: the longest wait.
        look: what the applications do; None where it cannot be told.
        not_before: no screen counts as settled before this monotonic time.
        steady: what is known to change all the time; None: nothing.
        restless: the longest wait for a screen that changes without a pause; None: ``seconds``.
    """
    steady = steady or Steady()
    started = changed = time.monotonic()
    deadline, ticks = started + seconds, False
    steady.begin(started)
    frame, since, before = screen.grab(), started, _look(look)
    while (now := steady.watch()) < deadline:
        if now - since >= _QUIET_SECONDS and now >= not_before:
            work = _look(look)
            used = work.seconds - before.seconds
            if ticks or (used <= _BUSY_SHARE * (now - since) and not work.waiting):
                return True
            before, since, ticks = work, now, False
        time.sleep(min(_POLL_SECONDS, max(0.0, deadline - now)))
        latest = screen.grab()
        if tiles := _changed(frame, latest):
            now = time.monotonic()
            started, changed = started if now - changed <= _PAUSE else now, now
            others, frame = steady.others(tiles, now), latest
            ticks = not others
            if others:
                since, before = now, _look(look)
            if restless is not None and now - started >= restless:
                return False
    return False


def _look(look: Callable[[], Work] | None) -> Work:
    return look() if look else Work(0.0, False)
