"""Reads the clicks, the keys pressed together and the typed text of one call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hisa.actions import (
    Action,
    Button,
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
from hisa.screen.geometry import Point

__all__ = ["Inputs", "Touch", "read_inputs"]

_TYPED = {"enter": "\n", "space": " ", "tab": "\t", "num_enter": "\n"}
_PASTING = frozenset(("ctrl+v", "shift+insert", "ctrl+shift+v", "ctrl+shift+insert"))
_RECALLING = _PASTING.union(
    ("up", "down", "tab", "ctrl+r", "ctrl+p", "ctrl+n", "alt+.", "ctrl+y", "ctrl+x", "alt+_"),
    ("ctrl+o", "insert"),
)
"""Keys that put text into a terminal that is not part of the call."""


@dataclass(frozen=True, slots=True)
class Touch:
    """A button of the pointer at a point; None for the pointer's own place, which is not known."""

    at: Point | None
    button: Button
    drops: bool = False
    """Whether it ends a drag from elsewhere."""


@dataclass
class Inputs:
    """Clicks, keys and text of one call.

    ``touches`` has all of them in order. Chords are spelled "ctrl+shift+delete", with the modifiers
    in alphabetical order; ``typed`` has a line break for Enter.
    """

    touches: list[Touch | Write | str] = field(default_factory=list)
    typed: str = ""
    held: Sequence[str] = ()
    """Modifiers that are still down at the end."""

    @property
    def chords(self) -> list[str]:
        """Keys pressed together."""
        return [touch for touch in self.touches if isinstance(touch, str)]

    @property
    def clicks(self) -> list[tuple[Point | None, Button]]:
        """The points where a button of the pointer goes down or up."""
        return [(touch.at, touch.button) for touch in self.touches if isinstance(touch, Touch)]

    @property
    def recalls(self) -> bool:
        """Whether text comes from elsewhere: a history, a clipboard, a completion."""
        middle = any(button == "middle" for _, button in self.clicks)
        return middle or any(chord in _RECALLING for chord in self.chords)

    @property
    def pastes(self) -> bool:
        """Whether the text of the clipboard is pasted."""
        return any(chord in _PASTING for chord in self.chords)


def read_inputs(actions: Iterable[Action], *, at: Point | None = None) -> Inputs:
    """Returns the clicks, keys and text of some actions, in order.

    Args:
        actions: those of one call.
        at: where the pointer is before them; None if not known.
    """
    inputs, held, down = Inputs(), list[str](), None
    for action in actions:
        match action:
            case Click() | MouseDown() | MouseUp():
                at = action.at if isinstance(action.at, Point) else at
                drops = isinstance(action, MouseUp) and at != down
                if drops or not isinstance(action, MouseUp):
                    inputs.touches.append(Touch(at, action.button, drops))
                down = at
            case Drag():
                start = action.start if isinstance(action.start, Point) else at
                at = action.to if isinstance(action.to, Point) else at
                inputs.touches += [
                    Touch(start, action.button),
                    Touch(at, action.button, start != at),
                ]
            case Move():
                at = action.to if isinstance(action.to, Point) else at
            case Write():
                _write(inputs, action.text)
            case Press():
                for _ in range(min(action.presses, 100)):
                    _press(inputs, held, action.key)
            case Hotkey():
                _press(inputs, [*held, *action.keys[:-1]], action.keys[-1] if action.keys else "")
            case KeyDown():
                if _plain(action.key) in MODIFIERS:
                    held.append(_plain(action.key))
                else:
                    _press(inputs, held, action.key)
            case KeyUp():
                held = [key for key in held if key != _plain(action.key)]
            case Scroll() | Sleep():
                pass
    inputs.held = held
    return inputs


def _plain(key: str) -> str:
    try:
        return normalise_key(key)
    except ActionRefused:
        return key


def _write(inputs: Inputs, text: str) -> None:
    text = text.replace("\r", "\n")
    inputs.typed += text
    keys = {"\n": "enter", "\t": "tab"}
    inputs.touches += [
        keys.get(run) or Write(text=run) for run in re.findall(r"[\n\t]|[^\n\t]+", text)
    ]


def _press(inputs: Inputs, held: Sequence[str], key: str) -> None:
    name = _plain(key)
    modifiers = sorted(
        {_sideless(_plain(held_key)) for held_key in held if _plain(held_key) in MODIFIERS}
    )
    others = [_plain(held_key) for held_key in held if _plain(held_key) not in MODIFIERS]
    for other in others:
        _press(inputs, modifiers, other)
    if name in MODIFIERS or not name:
        return
    if len(name) == 1 and modifiers in ([], ["shift"]):
        inputs.typed += name.upper() if modifiers else name
        inputs.touches.append(Write(text=name))
        return
    inputs.touches.append("+".join([*modifiers, name.lower()]))
    if name == "backspace":
        inputs.typed = inputs.typed[:-1]
    elif modifiers in ([], ["shift"]) and name in _TYPED:
        inputs.typed += _TYPED[name]


def _sideless(key: str) -> str:
    return key.removesuffix("left").removesuffix("right")
