"""Task formats: what makes, prepares and scores the tasks of a kind; the group ``hisa.tasks``."""

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
"""piece: no such step, getter, metric or rule here, or one that is given wrongly; library: one that
a metric needs; account: that of an outside service; file: one beside the task file; address: one
that is not reached."""


@dataclass(frozen=True)
class Problem:
    """Something that a task lacks, or that is wrong in its file."""

    kind: ProblemKind
    text: str
    fix: str = ""


class Grade(NamedTuple):
    """How good is what the agent left."""

    score: float | None
    """From 0 to 1; None where there is none, for the reason."""
    reason: str
    partial: float | None = None
    """How much was done, from 0 to 1; None: the same as the score."""


class Unreadable(Exception):
    """What the agent left cannot be read, which is a wrong result."""


class NotScored(CheckFailed):
    """The check could not be carried out, through no fault of what the agent left."""


class TaskFormat:
    """A kind of task; a package announces an object of a subclass in the group ``hisa.tasks``.

    The name that it is announced by begins the texts that name its tasks, ``NAME:…``, and is
    written down with each task that it made, so that a run can be resumed and scored.
    """

    fills_screen = False
    """Whether its tasks are pages that fill the screen, where no other program is of use."""

    def make_task(self, name: str, *, seed: int = 0) -> Task:
        """Make the task that stands behind ``NAME:`` in a text.

        Args:
            name: what stands there.
            seed: of what the task draws.

        Raises:
            UsageError: there is no such task.
        """
        raise UsageError(f"{name!r}: tasks of this format are files and have no names")

    def reads(self, tree: Mapping[str, Any]) -> bool:
        """Whether a mapping, read from JSON or YAML, is a task file of this format."""
        return False

    def read(self, path: Path, tree: Mapping[str, Any]) -> Task:
        """Make the task of a file that it reads; it may say of which of several formats it is.

        Raises:
            UsageError: what is wrong with which key.
        """
        raise UsageError(f"{path}: tasks of this format are no files")

    def takes(self, task: Task) -> bool:
        """Whether a task that does not say of which format it is belongs to this one."""
        return False

    def problems(self, task: Task, settings: TaskSettings | None) -> list[Problem]:
        """Everything that is missing here or wrong; nothing is run and nothing is downloaded."""
        return []

    def open(self, context: Context) -> Context:
        """The context that the calls below get; a format may need one with more in it."""
        return context

    async def gather(self, context: Context) -> None:
        """See that all is there before the first setup step, and fetch what is not.

        Raises:
            EnvironmentFailed: the machine lacks something, or a file cannot be fetched.
            UsageError: the task is at fault.
        """
        await self.require(context)

    async def require(self, context: Context) -> None:
        """See that the machine has what the task needs; asked again where a score is below 1.

        Raises:
            EnvironmentFailed: it does not.
        """

    async def set_up(self, context: Context, step: Mapping[str, Any]) -> None:
        """Do one step of `Task.setup`.

        Raises:
            UsageError: the step is at fault.
            EnvironmentFailed: the machine cannot do it.
        """
        raise UsageError("tasks of this format have no setup steps")

    async def over(self, task: Task, environment: Environment) -> str:
        """Returns why a task is over by itself, asked after each step; empty while it goes on.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """
        return ""

    async def score(self, context: Context, status: ExitStatus) -> Grade:
        """Score what the agent left; the task has a check.

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
        """Whose metric judges a task, in words; empty where there is nothing to tell.

        Raises:
            UsageError: it cannot be judged here.
        """
        return ""
