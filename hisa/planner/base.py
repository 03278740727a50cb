"""Protocols of a planner's parts besides its model and its tools."""

from __future__ import annotations

from typing import Protocol

from hisa.planner.call_schema import Schema
from hisa.protocols import StateView, Task, ToolCall
from hisa.screen.observation import Observation

__all__ = ["Form", "NumberedList"]


class NumberedList(Protocol):
    """Lists what is on the screen by numbers that a reply may name."""

    def build_list(self, task: Task, observation: Observation) -> str:
        """Returns the list for a prompt; hostile text in it is made safe."""
        ...

    def check(self, call: ToolCall) -> None:
        """Refuse numbers that the newest list does not have.

        Raises:
            InvalidReply: the error names the number and the known ones.
        """
        ...


class Form(Protocol):
    """A form of prompt and reply that replaces HiSA's own."""

    @property
    def system(self) -> str:
        """The system turn, the same at every step."""
        ...

    def ask(
        self, task: Task, observation: Observation, view: StateView
    ) -> tuple[str, Schema | None]:
        """Returns the text of the user message and the schema of the reply; None: no schema.

        Args:
            task: what to do.
            observation: the current look.
            view: the bounded state.
        """
        ...

    def read(self, reply: str) -> ToolCall:
        """Returns the call in a reply to the newest question.

        Raises:
            InvalidReply: the error says what is wrong and what is allowed.
        """
        ...

    def correction(self, error: str) -> str:
        """Returns the message that asks the model to correct an unusable reply."""
        ...
