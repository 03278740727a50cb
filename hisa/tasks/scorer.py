"""Brings a machine to a task's initial state, and scores what the agent left behind."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from hisa.config import TaskSettings
from hisa.errors import CheckFailed, EnvironmentFailed, ModelFacingError, OperatorError, UsageError
from hisa.events import Instructed
from hisa.protocols import Emit, Environment, ExitStatus, Scoring, Task
from hisa.tasks.find_format import format_of, sorted_problems
from hisa.tasks.program_start import check_running, forget
from hisa.tasks.task_context import Context, Phase
from hisa.tasks.task_format import TaskFormat, Unreadable

__all__ = ["TaskScorer", "check_possible"]


def check_possible(task: Task, settings: TaskSettings | None = None) -> None:
    """Refuses a task that lacks something, before anything is done for it.

    Raises:
        UsageError: something is missing or wrong; the message lists all of it.
    """
    if lacking := sorted_problems(task, settings):
        fix = next((problem.fix for problem in lacking if problem.fix), "")
        reasons = "; ".join(problem.text for problem in lacking)
        raise UsageError(f"task {task.id!r} cannot be run here: {reasons}", fix=fix)


class TaskScorer:
    """Setup and scoring of tasks of every format; see `hisa.protocols.Scorer`.

    Args:
        pause: waits for some seconds, for setup steps that wait.
        emit: gets an `Instructed` event if the setup replaces the task's instruction.
        settings: the user's settings for tasks; None: the defaults.
        parts: replacements for a format's own parts, by name; a benchmark takes ``cache``, the
            folder of downloaded files, and ``password``, that of the desktop's user.
    """

    def __init__(
        self,
        *,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        emit: Emit = lambda _: None,
        settings: TaskSettings | None = None,
        **parts: Any,
    ) -> None:
        self._settings = settings or TaskSettings()
        self._pause = pause
        self._emit = emit
        self._parts = parts
        self._known: tuple[Task, TaskFormat] | None = None

    def _format_of(self, task: Task) -> TaskFormat:
        """Returns the format of a task; remembers it, because every step asks for it."""
        if self._known is None or self._known[0] is not task:
            self._known = task, format_of(task)
        return self._known[1]

    async def prepare(self, task: Task, environment: Environment) -> Task:
        """Runs the setup in order; returns the task, with the instruction that the setup found.

        Raises:
            UsageError: something that the task needs is missing; nothing was done yet.
            EnvironmentFailed: the initial state cannot be reached.
        """
        check_possible(task, self._settings)
        made_by = self._format_of(task)
        with self._context(made_by, task, environment, "prepare") as context:
            await made_by.gather(context)
            try:
                for number, step in enumerate(task.setup, 1):
                    with _prefix_errors(f"setup step {number} of task {task.id!r}"):
                        await made_by.set_up(context, step)
                with _prefix_errors(f"setup of task {task.id!r}"):
                    await check_running(context)
            finally:
                await forget(context)
        if not context.instruction:
            return task
        self._emit(Instructed(instruction=context.instruction))
        return replace(task, instruction=context.instruction)

    async def over(self, task: Task, environment: Environment) -> str:
        """See `hisa.protocols.Scorer`."""
        return await self._format_of(task).over(task, environment)

    async def score(self, task: Task, environment: Environment, status: ExitStatus) -> Scoring:
        """Scores what the agent left; see `hisa.protocols.Scorer`.

        Args:
            task: the task, as `prepare` returned it.
            environment: the machine that is scored.
            status: how the run ended.
        """
        if task.check is None:
            return Scoring("no_check", detail="the task has no check")
        by, made_by = "", self._format_of(task)
        with self._context(made_by, task, environment, "score") as context:
            try:
                by = await asyncio.to_thread(made_by.judged_by, task)
                try:
                    score, reason, partial = await made_by.score(context, status)
                except Unreadable as error:
                    score, reason, partial = 0.0, str(error), None
                if score is not None and score < 1.0:  # a part that went missing is not the agent's
                    await made_by.require(context)
            except (UsageError, CheckFailed, ModelFacingError, OSError) as error:
                fix = getattr(error, "fix", "")
                reason = f"{error}{f'; try: {fix}' if fix else ''}"
                return Scoring("score_failed", detail=reason, judged_by=by)
        partial = score if partial is None else partial
        return Scoring("score_failed" if score is None else "scored", score, reason, by, partial)

    @contextmanager
    def _context(
        self, made_by: TaskFormat, task: Task, environment: Environment, phase: Phase
    ) -> Iterator[Context]:
        with tempfile.TemporaryDirectory(prefix="hisa-task-") as folder:
            yield made_by.open(
                Context(
                    task,
                    environment,
                    Path(folder),
                    phase,
                    settings=self._settings,
                    parts=self._parts,
                    pause=self._pause,
                )
            )


@contextmanager
def _prefix_errors(label: str) -> Iterator[None]:
    """Puts the part of the setup in front of any error that is raised inside.

    Raises:
        UsageError: the task file is at fault.
        EnvironmentFailed: anything else that keeps the machine from its initial state.
    """
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{label}: {error}", fix=error.fix) from error
    except OperatorError as error:
        raise EnvironmentFailed(f"{label}: {error}", fix=error.fix) from error
    except (ModelFacingError, OSError, Unreadable) as error:
        raise EnvironmentFailed(f"{label}: {error}") from error
