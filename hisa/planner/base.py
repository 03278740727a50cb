"""What a planner is given besides its model and its tools."""

from __future__ import annotations

from typing import Protocol

from hisa.protocols import Task, ToolCall
from hisa.screen.observation import Observation

__all__ = ["NumberedList"]


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
