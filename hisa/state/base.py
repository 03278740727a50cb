"""The records that the three levels of the state pass to each other, and their protocols."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hisa.protocols import Advice, Pattern, StepSummary, Task
from hisa.screen.observation import Observation

__all__ = ["Looks", "Memory", "NewSteps", "ReadsElements"]

Looks = tuple[Observation, Observation]
"""The look before a step and the look after it."""


@dataclass(frozen=True, slots=True)
class NewSteps:
    """The steps since the last summary.

    ``lines`` may be cut, so ``thoughts`` has the planner's thought of each step in full; for a
    step without one, its line is read. ``notes`` are shown in the prompt beside the summary and
    share its room.
    """

    lines: Sequence[str]
    thoughts: Sequence[str] = ()
    notes: str = ""
    by_program: bool = False
    """Whether a stored program made all of them."""


class Memory(Protocol):
    """Level 3: learns patterns from runs and recalls them before other runs."""

    async def recall(self, task: Task) -> Advice:
        """Returns the advice for a task, made of the patterns and SOPs that fit it."""
        ...

    async def induct(
        self, task: Task, run_id: str, *, lines: tuple[str, ...]
    ) -> tuple[Pattern, ...]:
        """Learn patterns from all lines of a run, store and return them. Never sees the score.

        Args:
            task: what the agent had to do.
            run_id: the run that the patterns are learned from.
            lines: the line of each step, in order.
        """
        ...

    async def credit(
        self, ids: Sequence[str], *, steps: Sequence[StepSummary], won: bool | None
    ) -> None:
        """Count a use of each of these patterns that a step cites, and whether the run was won.

        Args:
            ids: the patterns of the advice, in its order.
            steps: the steps of the run.
            won: whether the run was a success; None if it has no score.
        """
        ...


class ReadsElements(Protocol):
    """Takes looks with elements."""

    async def read(self) -> Observation:
        """Returns a look with elements.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """
        ...

    async def recent(self, observation: Observation) -> Observation:
        """Returns the newest look with elements if it is no older than a second, else a new one.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """
        ...
