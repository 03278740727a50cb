"""What a planner is given besides its model and its tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hisa.protocols import GroundedCall, Task, ToolCall, Trial
from hisa.screen.mark import Mark
from hisa.screen.observation import Observation

__all__ = ["BriefList", "NumberedList", "Trials"]


class NumberedList(Protocol):
    """Lists what is on the screen by numbers that a reply may name."""

    def listed(self, task: Task, observation: Observation) -> str:
        """Returns the list for a prompt; hostile text in it is made safe."""
        ...

    def check(self, call: ToolCall) -> None:
        """Refuse numbers that the newest list does not have.

        Raises:
            InvalidReply: which one, and which there are.
        """
        ...


class BriefList(Protocol):
    """Lists what is on the screen by numbers, for a small model."""

    def brief(
        self, task: Task, observation: Observation, room: int
    ) -> tuple[tuple[Mark, ...], int]:
        """Returns a list of ``room`` tokens, and how many things it leaves out."""
        ...


class Trials(Protocol):
    """Tries calls where they do no harm."""

    async def try_out(
        self, calls: Sequence[GroundedCall], observation: Observation
    ) -> Sequence[Trial]:
        """Returns the trial of each call, made on a machine of its own.

        Args:
            calls: with their targets found on ``observation``.
            observation: the look that they were decided on.

        Raises:
            EnvironmentFailed: there is no machine for it.
        """
        ...
