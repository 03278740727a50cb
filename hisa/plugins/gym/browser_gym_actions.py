"""Translates HiSA's actions to BrowserGym's published ones, one call per line.

An action that BrowserGym cannot express is refused before anything is done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

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
from hisa.actions.action_records import Target
from hisa.actions.keys import normalise_key
from hisa.errors import ActionRefused
from hisa.screen.geometry import Point

__all__ = ["StepWriter", "as_source"]

_NOTCH = 100
"""Pixels that a page scrolls for one click of the wheel."""
_KEYS = {
    "enter": "Enter", "tab": "Tab", "esc": "Escape", "backspace": "Backspace", "delete": "Delete",
    "insert": "Insert", "up": "ArrowUp", "down": "ArrowDown", "left": "ArrowLeft",
    "right": "ArrowRight", "home": "Home", "end": "End", "pageup": "PageUp",
    "pagedown": "PageDown", "space": "Space", "capslock": "CapsLock", "numlock": "NumLock",
    "scrolllock": "ScrollLock", "printscreen": "PrintScreen", "pause": "Pause",
    "apps": "ContextMenu", "ctrl": "Control", "ctrlleft": "ControlLeft",
    "ctrlright": "ControlRight", "shift": "Shift", "shiftleft": "ShiftLeft",
    "shiftright": "ShiftRight", "alt": "Alt", "altleft": "AltLeft", "altright": "AltRight",
    "win": "Meta", "winleft": "MetaLeft", "winright": "MetaRight",
}  # fmt: skip
"""BrowserGym's names of keys, by HiSA's names."""
_FUNCTION = re.compile(r"f\d{1,2}")


class StepWriter:
    """Collects lines of calls, and tracks the pointer's position after them."""

    def __init__(self, pointer: Point | None = None) -> None:
        self.lines: list[str] = []
        self.pointer = pointer

    @property
    def source(self) -> str:
        """The calls as one step of BrowserGym."""
        return "\n".join(self.lines)

    def add(self, action: Action) -> None:
        """Adds the calls of one action.

        Raises:
            ActionRefused: BrowserGym has no call for it.
        """
        self.lines += self._translate(action)

    def _move_to(self, target: Target | None) -> str:
        if isinstance(target, Point):
            self.pointer = target
        if self.pointer is None:
            raise ActionRefused("the pointer is not on this page yet: give a point")
        return f"{self.pointer.x:.1f}, {self.pointer.y:.1f}"

    def _translate(self, action: Action) -> Iterator[str]:
        match action:
            case Click(at=at, button=button, count=count):
                yield self._click(at, button, count)
            case Move(to=to):
                yield f"mouse_move({self._move_to(to)})"
            case Drag(to=to, start=start, button=button):
                yield f"mouse_move({self._move_to(start)})"
                yield f"mouse_down({self._move_to(None)}, {button!r})"
                yield f"mouse_move({self._move_to(to)})"
                yield f"mouse_up({self._move_to(None)}, {button!r})"
            case Scroll(dx=dx, dy=dy, at=at):
                yield f"scroll_at({self._move_to(at)}, {dx * _NOTCH}, {-dy * _NOTCH})"
            case MouseDown(at=at, button=button):
                yield f"mouse_down({self._move_to(at)}, {button!r})"
            case MouseUp(at=at, button=button):
                yield f"mouse_up({self._move_to(at)}, {button!r})"
            case Sleep(seconds=seconds):
                yield f"noop({1000 * seconds:.0f})"
            case _:
                yield from self._keys(action)

    def _click(self, at: Target | None, button: str, count: int) -> str:
        if count not in (1, 2):
            raise ActionRefused(f"{count} clicks at once: a page of BrowserGym takes 1 or 2")
        name = "mouse_click" if count == 1 else "mouse_dblclick"
        return f"{name}({self._move_to(at)}, {button!r})"

    def _keys(self, action: Action) -> Iterator[str]:
        match action:
            case Write(text=text):
                for number, part in enumerate(text.split("\t")):
                    if number:
                        yield "keyboard_press('Tab')"
                    if part:
                        yield f"keyboard_type({part!r})"
            case Press(key=key, presses=presses):
                for _ in range(presses):
                    yield f"keyboard_press({_key(key)!r})"
            case Hotkey(keys=keys):
                yield f"keyboard_press({'+'.join(map(_key, keys))!r})"
            case KeyDown(key=key):
                yield f"keyboard_down({_key(key)!r})"
            case KeyUp(key=key):
                yield f"keyboard_up({_key(key)!r})"


def as_source(actions: Sequence[Action], pointer: Point | None = None) -> StepWriter:
    """Translates actions to one step of BrowserGym.

    Args:
        actions: the actions, with points in the page's pixels.
        pointer: the pointer's position before them; None: unknown.

    Raises:
        ActionRefused: BrowserGym cannot express one of them; none is done.
    """
    written = StepWriter(pointer)
    for action in actions:
        written.add(action)
    return written


def _key(name: str) -> str:
    key = normalise_key(name)
    if len(key) == 1:
        return key
    if _FUNCTION.fullmatch(key):
        return key.upper()
    if key not in _KEYS:
        raise ActionRefused(f"key {name!r}: BrowserGym has only {', '.join(sorted(_KEYS))}")
    return _KEYS[key]
