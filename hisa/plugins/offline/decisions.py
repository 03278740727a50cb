"""What the planner can decide, and what a decision rests on."""

from __future__ import annotations

from dataclasses import dataclass

from hisa.plugins.offline.instruction_records import Instruction, Run
from hisa.plugins.offline.screen_words import Screen
from hisa.plugins.offline.script_progress import Position

__all__ = [
    "CLICK",
    "Decision",
    "GiveUp",
    "Move",
    "Situation",
    "most_tries",
    "wait_move",
]

CLICK = "pyautogui.click(X_COORD, Y_COORD)"
_MAX_TRIES = 3
"""Failed tries of one part after which the task is given up."""


@dataclass(frozen=True, slots=True)
class Move:
    """One tool call.

    ``look`` is set for a preparation, which does not complete its part; ``part`` where the part
    is another than the one after those that are done.
    """

    says: str
    input: str
    tool: str = "gui_action"
    description: str = ""
    look: bool = False
    part: int | None = None


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The instruction cannot be done; ``reason`` for the person who wrote it."""

    reason: str


@dataclass(frozen=True)
class Situation:
    """What a decision rests on. ``following`` is the instruction after the one that is due."""

    position: Position
    screen: Screen
    following: Instruction | None = None
    looping: bool = False

    @property
    def tries(self) -> int:
        """Failed tries so far; a loop that was noticed counts as one, so that the way changes."""
        return self.position.failures + (1 if self.looping else 0)


Decision = Move | GiveUp | None
"""None: the screen shows that nothing is left to do."""


def most_tries(instruction: Instruction) -> int:
    """Returns the number of tries: one for a command, which may fail with half its work done."""
    return 1 if isinstance(instruction, Run) else _MAX_TRIES


def wait_move(says: str, seconds: float = 1.0) -> Move:
    """A preparation that waits."""
    return Move(says, f"{seconds:g}", tool="wait", look=True)
