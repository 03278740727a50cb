"""Does actions by PyAutoGUI: pointer, buttons, keys and text of any language."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, assert_never

from hisa.actions import (
    Action,
    Click,
    Drag,
    Hotkey,
    KeyDown,
    KeyUp,
    MouseDown,
    MouseUp,
    Move,
    Press,
    Scroll,
    Sleep,
    Write,
)
from hisa.actions.keys import MODIFIERS, normalise_key
from hisa.errors import ActionRefused
from hisa.plugins.screen.base import System
from hisa.plugins.screen.capture import PictureMapping
from hisa.screen.geometry import Point

__all__ = ["Hands"]

_STEP_SECONDS = 0.015
"""Between two points of a path; a monitor draws about as often."""
_DRAG_SECONDS = 0.2
"""Shortest drag: programs begin to drag after some movement, and take the end from the last one."""
_AWAY = 2
"""Points by which the pointer may miss its target; systems round."""


class Hands:
    """Pointer and keyboard of the screen.

    Args:
        gui: the module ``pyautogui``.
        system: what it does not know.
        tick: called several times a second; raises to end what is being done.
        before_keys: called before keys; raises if the window in front must not get them.
    """

    def __init__(
        self,
        gui: Any,
        system: System,
        tick: Callable[[], None],
        before_keys: Callable[[], None] = lambda: None,
    ) -> None:
        gui.FAILSAFE = False  # an agent may click in a corner; `StopWatch` knows who moved there
        gui.PAUSE = 0
        self._gui, self._system, self._tick = gui, system, tick
        self._before_keys = before_keys
        self._keys: dict[str, None] = {}
        self._buttons: dict[str, None] = {}
        self.mapping: PictureMapping | None = None
        """Of the picture that the points of actions are places on."""
        self.sent: tuple[int, int] = tuple(gui.position())
        """Where the pointer was left."""

    def pause(self, seconds: float) -> None:
        """Wait, while a stop is looked for."""
        end = time.monotonic() + seconds
        self._tick()
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, _STEP_SECONDS))
            self._tick()

    def do(self, actions: Sequence[Action]) -> None:
        """Do the actions in order.

        Raises:
            ActionRefused: one of them cannot be done; those before it were done.
        """
        if not self._keys:
            for name in self._system.held_modifiers():
                self._gui.keyUp(name, _pause=False)
        for action in actions:
            self._tick()
            if isinstance(action, Write | Press | Hotkey | KeyDown):
                self._before_keys()
            self._do(action)

    def _do(self, action: Action) -> None:
        match action:
            case Click(at=at, button=button, count=count):
                self._system.click(button, count, self._go(at))
            case Move(to=to, duration=duration):
                self._go(to, duration)
            case Drag(to=to, start=start, button=button, duration=duration):
                self._drag(self._go(start), to, button, max(duration, _DRAG_SECONDS))
            case Scroll(dy=dy, dx=dx, at=at):
                self._scroll(dy, dx, at)
            case Write(text=text, interval=interval):
                self._write(text, interval)
            case Press(key=key, presses=presses):
                name = self._name(key)
                for _ in range(presses):
                    self._press(name)
            case Hotkey(keys=keys):
                self._press(*map(self._name, keys))
            case KeyDown(key=key):
                self._key_down(self._name(key))
            case KeyUp(key=key):
                self._key_up(self._name(key))
            case MouseDown(at=at, button=button):
                self._button_down(button, self._go(at))
            case MouseUp(at=at, button=button):
                self._button_up(button, self._go(at))
            case Sleep(seconds=seconds):
                self.pause(seconds)
            case _:
                assert_never(action)

    def _place(self, target: object) -> tuple[int, int]:
        """Returns the pointer's point for a place on the picture."""
        if target is None:
            return tuple(self._gui.position())
        assert isinstance(target, Point), "a slot is filled before an action is done"
        assert self.mapping is not None, "a picture was taken at the start"
        place = self.mapping.to_points(target.x, target.y)
        if place is None:
            size = f"{self.mapping.width}x{self.mapping.height}"
            raise ActionRefused(f"({target.x:g}, {target.y:g}) is outside the screen of {size}")
        return place

    def _go(self, target: object, duration: float = 0.0) -> tuple[int, int]:
        return self.go_to(self._place(target), duration)

    def go_to(self, place: tuple[int, int], duration: float = 0.0) -> tuple[int, int]:
        """Move the pointer to a point, and return that.

        Raises:
            ActionRefused: it is not there then: input is refused, or a person moves it.
        """
        self._walk(place, duration)
        for _ in range(3):
            at = self._gui.position()
            if max(abs(at[0] - place[0]), abs(at[1] - place[1])) <= _AWAY:
                return place
            self.pause(0.02)
            self._walk(place, 0.0)
        raise ActionRefused(
            f"the pointer is at {tuple(at)}, not at {place}: somebody moves it, or this program "
            "may not control the computer (hisa doctor --env screen)"
        )

    def _walk(self, place: tuple[int, int], duration: float) -> None:
        start = self._gui.position()
        steps = max(1, int(duration / _STEP_SECONDS))
        for step in range(1, steps + 1):
            share = step / steps
            x, y = (round(a + (b - a) * share) for a, b in zip(start, place, strict=True))
            self.sent = (x, y)
            if self._buttons and sys.platform == "darwin":
                button = next(iter(self._buttons))
                self._gui.dragTo(x, y, button=button, mouseDownUp=False, _pause=False)
            else:
                self._gui.moveTo(x, y, _pause=False)
            self.pause(_STEP_SECONDS if steps > 1 else 0.0)

    def _drag(self, start: tuple[int, int], to: object, button: str, seconds: float) -> None:
        end = self._place(to)
        self._button_down(button, start)
        try:
            self.pause(0.05)
            self._walk(end, seconds)
            self.pause(0.05)
        finally:
            self._button_up(button, end)

    def _scroll(self, dy: int, dx: int, at: object) -> None:
        self._go(at)
        for _ in range(abs(dy)):
            self._gui.vscroll(self._system.wheel * (1 if dy > 0 else -1), _pause=False)
            self._tick()
        if dx:
            self._system.scroll_sideways(dx)
        self._system.settle_press()

    def _write(self, text: str, interval: float) -> None:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if strange := re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text):
            raise ActionRefused(f"the text has {strange[0]!r}, which no key types; press its keys")
        for piece in re.split(r"([\n\t])", text):
            if piece in ("\n", "\t"):
                self._press("enter" if piece == "\n" else "tab")
            elif piece and self._system.can_type(piece):
                for character in piece:
                    self._press(character)
                    self.pause(interval)
            elif piece:
                self._system.paste(piece, lambda keys: self._press(*keys), self.pause)

    def _name(self, key: str) -> str:
        """Returns PyAutoGUI's name of a key, which silently drops those it lacks."""
        name = normalise_key(key)
        name = self._system.key_names.get(name, name)
        codes = self._gui.platformModule.keyboardMapping
        if codes.get(name) is None or (codes[name] == 0 and sys.platform != "darwin"):
            raise ActionRefused(f"unknown key {key[:40]!r}: this keyboard has none of that name")
        return name

    def _press(self, *names: str) -> None:
        """Hold keys in order, and release them in reverse."""
        try:
            for name in names:
                self._key_down(name)
                if len(names) > 1:
                    self.pause(self._system.hotkey_seconds)
        finally:
            for name in reversed(names):
                self._key_up(name)
        self._tick()

    def _key_down(self, name: str) -> None:
        both = {"shiftleft", "shiftright"} <= {
            "shiftleft" if key == "shift" else key for key in (*self._keys, name)
        }
        if both:
            raise ActionRefused("both Shift keys together stop the run; only a person presses them")
        self._keys[name] = None
        self._gui.keyDown(name, _pause=False)

    def _key_up(self, name: str) -> None:
        self._gui.keyUp(name, _pause=False)
        self._keys.pop(name, None)

    def _button_down(self, button: str, at: tuple[int, int]) -> None:
        self._buttons[button] = None
        self._gui.mouseDown(*at, button=button, _pause=False)
        self._system.settle_press()

    def _button_up(self, button: str, at: tuple[int, int]) -> None:
        self._gui.mouseUp(*at, button=button, _pause=False)
        self._buttons.pop(button, None)

    def release(self) -> None:
        """Release everything that is held, and every modifier, whoever holds it."""
        for button in list(self._buttons):
            self._button_up(button, tuple(self._gui.position()))
        codes = self._gui.platformModule.keyboardMapping
        for name in dict.fromkeys((*self._keys, *sorted(MODIFIERS))):
            if codes.get(self._system.key_names.get(name, name)):
                self._key_up(self._system.key_names.get(name, name))
