"""Checks values from outside: each function returns the clean value or refuses it."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from typing import assert_never

from hisa.actions.action_records import (
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
from hisa.actions.keys import normalise_key
from hisa.actions.literal_calls import Name
from hisa.errors import ActionRefused

__all__ = [
    "MAX_ACTIONS",
    "MAX_CLICKS",
    "MAX_COORDINATE",
    "MAX_INTERVAL",
    "MAX_KEYS",
    "MAX_PRESSES",
    "MAX_SCROLL",
    "MAX_SECONDS",
    "MAX_TEXT",
    "MAX_TOTAL_SECONDS",
    "button",
    "check_limits",
    "coordinate",
    "integer",
    "interval",
    "key",
    "keys",
    "number",
    "scroll",
    "seconds",
    "show_value",
    "text",
]

MAX_COORDINATE = 100_000
"""Largest absolute coordinate, in pixels."""
MAX_TEXT = 10_000
"""Most characters of one `Write`."""
MAX_SECONDS = 60.0
"""Most seconds of a sleep, move or drag."""
MAX_TOTAL_SECONDS = 120.0
"""Most seconds that one list of actions may wait, including typing intervals."""
MAX_INTERVAL = 1.0
"""Most seconds between two key strokes or clicks."""
MAX_CLICKS = 10
"""Most clicks of one `Click`."""
MAX_PRESSES = 200
"""Most presses of one `Press`."""
MAX_SCROLL = 1_000
"""Most wheel clicks of one `Scroll`."""
MAX_KEYS = 6
"""Most keys of one `Hotkey`."""
MAX_ACTIONS = 200
"""Most actions of one list."""


def number(value: object, name: str, low: float, high: float) -> float:
    """Check a finite number; a bool is not one.

    Args:
        value: the value from outside.
        name: its name, for the error.
        low: smallest allowed number.
        high: largest allowed number.

    Raises:
        ActionRefused: the value is no such number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ActionRefused(f"{name} must be a plain number, not {show_value(value)}")
    # An integer may be too long for a float or for printing: compare before either.
    if not low <= value <= high:
        value_text = f"{value:g}" if abs(value) < 1e12 else "this number"
        raise ActionRefused(f"{name}: {value_text} is outside {low:g} to {high:g}")
    return float(value)


def integer(value: object, name: str, low: int, high: int) -> int:
    """Check a whole number, which may be written as 3.0.

    Args:
        value: the value from outside.
        name: its name, for the error.
        low: smallest allowed number.
        high: largest allowed number.

    Raises:
        ActionRefused: the value is no such number.
    """
    checked = number(value, name, low, high)
    if checked != math.floor(checked):
        raise ActionRefused(f"{name} must be a whole number, not {checked:g}")
    return int(checked)


def coordinate(value: object, name: str) -> float:
    """Check one coordinate in pixels."""
    return number(value, name, -MAX_COORDINATE, MAX_COORDINATE)


def scroll(value: object) -> int:
    """Check a number of wheel clicks, of either sign."""
    return integer(value, "scroll clicks", -MAX_SCROLL, MAX_SCROLL)


def seconds(value: object, name: str = "duration") -> float:
    """Check a sleep or a duration, in seconds."""
    return number(value, f"{name} in seconds", 0, MAX_SECONDS)


def interval(value: object) -> float:
    """Check the time between two key strokes or clicks, in seconds."""
    return number(value, "interval in seconds", 0, MAX_INTERVAL)


def text(value: object) -> str:
    """Check that a text can be typed."""
    if not isinstance(value, str):
        raise ActionRefused(f"text must be a string, not {show_value(value)}")
    if len(value) > MAX_TEXT:
        raise ActionRefused(f"text of {len(value)} characters; at most {MAX_TEXT} are allowed")
    if wrong := next((c for c in value if not _typeable(c)), None):
        raise ActionRefused(
            f"text holds the character U+{ord(wrong):04X}; control characters other than newline "
            "and tab, and halves of characters, cannot be typed"
        )
    return value


def _typeable(character: str) -> bool:
    return character in "\n\r\t" or unicodedata.category(character) not in ("Cc", "Cs")


def key(value: object) -> str:
    """Check a key; returns its one spelling."""
    if not isinstance(value, str):
        raise ActionRefused(f"a key must be a string, not {show_value(value)}")
    return normalise_key(value)


def keys(value: object) -> tuple[str, ...]:
    """Check the keys of a hotkey."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ActionRefused(f"keys must be a list of strings, not {show_value(value)}")
    if not 1 <= len(value) <= MAX_KEYS:
        raise ActionRefused(f"hotkey of {len(value)} keys; 1 to {MAX_KEYS} are allowed")
    return tuple(key(item) for item in value)


def button(value: object) -> Button:
    """Check a mouse button, by PyAutoGUI's names."""
    match value:
        case "left" | "primary":
            return "left"
        case "middle":
            return "middle"
        case "right" | "secondary":
            return "right"
        case _:
            raise ActionRefused(
                f"button {show_value(value)}; allowed are 'left', 'middle', 'right'"
            )


def show_value(value: object) -> str:
    """Returns any value in a form that is safe and short enough for an error."""
    match value:
        case str() if len(value) <= 60:
            return repr(value)
        case Name():
            return f"the name {value.name[:60]!r}"
        case bool() | None:
            return repr(value)
        case _:
            return f"a value of type {type(value).__name__}"


def check_limits(actions: Iterable[Action]) -> tuple[Action, ...]:
    """Check that a whole list of actions is within its limits; returns it."""
    checked = tuple(actions)
    if len(checked) > MAX_ACTIONS:
        raise ActionRefused(f"{len(checked)} actions at once; at most {MAX_ACTIONS} are allowed")
    if (total := sum(_waits(action) for action in checked)) > MAX_TOTAL_SECONDS:
        raise ActionRefused(
            f"the actions wait {total:g} seconds; at most {MAX_TOTAL_SECONDS:g} are allowed"
        )
    return checked


def _waits(action: Action) -> float:
    match action:
        case Move() | Drag():
            return action.duration
        case Write():
            return action.interval * len(action.text)
        case Sleep():
            return action.seconds
        case Click() | Scroll() | Press() | Hotkey() | KeyDown() | KeyUp():
            return 0.0
        case MouseDown() | MouseUp():
            return 0.0
        case _:
            assert_never(action)
