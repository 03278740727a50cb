"""Brings a machine to a task's initial state, and scores what the agent left behind."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hisa.config import TaskSettings
from hisa.errors import CheckFailed, EnvironmentFailed, ModelFacingError, OperatorError, UsageError
from hisa.events import Instructed
from hisa.plugins.benchmarks.tasks.benchmark import RawStep, explain
from hisa.plugins.benchmarks.tasks.browser_flags import require_flags
from hisa.plugins.benchmarks.tasks.cache import FileCache
from hisa.plugins.benchmarks.tasks.download import require_public_address
from hisa.plugins.benchmarks.tasks.evaluator import evaluate, run_step
from hisa.plugins.benchmarks.tasks.expected_files import expected_problems
from hisa.plugins.benchmarks.tasks.judge import judged_by
from hisa.plugins.benchmarks.tasks.metrics import Unreadable
from hisa.plugins.benchmarks.tasks.needs import require_apps
from hisa.plugins.benchmarks.tasks.outside_places import require_places
from hisa.plugins.benchmarks.tasks.problems import sorted_problems, urls
from hisa.plugins.benchmarks.tasks.setup.by_proxy import named_proxy
from hisa.plugins.benchmarks.tasks.setup.started import check_running, forget
from hisa.protocols import Emit, Environment, ExitStatus, Scoring, Task
from hisa.tasks import hisa_format
from hisa.tasks.partial_credit import partial_score
from hisa.tasks.task_context import Context, Phase

__all__ = ["TaskScorer", "check_possible"]


def check_possible(task: Task, settings: TaskSettings | None = None) -> None:
    """Refuse a task that lacks something, before anything is done for it.

    Raises:
        UsageError: all that is missing or wrong.
    """
    if lacking := sorted_problems(task, settings):
        fix = next((one.fix for one in lacking if one.fix), "")
        why = "; ".join(one.text for one in lacking)
        raise UsageError(f"task {task.id!r} cannot be run here: {why}", fix=fix)


class TaskScorer:
    """Setup and scoring of our own task files and of benchmarks; see `hisa.protocols.Scorer`.

    Args:
        cache: where files of the internet are kept.
        password: of the desktop's user; ``{CLIENT_PASSWORD}`` in a benchmark's commands.
        pause: how a step that waits does so.
        emit: gets an `Instructed` where the setup says what the task's words are.
        settings: what the user allows and gives; None: the defaults.
    """

    def __init__(
        self,
        *,
        cache: FileCache | None = None,
        password: str = "password",
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        emit: Emit = lambda _: None,
        settings: TaskSettings | None = None,
    ) -> None:
        self._settings = settings or TaskSettings()
        self._cache = cache or FileCache.by(self._settings)
        self._password = password
        self._pause = pause
        self._emit = emit

    async def prepare(self, task: Task, environment: Environment) -> Task:
        """Run the setup in order; the task as it is then, with the words that the setup found.

        Raises:
            UsageError: something that the task needs is not here; nothing was done yet.
            EnvironmentFailed: the initial state cannot be reached.
        """
        check_possible(task, self._settings)
        for url in urls(task):
            if not self._cache.holds(url):
                require_public_address(url, self._cache.allowed)
        await self._require(task, environment)
        await self._fetch(task)
        with self._context(task, environment, "prepare") as context:
            try:
                for number, raw in enumerate(task.setup, 1):
                    with _named(f"setup step {number} of task {task.id!r}"):
                        await _set_up(context, raw)
                with _named(f"setup of task {task.id!r}"):
                    await check_running(context)
            finally:
                await forget(context)
        if not context.instruction:
            return task
        self._emit(Instructed(instruction=context.instruction))
        return replace(task, instruction=context.instruction)

    async def _require(self, task: Task, environment: Environment) -> None:
        """See that the machine has what a task needs: applications, flags of the browser, pages.

        Raises:
            EnvironmentFailed: it does not.
        """
        await require_apps(task, environment)
        await require_flags(task, environment)
        await require_places(task, environment, self._settings)

    async def _fetch(self, task: Task) -> None:
        """Download what the task needs, expected files included, before anything is done for it.

        Raises:
            EnvironmentFailed: one cannot be downloaded.
            UsageError: an expected file cannot be compared with.
        """
        for url in urls(task):
            await self._cache.fetch(url)
        if wrong := await asyncio.to_thread(expected_problems, task, self._cache):
            raise UsageError(f"task {task.id!r} cannot be scored here: {'; '.join(wrong)}")

    async def score(self, task: Task, environment: Environment, status: ExitStatus) -> Scoring:
        """See `hisa.protocols.Scorer`."""
        if task.check is None:
            return Scoring("no_check", detail="the task has no check")
        by = ""
        with self._context(task, environment, "score") as context:
            try:
                by = await asyncio.to_thread(judged_by, task)
                if "func" in task.check:
                    value, why = await evaluate(context, status)
                    partial = value
                else:
                    value, why, partial = await _own_checks(context, task.check)
                if value is not None and value < 1.0:  # gone meanwhile: the machine is at fault
                    await self._require(task, environment)
            except (UsageError, CheckFailed, ModelFacingError, OSError) as error:
                fix = getattr(error, "fix", "")
                why = f"{error}{f'; try: {fix}' if fix else ''}"
                return Scoring("score_failed", detail=why, judged_by=by)
        return Scoring("score_failed" if value is None else "scored", value, why, by, partial)

    @contextmanager
    def _context(self, task: Task, environment: Environment, phase: Phase) -> Iterator[Context]:
        with tempfile.TemporaryDirectory(prefix="hisa-task-") as folder:
            yield Context(
                task,
                environment,
                Path(folder),
                self._cache,
                phase,
                password=self._password,
                pause=self._pause,
                proxy=named_proxy(task, self._settings),
            )


@contextmanager
def _named(what: str) -> Iterator[None]:
    """Inside, an error says which part of the setup it is of.

    Raises:
        UsageError: the task file is at fault.
        EnvironmentFailed: anything else that keeps the machine from its initial state.
    """
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{what}: {error}", fix=error.fix) from error
    except OperatorError as error:
        raise EnvironmentFailed(f"{what}: {error}", fix=error.fix) from error
    except (ModelFacingError, OSError, Unreadable) as error:
        raise EnvironmentFailed(f"{what}: {error}") from error


async def _set_up(context: Context, raw: Mapping[str, Any]) -> None:
    if "type" not in raw:
        await hisa_format.set_up(context, raw)
        return
    try:
        step = RawStep.model_validate(raw)
    except ValidationError as error:
        raise UsageError(f"task {context.task.id!r}: {explain(error)}") from error
    await run_step(context, step)


async def _own_checks(context: Context, check: Mapping[str, Any]) -> tuple[float, str, float]:
    """Returns the score, its reason and the partial score.

    The score is 1.0 where every check holds; else the lowest one with its reason.
    """
    found = [await hisa_format.check(context, raw) for raw in check["all"]]
    partial = partial_score([graded for graded, _ in found])
    lowest, why = min(found, key=lambda pair: pair[0].score)
    if lowest.score == 1.0:
        why = f"all {len(found)} checks hold"
    return lowest.score, why, partial
