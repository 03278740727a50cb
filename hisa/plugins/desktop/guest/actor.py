"""Does the actions that a client sends as JSON."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from Xlib.display import Display

from .act_limits import (
    MAX_ACTIONS,
    MAX_CLICKS,
    MAX_COORDINATE,
    MAX_INTERVAL,
    MAX_KEYS,
    MAX_PRESSES,
    MAX_SCROLL,
    MAX_SECONDS,
    MAX_TEXT,
)
from .keyboard import Keyboard
from .pointer import BUTTONS, Pointer
from .screen_settling import Work, settle
from .window_sync import ManagerSync, Pinger
from .x_screen import Screen

__all__ = ["ActionError", "Actor", "ScreenDifference"]

_KEYBOARD = frozenset({"write", "press", "hotkey", "key_down", "key_up"})
_BUTTONS = frozenset({"click", "drag", "mouse_down", "mouse_up"})


_LONGEST_SECONDS = 2.0
"""Longest wait between two actions: an office program draws a dialog in about half of it."""
_ALL_SECONDS = 30.0
"""Limit for all waits of one list, so that a long list ends before its request times out."""
_BRINGING = frozenset({"click", "drag", "mouse_up", "press", "hotkey", "write"})
_NEEDING = frozenset({"click", "drag", "mouse_down", "press", "hotkey", "write", "key_down"})


class ActionError(Exception):
    """An action that cannot be done; those before it are done.

    Args:
        message: what is wrong with it.
        completed_count: the number of actions that were done.
    """

    def __init__(self, message: str, completed_count: int) -> None:
        super().__init__(message)
        self.completed_count = completed_count


class ScreenDifference(Exception):
    """The screen has changed since the look on which the actions were decided; none was done."""


class Actor:
    """Acts on one display; one list of actions at a time.

    Args:
        screen: the display.
        work: returns what the applications do, for the waits between actions; None if unknown.
    """

    def __init__(self, screen: Screen, *, work: Callable[[], Work] | None = None) -> None:
        self._lock = threading.Lock()
        display = Display(screen.name)
        self._manager = ManagerSync(screen)
        self._clicked = False
        pinger = Pinger(screen)
        self._pointer = Pointer(
            display, (screen.width, screen.height), pinger.glance, pinger.settle_press
        )
        self._pace = _ActionPacing(screen, pinger.wait, work)
        self._keyboard = Keyboard(display, pinger.has_read, self._pace.pause)
        self._doers: dict[str, Callable[[Mapping[str, Any]], None]] = {
            "click": self._click,
            "move": self._move,
            "drag": self._drag,
            "scroll": self._scroll,
            "write": self._write,
            "press": self._press,
            "hotkey": self._hotkey,
            "key_down": lambda action: self._keyboard.down(_text(action, "key")),
            "key_up": lambda action: self._keyboard.up(_text(action, "key")),
            "mouse_down": self._mouse_down,
            "mouse_up": self._mouse_up,
            "sleep": lambda action: time.sleep(_number(action, "seconds", 0, MAX_SECONDS)),
        }

    def act(
        self,
        actions: list[Any],
        difference: Callable[[], str] | None = None,
        *,
        follows: bool = False,
    ) -> int:
        """Does actions in order; returns their number.

        Args:
            actions: the actions as JSON values.
            difference: returns how the screen differs from the look on which they were decided. It
                is called after all waiting, at the last moment before the first action that does
                more than move the pointer or wait; if that one presses a button, the pointer goes
                there first. None: nothing to compare.
            follows: whether they continue the previous list, so that a click may be the second of a
                double click.

        Raises:
            ScreenDifference: ``difference`` returned a text.
            ActionError: one cannot be done, or there are too many of them.
        """
        if len(actions) > MAX_ACTIONS:
            raise ActionError(f"{len(actions)} actions at once; at most {MAX_ACTIONS}", 0)
        with self._lock:
            index, before = 0, None
            held = next((n for n, a in enumerate(actions) if _has_effect(a)), len(actions) - 1)
            self._pace.begin()
            for index, action in enumerate(actions):
                try:
                    if isinstance(before, Mapping) and isinstance(action, Mapping):
                        self._pace.pause_between(before, action)
                    compare = difference if index == held else None
                    self._do(action, compare, apart=index == held and not follows)
                    before = action
                except (ValueError, TypeError, KeyError) as error:
                    raise ActionError(str(error), index) from error
            if not actions and difference is not None and (why := difference()):
                raise ScreenDifference(why)
            return len(actions) and index + 1

    def release(self) -> None:
        """Releases all keys and buttons that are held down, and the borrowed keycodes."""
        with self._lock:
            self._keyboard.release()
            for button in BUTTONS:
                self._pointer.up(button)

    def _do(self, action: Any, difference: Callable[[], str] | None, *, apart: bool) -> None:
        if not isinstance(action, Mapping):
            raise TypeError(f"an action must be an object, not {action!r}")
        kind = action.get("kind")
        doer = self._doers.get(kind) if isinstance(kind, str) else None
        if doer is None:
            raise ValueError(f"unknown action {kind!r}; allowed: {', '.join(sorted(self._doers))}")
        if (apart or difference is not None) and kind in _BUTTONS:
            at = action.get("start") if kind == "drag" else action.get("at")
            place = self._place(at) or self._pointer.position()
            if apart and kind == "click":
                self._pointer.separate(place)
            if difference is not None and (apart or place != self._pointer.position()):
                self._pointer.arrive(place)
        if kind in _KEYBOARD and self._clicked:
            self._manager.wait()
            self._clicked = False
        if difference is not None and (why := difference()):
            raise ScreenDifference(why)
        doer(action)
        self._clicked = self._clicked or kind in _BUTTONS

    def _place(self, at: Any) -> tuple[int, int] | None:
        if at is None:
            return None
        if not isinstance(at, Mapping):
            raise TypeError(f"a point must be an object with x and y, not {at!r}")
        if at.get("space", "screen") != "screen":
            raise ValueError(f"a point must be in space 'screen', not {at['space']!r}")
        limit = MAX_COORDINATE
        return self._pointer.place(_number(at, "x", -limit, limit), _number(at, "y", -limit, limit))

    def _go(self, at: Any, seconds: float = 0.0) -> None:
        place = self._place(at)
        if place is not None:
            self._pointer.move(place, seconds)

    def _click(self, action: Mapping[str, Any]) -> None:
        button, count = _button(action), _read_integer(action, "count", 1, 1, MAX_CLICKS)
        self._go(action.get("at"))
        self._pointer.click(button, count)

    def _move(self, action: Mapping[str, Any]) -> None:
        self._go(action["to"], _number(action, "duration", 0, MAX_SECONDS, 0.0))

    def _drag(self, action: Mapping[str, Any]) -> None:
        button = _button(action)
        to = self._place(action["to"])
        seconds = _number(action, "duration", 0, MAX_SECONDS, 0.0)
        if to is None:
            raise ValueError("drag: 'to' is missing")
        self._go(action.get("start"))
        self._pointer.drag(to, button, seconds)

    def _scroll(self, action: Mapping[str, Any]) -> None:
        dy = _read_integer(action, "dy", 0, -MAX_SCROLL, MAX_SCROLL)
        dx = _read_integer(action, "dx", 0, -MAX_SCROLL, MAX_SCROLL)
        self._go(action.get("at"))
        self._pointer.scroll(dy, dx)

    def _write(self, action: Mapping[str, Any]) -> None:
        text = _text(action, "text")
        if len(text) > MAX_TEXT:
            raise ValueError(f"text of {len(text)} characters; at most {MAX_TEXT}")
        self._keyboard.write(text, _number(action, "interval", 0, MAX_INTERVAL, 0.0))

    def _press(self, action: Mapping[str, Any]) -> None:
        key = _text(action, "key")
        for _ in range(_read_integer(action, "presses", 1, 1, MAX_PRESSES)):
            self._keyboard.press(key)

    def _hotkey(self, action: Mapping[str, Any]) -> None:
        keys = action["keys"]
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            raise TypeError(f"keys must be a list of names, not {keys!r:.80}")
        if not 1 <= len(keys) <= MAX_KEYS:
            raise ValueError(f"hotkey of {len(keys)} keys; 1 to {MAX_KEYS} are allowed")
        self._keyboard.chord(keys)

    def _mouse_down(self, action: Mapping[str, Any]) -> None:
        self._go(action.get("at"))
        self._pointer.down(_button(action))

    def _mouse_up(self, action: Mapping[str, Any]) -> None:
        self._go(action.get("at"))
        self._pointer.up(_button(action))


def _may_affect(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether ``after`` may depend on an effect of ``before``.

    A repeated action does not wait for itself: two clicks are a double click, keys are held, and
    text continues where it ended.
    """
    if before.get("kind") not in _BRINGING or after.get("kind") not in _NEEDING:
        return False
    return before != after and not before.get("kind") == after.get("kind") == "write"


