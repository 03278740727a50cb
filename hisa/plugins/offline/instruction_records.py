"""The instructions, as a closed set of records, and their wording.

An element on the screen is given by the phrase of the task ("the Save button", ``cell B2``), which
the grounder reads.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from hisa.text.prompt_text import short

__all__ = [
    "Click",
    "Instruction",
    "Open",
    "Press",
    "Run",
    "Save",
    "Scroll",
    "Tick",
    "Type",
    "Wait",
    "phrase_instruction",
]


@dataclass(frozen=True, slots=True)
class Open:
    """Start an application, or open ``file`` (with ``app`` if one is named)."""

    app: str
    file: str = ""


@dataclass(frozen=True, slots=True)
class Click:
    """Click ``count`` times."""

    target: str
    button: Literal["left", "right"] = "left"
    count: Literal[1, 2] = 1


@dataclass(frozen=True, slots=True)
class Tick:
    """Tick a check box, or untick it."""

    target: str
    on: bool = True


@dataclass(frozen=True, slots=True)
class Type:
    """Type text, into ``target`` if there is one; ``replace`` its text."""

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
    """Turn the wheel ``clicks`` times."""

    direction: Literal["up", "down", "left", "right"]
    clicks: int = 5


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait ``seconds``, or until ``until`` is on the screen."""

    seconds: float = 2.0
    until: str = ""


@dataclass(frozen=True, slots=True)
class Save:
    """Save a file as ``path``, or under its present name."""

    path: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """Run a shell command."""

    command: str


Instruction = Open | Click | Tick | Type | Press | Scroll | Wait | Save | Run


def phrase_instruction(instruction: Instruction) -> str:
    """Returns the instruction in a few words, for a thought; long texts are shortened."""
    words = [type(instruction).__name__.lower()]
    for field in fields(instruction):
        value = getattr(instruction, field.name)
        if value != field.default:
            words.append(short(value, 60) if isinstance(value, str) else str(value))
    if isinstance(instruction, Press):
        words[1] = "+".join(instruction.keys)
    return " ".join(words)
