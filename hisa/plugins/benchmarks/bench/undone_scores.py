"""Scores of tasks where nothing was done: a task that begins done says nothing of an agent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass

from hisa.config import Settings, TaskSettings
from hisa.environments.open_environment import open_environment
from hisa.errors import HisaError
from hisa.plugins.benchmarks.bench.attempt_records import PlannedTask
from hisa.plugins.benchmarks.bench.jobs import find_parts
from hisa.protocols import Environment, Task
from hisa.tasks.scorer import TaskScorer
from hisa.tasks.taskfile import load_task

__all__ = ["UndoneScore", "undone_scores"]


@dataclass(frozen=True)
class UndoneScore:
    """One task, set up and scored at once."""

    task: PlannedTask
    value: float | None
    """From 0 to 1; absent where there is no score."""
    reason: str

    @property
    def begins_done(self) -> bool:
        """Whether there is anything to be had for doing nothing."""
        return bool(self.value)


async def undone_scores(
    tasks: Iterable[PlannedTask], settings: Settings, *, maker: str = ""
) -> AsyncIterator[UndoneScore]:
    """Set each task up in an environment of its own, and score it as if an agent had ended there.

    Args:
        tasks: in the order in which they are tried.
        settings: name the environment, and how tasks are set up.
        maker: of an environment of one's own; see `hisa.plugins.benchmarks.bench.jobs.find_parts`.

    Yields:
        each task's score when it is known; what fails gives none, with the reason.
    """
    make = find_parts(maker)
    for planned in tasks:
        task = load_task(planned.path, seed=settings.run.seed)
        opened = open_environment(settings.environment) if make is None else make(settings, task)
        try:
            async with opened as environment:
                yield await _scored(planned, task, environment, settings.tasks)
        except HisaError as error:
            yield UndoneScore(planned, None, str(error))


async def _scored(
    planned: PlannedTask, task: Task, environment: Environment, settings: TaskSettings
) -> UndoneScore:
    scorer = TaskScorer(settings=settings)
    task = await scorer.prepare(task, environment)
    found = await scorer.score(task, environment, "succeeded")
    return UndoneScore(planned, found.value, found.detail)
