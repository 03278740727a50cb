"""Task formats, which make, prepare and score tasks; the entry-point group ``hisa.tasks``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from hisa.config import TaskSettings
from hisa.errors import CheckFailed, UsageError
from hisa.protocols import Environment, ExitStatus, Task

if TYPE_CHECKING:
    from hisa.tasks.task_context import Context

__all__ = ["Grade", "NotScored", "Problem", "ProblemKind", "TaskFormat", "Unreadable"]

ProblemKind = Literal["piece", "library", "account", "file", "address"]
"""What is missing or wrong. piece: a step, getter, metric or rule; library: one that a metric
needs; account: that of an outside service; file: one beside the task file; address: one that cannot
be reached."""


@dataclass(frozen=True)
class Problem:
    """Something that a task lacks, or that is wrong in its file."""

    kind: ProblemKind
    text: str
    fix: str = ""


class Grade(NamedTuple):
    """A score and its reason."""

    score: float | None
    """From 0 to 1; None if there is none, and ``reason`` says why."""
    reason: str
    partial: float | None = None
    """The share of the task that was done, from 0 to 1; None: the same as the score."""


class Unreadable(Exception):
    """What the agent left cannot be read, which counts as a wrong result."""


class NotScored(CheckFailed):
    """The check could not be carried out, and what the agent left is not the cause."""


class TaskFormat:
    """A kind of task; a package announces an object of a subclass in the group ``hisa.tasks``.

    Texts name its tasks as ``NAME:…``, where NAME is the announced name. Each task that it makes
    keeps that name, so a run can be resumed and scored.
    """

    fills_screen = False
    """Whether its tasks are pages that fill the screen, so that no other program is of use."""

    def make_task(self, name: str, *, seed: int = 0) -> Task:
        """Makes the task that a text names as ``NAME:…``.

        Args:
            name: the part after ``NAME:``.
            seed: for the task's random choices.

        Raises:
            UsageError: there is no such task.
        """
        raise UsageError(f"{name!r}: tasks of this format are files and have no names")

    def reads(self, tree: Mapping[str, Any]) -> bool:
        """Whether a mapping, read from JSON or YAML, is a task file of this format."""
        return False

    def read(self, path: Path, tree: Mapping[str, Any]) -> Task:
        """Makes the task of a file for which `reads` is true.

        `Task.format` may be set where one reader serves several formats.

        Raises:
            UsageError: a key is wrong; the message names it.
        """
        raise UsageError(f"{path}: tasks of this format are not files")

    def takes(self, task: Task) -> bool:
        """Whether a task without the name of a format belongs to this one."""
        return False

    def problems(self, task: Task, settings: TaskSettings | None) -> list[Problem]:
        """Returns all that is missing or wrong; runs nothing and downloads nothing."""
        return []

    def open(self, context: Context) -> Context:
        """Returns the context for the methods below; a format may return one with more in it."""
        return context

    async def gather(self, context: Context) -> None:
        """Fetches or requires all that the task needs, before the first setup step.

        Raises:
            EnvironmentFailed: the machine lacks something, or a file cannot be fetched.
            UsageError: the task is at fault.
        """
        await self.require(context)

    async def require(self, context: Context) -> None:
        """Requires what the task needs of the machine; called again if a score is below 1.

        Raises:
            EnvironmentFailed: the machine lacks it.
        """

    async def set_up(self, context: Context, step: Mapping[str, Any]) -> None:
        """Does one step of `Task.setup`.

        Raises:
            UsageError: the step is at fault.
            EnvironmentFailed: the machine cannot do it.
        """
        raise UsageError("tasks of this format have no setup steps")

    async def over(self, task: Task, environment: Environment) -> str:
        """Returns why a task has ended by itself; empty while it goes on. Called after each step.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """
        return ""

    async def score(self, context: Context, status: ExitStatus) -> Grade:
        """Scores what the agent left; called only for tasks that have a check.

        Args:
            context: the task and its machine.
            status: how the run ended.

        Raises:
            Unreadable: what the agent left cannot be read; a score of 0.
            NotScored: the check could not be carried out; no score.
            UsageError: the task is at fault; no score.
            EnvironmentFailed: the machine does not answer; no score.
        """
        raise NotImplementedError

    def judged_by(self, task: Task) -> str:
        """Names the source of the metric that judges a task; empty if there is nothing to say.

        Raises:
            UsageError: it cannot be judged here.
        """
        return ""
