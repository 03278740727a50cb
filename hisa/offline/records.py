"""What an instruction may say: a closed set of records, and each in words.

A thing on the screen is the phrase that the task has for it ("the Save button", ``cell B2``); the
grounder reads phrases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, assert_never

__all__ = [
    "Click",
    "Drag",
    "Instruction",
    "Open",
    "Press",
    "Run",
    "Save",
    "Scroll",
    "Tick",
    "Type",
    "Wait",
    "phrase",
]


@dataclass(frozen=True, slots=True)
class Open:
    """Start an application, or open ``file`` (with ``app`` where one is named)."""

    app: str
    file: str = ""


@dataclass(frozen=True, slots=True)
class Click:
    """Click ``count`` times."""

    target: str
    button: Literal["left", "middle", "right"] = "left"
    count: Literal[1, 2, 3] = 1


@dataclass(frozen=True, slots=True)
class Tick:
    """Bring a check box into a state."""

    target: str
    on: bool = True


@dataclass(frozen=True, slots=True)
class Type:
    """Type text, into ``target`` where there is one; ``replace`` what stands there."""

    text: str
    target: str = ""
    replace: bool = False


@dataclass(frozen=True, slots=True)
class Press:
    """Press keys together, ``times`` times."""

    keys: tuple[str, ...]
    times: int = 1


@dataclass(frozen=True, slots=True)
class Scroll:
    """Turn the wheel ``clicks`` times, at most until ``until`` shows."""

    direction: Literal["up", "down", "left", "right"]
    clicks: int = 5
    until: str = ""


@dataclass(frozen=True, slots=True)
class Drag:
    """Drag one thing onto another."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait ``seconds``, or until ``until`` shows."""

    seconds: float = 2.0
    until: str = ""


@dataclass(frozen=True, slots=True)
class Save:
    """Save: under ``path``, or under the name that the file has."""

    path: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """Run a shell command."""

    command: str


Instruction = Open | Click | Tick | Type | Press | Scroll | Drag | Wait | Save | Run

_COUNTS = {1: "click", 2: "double-click", 3: "triple-click"}


def phrase(instruction: Instruction) -> str:
    """The instruction in a few words, for a thought; long texts are cut."""
    match instruction:
        case Open(app, file):
            said = " in ".join(filter(None, (_short(file), app)))
            return f"open {said}"
        case Click(target, button, count):
            verb = _COUNTS[count] if button == "left" else f"{button}-click"
            return f"{verb} {_short(target)}"
        case Tick(target, on):
            return f"{'tick' if on else 'untick'} {_short(target)}"
        case Type(text, target):
            return f"type “{_short(text)}”" + (f" into {_short(target)}" if target else "")
        case Press(keys, times):
            return f"press {'+'.join(keys)}" + (f" {times} times" if times > 1 else "")
        case Scroll(direction, _, until):
            return f"scroll {direction}" + (f" until {_short(until)} shows" if until else "")
        case Drag(source, target):
            return f"drag {_short(source)} to {_short(target)}"
        case Wait(seconds, until):
            return f"wait until {_short(until)} shows" if until else f"wait {seconds:g} seconds"
        case Save(path):
            return f"save as “{_short(path)}”" if path else "save the file"
        case Run(command):
            return f"run the command “{_short(command)}”"
        case _:
            assert_never(instruction)


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else flat[:59] + "…"