class _ActionPacing:
    """Waits between the actions of one list, so that each meets the effect of the one before.

    Applications read their events in order, but do much of the work later: a file dialog looks up
    its folder after the last character, a menu opens, a window takes the focus. A person sees that
    before the next key. A list of actions does not, so Enter is lost or text goes elsewhere.

    Args:
        screen: the screen to watch.
        read: waits until the window in front has read its events.
        work: returns what the applications do; None if unknown.
    """

    def __init__(
        self, screen: Screen, read: Callable[[], None], work: Callable[[], Work] | None
    ) -> None:
        self._screen = screen
        self._read = read
        self._work = work
        self._spent = 0.0

    def begin(self) -> None:
        """Starts a new list of actions."""
        self._spent = 0.0

    def pause_between(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        """Waits if the next action may depend on the last one, as long as the list allows."""
        if _may_affect(before, after):
            self.pause()

    def pause(self) -> None:
        """Waits until the applications have done what they were asked, as the list allows."""
        left = min(_LONGEST_SECONDS, _ALL_SECONDS - self._spent)
        if left <= 0:
            return
        started = time.monotonic()
        self._read()
        settle(self._screen, left, self._work)
        self._spent += time.monotonic() - started


def _has_effect(action: Any) -> bool:
    """Whether an action does more than move the pointer or wait."""
    return not isinstance(action, Mapping) or action.get("kind") not in ("move", "sleep")


def _number(
    fields: Mapping[str, Any], name: str, low: float, high: float, default: float | None = None
) -> float:
    value = fields.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{name} must be a number, not {value!r}")
    if not low <= value <= high:
        raise ValueError(f"{name} must be from {low:g} to {high:g}, not {value!r}")
    return float(value)


def _read_integer(fields: Mapping[str, Any], name: str, default: int, low: int, high: int) -> int:
    return int(_number(fields, name, low, high, default))


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, not {value!r}")
    return value


def _button(fields: Mapping[str, Any]) -> str:
    button = fields.get("button", "left")
    if button not in BUTTONS:
        raise ValueError(f"button {button!r}: allowed are {', '.join(BUTTONS)}")
    return str(button)
