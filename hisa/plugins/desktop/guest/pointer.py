"""Moves the pointer and presses its buttons through XTEST."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from Xlib import X
from Xlib.ext import xtest

__all__ = ["BUTTONS", "Pointer"]

BUTTONS = {"left": 1, "middle": 2, "right": 3}
_UP, _DOWN, _LEFT, _RIGHT = 4, 5, 6, 7
_DOUBLE_CLICK_SECONDS, _DOUBLE_CLICK_PIXELS = 0.45, 6
_REACTION_SECONDS = 0.04
"""Two frames of a page and the rest of a third: after that, a card that opens under the pointer is
painted. The client's `hisa.actions.unchanged_look` has the same number."""
_DRAG_SECONDS, _DRAG_STEPS = 0.25, 20
_PAST_PIXELS, _PAST_SECONDS = 5, 0.05
"""How far a drag goes beyond its end, and for how long. Lists that are sorted by dragging, as
jQuery UI's, make room for a row only once the pointer is past the middle of the row there."""


class Pointer:
    """Moves and clicks on one display.

    Args:
        display: an Xlib display that nothing else uses.
        size: width and height of the screen, in pixels.
        read: waits a moment for the window under the pointer to read its events.
        settle_press: the same, and for its program to handle them.
    """

    def __init__(
        self,
        display: Any,
        size: tuple[int, int],
        read: Callable[[], None],
        settle_press: Callable[[], None],
    ) -> None:
        self._display = display
        self._size = size
        self._read = read
        self._settle_press = settle_press
        self._last_click = (0.0, 0, 0)

    def place(self, x: float, y: float) -> tuple[int, int]:
        """Returns a point as whole pixels of the screen; the far edge counts as the last pixel.

        Raises:
            ValueError: the point is off the screen.
        """
        width, height = self._size
        if not (0 <= x <= width and 0 <= y <= height):
            raise ValueError(f"({x:g}, {y:g}) is off the screen of {width}x{height}")
        return min(round(x), width - 1), min(round(y), height - 1)

    def position(self) -> tuple[int, int]:
        """Returns the pointer's position in screen pixels."""
        answer = self._display.screen().root.query_pointer()
        return answer.root_x, answer.root_y

    def move(self, to: tuple[int, int], seconds: float = 0.0) -> None:
        """Moves to a point; with ``seconds``, in a straight line and in that time."""
        if seconds > 0:
            self._glide(to, seconds)
        self._jump(to)
        self._display.sync()

    def arrive(self, at: tuple[int, int]) -> None:
        """Moves to a point and waits until the window there has painted its reaction.

        If the pointer is there already, it moves away first: a window that opened under a resting
        pointer does not know of it.
        """
        if self.position() == at:
            self.move((at[0] - 1 if at[0] else 1, at[1]))
        self.move(at)
        self._read()
        time.sleep(_REACTION_SECONDS)

    def click(self, button: str, count: int) -> None:
        """Presses and releases a button ``count`` times at the present position."""
        for _ in range(count):
            self._button(X.ButtonPress, BUTTONS[button])
            self._display.sync()
            self._settle_press()
            self._button(X.ButtonRelease, BUTTONS[button])
            self._display.sync()
        self._last_click = (time.monotonic(), *self.position())

    def separate(self, at: tuple[int, int]) -> None:
        """Waits until a click at ``at`` no longer counts as the second half of a double click."""
        when, x, y = self._last_click
        near = abs(at[0] - x) < _DOUBLE_CLICK_PIXELS and abs(at[1] - y) < _DOUBLE_CLICK_PIXELS
        left = when + _DOUBLE_CLICK_SECONDS - time.monotonic()
        if near and left > 0:
            time.sleep(left)

    def down(self, button: str) -> None:
        """Presses a button and holds it."""
        self._button(X.ButtonPress, BUTTONS[button])
        self._display.sync()

    def up(self, button: str) -> None:
        """Releases a button, once the window there has read the pointer's movement."""
        self._read()
        self._button(X.ButtonRelease, BUTTONS[button])
        self._display.sync()

    def drag(self, to: tuple[int, int], button: str, seconds: float) -> None:
        """Drags from the present position a little past a point and back to it.

        The button is always released.

        Args:
            to: the end, in whole pixels of the screen.
            button: a name of `BUTTONS`.
            seconds: duration of the movement, at least 0.25.
        """
        past = self._find_overshoot(to)
        self.down(button)
        try:
            self.move(past, max(seconds, _DRAG_SECONDS))
            time.sleep(_PAST_SECONDS)
            self.move(to)
        finally:
            self.up(button)

    def scroll(self, dy: int, dx: int) -> None:
        """Turns the wheel by clicks: positive is up and right."""
        for count, positive, negative in ((dy, _UP, _DOWN), (dx, _RIGHT, _LEFT)):
            for _ in range(abs(count)):
                number = positive if count > 0 else negative
                self._button(X.ButtonPress, number)
                self._button(X.ButtonRelease, number)
        self._display.sync()

    def _find_overshoot(self, to: tuple[int, int]) -> tuple[int, int]:
        """Return the point a few pixels beyond the end of a drag; fewer after a short way."""
        x, y = self.position()
        way = math.dist((x, y), to)
        part = min(_PAST_PIXELS, way / 4) / way if way else 0.0
        width, height = self._size
        past_x, past_y = (
            round(end + (end - start) * part) for start, end in ((x, to[0]), (y, to[1]))
        )
        return min(max(past_x, 0), width - 1), min(max(past_y, 0), height - 1)

    def _glide(self, to: tuple[int, int], seconds: float) -> None:
        x, y = self.position()
        for step in range(1, _DRAG_STEPS):
            part = step / _DRAG_STEPS
            self._jump((round(x + (to[0] - x) * part), round(y + (to[1] - y) * part)))
            self._display.sync()
            time.sleep(seconds / _DRAG_STEPS)

    def _jump(self, to: tuple[int, int]) -> None:
        xtest.fake_input(self._display, X.MotionNotify, x=to[0], y=to[1])

    def _button(self, kind: int, number: int) -> None:
        xtest.fake_input(self._display, kind, number)
