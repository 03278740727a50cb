"""The decisions of the planner, and what they are based on, such as advice."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from hisa.plugins.offline.instruction_records import Click, Instruction, Run, Tick, Type
from hisa.plugins.offline.screen_words import Screen
from hisa.plugins.offline.script_progress import ScriptPosition
from hisa.plugins.offline.things import address, meaning

__all__ = [
    "CLICK",
    "Advice",
    "Decision",
    "GiveUp",
    "Move",
    "Situation",
    "most_tries",
    "read_advice",
    "wait_move",
]

_NAME_BOX = re.compile(r"\bname box\b", re.I)
_BEFORE = re.compile(r'open the ["“]([^"”]+)["”] menu before ["“]([^"”]+)["”]')
_MAX_LINES = 20


@dataclass(frozen=True)
class Advice:
    """The advice for the run, line by line."""

    lines: tuple[str, ...] = ()

    @property
    def name_box(self) -> bool:
        """Whether to reach cells by typing their address into the name box."""
        return bool(self._first(_NAME_BOX.search))

    def menu_before(self, entry: str) -> str:
        """Returns the menu that a lesson says to open before an item of this name, or ""."""
        return next(filter(None, (_menu(line, entry) for line in self.lines)), "")

    def find_line_for(self, instruction: Instruction) -> str:
        """Returns the line of the advice that may change a move for this instruction, or ""."""
        match instruction:
            case Click(target) | Tick(target) | Type(_, target) if not address(target):
                entry = meaning(target).name
                return self._first(lambda line: _menu(line, entry))
            case _:
                return self._first(_NAME_BOX.search)

    def _first(self, fits: Callable[[str], object]) -> str:
        return next((line for line in self.lines if fits(line)), "")


def _menu(line: str, entry: str) -> str:
    pairs = _BEFORE.findall(line)
    return next((menu for menu, name in pairs if name.casefold() == entry.casefold()), "")


def read_advice(text: str) -> Advice:
    """Reads the lines of an advice section, without bullets."""
    lines = (line.strip().lstrip("-*• ").strip() for line in text.split("\n"))
    return Advice(tuple(line[:400] for line in lines if line)[:_MAX_LINES])


CLICK = "pyautogui.click(X_COORD, Y_COORD)"
_MAX_TRIES = 3
"""Failed tries of one part after which the planner gives up."""


@dataclass(frozen=True, slots=True)
class Move:
    """One tool call.

    ``look`` is set for a preparation, which does not complete its part. ``part`` is the number of
    its part, if that is not the next one.
    """

    says: str
    input: str
    tool: str = "gui_action"
    description: str = ""
    look: bool = False
    part: int | None = None


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The instruction cannot be done; ``reason`` is for the person who wrote it."""

    reason: str


@dataclass(frozen=True)
class Situation:
    """The basis of a decision. ``following`` is the instruction after the current one."""

    position: ScriptPosition
    screen: Screen
    advice: Advice = field(default_factory=Advice)
    following: Instruction | None = None
    looping: bool = False

    @property
    def tries(self) -> int:
        """Failed tries so far; a detected loop counts as one, so that the next try differs."""
        return self.position.failures + (1 if self.looping else 0)


Decision = Move | GiveUp | None
"""None: the screen shows that nothing is left to do."""


def most_tries(instruction: Instruction) -> int:
    """Returns the number of tries: one for a command, since it may fail half done."""
    return 1 if isinstance(instruction, Run) else _MAX_TRIES


def wait_move(says: str, seconds: float = 1.0) -> Move:
    """Returns a move that waits, as a preparation."""
    return Move(says, f"{seconds:g}", tool="wait", look=True)
