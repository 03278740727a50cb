"""What the three levels of the state hand to each other, and memory and looks as they see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hisa.protocols import Advice, Pattern, StepSummary, Task
from hisa.screen.observation import Observation

__all__ = ["Looks", "Memory", "NewSteps", "ReadsElements"]

Looks = tuple[Observation, Observation]
"""Before and after a step."""


@dataclass(frozen=True, slots=True)
class NewSteps:
    """The steps since a summary was written, and what stands beside it.

    ``lines`` are cut, so ``thoughts`` has what the planner thought at each, in full; fewer than
    lines: the lines tell. ``notes`` stand in the prompt by themselves, in the summary's room.
    """

    lines: Sequence[str]
    thoughts: Sequence[str] = ()
    notes: str = ""
    by_program: bool = False
    """Whether a stored program made all of them."""


class Memory(Protocol):
    """Level 3: what is learned from runs and recalled before them."""

    async def recall(self, task: Task) -> Advice:
        """Patterns and SOPs for this task, made into advice."""
        ...

    async def induct(
        self, task: Task, run_id: str, *, lines: tuple[str, ...]
    ) -> tuple[Pattern, ...]:
        """Patterns learned from all lines of a run, stored. The score is never given."""
        ...

    async def credit(
        self, ids: Sequence[str], *, steps: Sequence[StepSummary], won: bool | None
    ) -> None:
        """Count a use, and a win or not, of those of these patterns that the steps cite.

        Args:
            ids: patterns of the advice in its order.
            steps: of the run.
            won: None where the run has no score.
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
