"""Keys and mouse buttons that actions leave held down, and the actions that release them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from hisa.actions.action_records import (
    Action,
    Button,
    Hotkey,
    KeyDown,
    KeyUp,
    MouseDown,
    MouseUp,
    Press,
)

__all__ = ["held_after", "releases"]

_BUTTONS = {f"{button} mouse button": button for button in get_args(Button)}


def held_after(actions: Iterable[Action], held: Iterable[str] = ()) -> tuple[str, ...]:
    """Returns the names of the keys and buttons held after some actions, given those before."""
    down = dict.fromkeys(held)
    for action in actions:
        match action:
            case KeyDown(key=key):
                down[key] = None
            case MouseDown(button=button):
                down[f"{button} mouse button"] = None
            case MouseUp(button=button):
                down.pop(f"{button} mouse button", None)
            case KeyUp(key=key) | Press(key=key):
                down.pop(key, None)
            case Hotkey(keys=keys):
                down = {name: None for name in down if name not in keys}
            case _:
                pass
    return tuple(down)


def releases(held: Iterable[str]) -> list[Action]:
    """Returns the actions that release held keys and buttons, given by name."""
    return [MouseUp(button=_BUTTONS[name]) if name in _BUTTONS else KeyUp(name) for name in held]
