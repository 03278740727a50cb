"""The closed set of GUI actions, as frozen records, and their division into parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from hisa.screen.geometry import Point

__all__ = [
    "Action",
    "Button",
    "Click",
    "Drag",
    "Hotkey",
    "KeyDown",
    "KeyUp",
    "MouseDown",
    "MouseUp",
    "Move",
    "Press",
    "Scroll",
    "Sleep",
    "Slot",
    "Target",
    "Write",
    "kinds",
    "presses",
    "split",
]

Button = Literal["left", "middle", "right"]


@dataclass(frozen=True, slots=True)
class Slot:
    """A place still to be grounded: 1 is X_COORD, Y_COORD; 2 is X_COORD_2, Y_COORD_2."""

    index: Literal[1, 2]


Target = Point | Slot


@dataclass(frozen=True, slots=True)
class Click:
    """Press and release a button ``count`` times at ``at`` (None: where the pointer is)."""

    at: Target | None = None
    button: Button = "left"
    count: int = 1
    kind: Literal["click"] = "click"


@dataclass(frozen=True, slots=True)
class Move:
    """Move the pointer; ``duration`` in seconds."""

    to: Target
    duration: float = 0.0
    kind: Literal["move"] = "move"


@dataclass(frozen=True, slots=True)
class Drag:
    """Hold ``button`` and move from ``start`` (None: the pointer's position) to ``to``."""

    to: Target
    start: Target | None = None
    button: Button = "left"
    duration: float = 0.0
    kind: Literal["drag"] = "drag"


@dataclass(frozen=True, slots=True)
class Scroll:
    """Turn the wheel; positive ``dy`` is up, positive ``dx`` is right, in wheel clicks."""

    dy: int = 0
    dx: int = 0
    at: Target | None = None
    kind: Literal["scroll"] = "scroll"


@dataclass(frozen=True, slots=True)
class Write:
    """Type text, any Unicode; a newline is Enter, a tab is Tab; ``interval`` in seconds."""

    text: str
    interval: float = 0.0
    kind: Literal["write"] = "write"


@dataclass(frozen=True, slots=True)
class Press:
    """Press and release one key, ``presses`` times."""

    key: str
    presses: int = 1
    kind: Literal["press"] = "press"


@dataclass(frozen=True, slots=True)
class Hotkey:
    """Hold the keys in order, then release them in reverse."""

    keys: tuple[str, ...]
    kind: Literal["hotkey"] = "hotkey"


@dataclass(frozen=True, slots=True)
class KeyDown:
    """Hold a key."""

    key: str
    kind: Literal["key_down"] = "key_down"


@dataclass(frozen=True, slots=True)
class KeyUp:
    """Release a key."""

    key: str
    kind: Literal["key_up"] = "key_up"


@dataclass(frozen=True, slots=True)
class MouseDown:
    """Hold a button."""

    at: Target | None = None
    button: Button = "left"
    kind: Literal["mouse_down"] = "mouse_down"


@dataclass(frozen=True, slots=True)
class MouseUp:
    """Release a button."""

    at: Target | None = None
    button: Button = "left"
    kind: Literal["mouse_up"] = "mouse_up"


@dataclass(frozen=True, slots=True)
class Sleep:
    """Do nothing for ``seconds``."""

    seconds: float
    kind: Literal["sleep"] = "sleep"


Action = (
    Click
    | Move
    | Drag
    | Scroll
    | Write
    | Press
    | Hotkey
    | KeyDown
    | KeyUp
    | MouseDown
    | MouseUp
    | Sleep
)


def split(actions: Iterable[Action]) -> list[tuple[Action, ...]]:
    """Split actions into the shortest parts after which no key or button is held."""
    parts: list[tuple[Action, ...]] = [()]
    held = 0
    for action in actions:
        parts[-1] += (action,)
        held += action.kind.endswith("_down") - action.kind.endswith("_up")
        if held <= 0 and action.kind not in ("move", "sleep"):
            parts.append(())
            held = 0
    return [part for part in parts if part]


def presses(actions: Sequence[Action]) -> list[tuple[Action, ...]]:
    """Split actions into parts that each begin with a press, except perhaps the first.

    Pauses and moves before a press belong to the part before it, so that anything that appears
    meanwhile is seen. While a button is held down, no new part begins.
    """
    parts: list[tuple[Action, ...]] = [()]
    buttons = 0
    for action in actions:
        if not buttons and _presses(action) and any(map(_does, parts[-1])):
            parts.append(())
        parts[-1] += (action,)
        buttons += isinstance(action, MouseDown) - isinstance(action, MouseUp)
    return parts


def _does(action: Action) -> bool:
    return not isinstance(action, Move | Sleep)


def _presses(action: Action) -> bool:
    """Whether an action presses the element at its place or the focused one."""
    match action:
        case Click() | Drag() | MouseDown():
            return True
        case Press() | KeyDown():
            return action.key in _PRESSING
        case Hotkey(keys=(*held, key)):
            letter = len(key) == 1 and any(modifier.startswith("alt") for modifier in held)
            return letter or key in _PRESSING
        case _:
            return False


_PRESSING = frozenset({"enter", "num_enter", "space"})
"""Keys that press the focused element or a dialog's default button."""


def kinds(actions: Iterable[Action]) -> list[str]:
    """Returns the kind of each part without pauses; a double click or a drag is one part.

    This is the counting of OS-Catalyst (B.2).
    """
    parts = ([action.kind for action in part if action.kind != "sleep"] for part in split(actions))
    return [_kind(part) for part in parts if part]


def _kind(part: Sequence[str]) -> str:
    """Returns the kind of the last action while a key or button is held, else of the holding."""
    acts = [kind for kind in part if not kind.endswith(("_down", "_up"))]
    held = {"mouse_up": "drag", "key_up": "hotkey"}.get(part[-1], part[-1])
    return held if not acts or acts[-1] == "move" else acts[-1]
