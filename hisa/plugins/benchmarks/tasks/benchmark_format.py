"""Tasks of OSWorld and Spider2-V, as HiSA's own entry points of the group ``hisa.tasks``.

The modules with their steps, getters and metrics are heavy, and loaded when a task needs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from hisa.config import TaskSettings
from hisa.errors import UsageError
from hisa.plugins.benchmarks.tasks.benchmark import RawStep, from_json, looks_like
from hisa.plugins.gym.gym_format import BROWSERGYM_TASKS, MINIWOB_TASKS
from hisa.protocols import ExitStatus, Task
from hisa.tasks.hisa_format import HisaFormat
from hisa.tasks.task_format import Grade, Problem
from hisa.text.validation import explain

if TYPE_CHECKING:
    from hisa.tasks.task_context import Context

__all__ = ["BENCHMARK", "BenchmarkFormat"]


class BenchmarkFormat(HisaFormat):
    """JSON files of benchmarks; a step without a type, or a check without a metric, is HiSA's."""

    def reads(self, tree: Mapping[str, Any]) -> bool:
        """See `TaskFormat`."""
        return looks_like(tree)

    def read(self, path: Path, tree: Mapping[str, Any]) -> Task:
        """See `TaskFormat`."""
        return from_json(path, tree)

    def takes(self, task: Task) -> bool:
        """See `TaskFormat`; pages of the gym are its own."""
        return not (
            super().takes(task) or MINIWOB_TASKS.takes(task) or BROWSERGYM_TASKS.takes(task)
        )

    def problems(self, task: Task, settings: TaskSettings | None) -> list[Problem]:
        """See `TaskFormat`."""
        from hisa.plugins.benchmarks.tasks.task_needs import benchmark_problems

        return benchmark_problems(task, settings)

    def open(self, context: Context) -> Context:
        """See `TaskFormat`."""
        from hisa.plugins.benchmarks.tasks.setup.proxy_step import named_proxy
        from hisa.plugins.benchmarks.tasks.step_context import StepContext

        return StepContext.of(context, proxy=named_proxy(context.task, context.settings))

    async def gather(self, context: Context) -> None:
        """See `TaskFormat`; downloads what the task needs, expected files included."""
        from hisa.plugins.benchmarks.tasks.download import require_public_address
        from hisa.plugins.benchmarks.tasks.step_context import StepContext
        from hisa.plugins.benchmarks.tasks.task_needs import needed_urls

        assert isinstance(context, StepContext)
        task, cache = context.task, context.cache
        for url in needed_urls(task):
            if not cache.holds(url):
                require_public_address(url, cache.allowed)
        await self.require(context)
        for url in needed_urls(task):
            await cache.fetch(url)

    async def require(self, context: Context) -> None:
        """See `TaskFormat`: applications and pages."""
        from hisa.plugins.benchmarks.tasks.task_needs import require_machine

        await require_machine(context.task, context.environment, context.settings)

    async def set_up(self, context: Context, step: Mapping[str, Any]) -> None:
        """See `TaskFormat`."""
        from hisa.plugins.benchmarks.tasks.evaluator import run_step

        if "type" not in step:
            await super().set_up(context, step)
            return
        try:
            read = RawStep.model_validate(step)
        except ValidationError as error:
            raise UsageError(f"task {context.task.id!r}: {explain(error, RawStep)}") from error
        await run_step(context, read)

    async def score(self, context: Context, status: ExitStatus) -> Grade:
        """See `TaskFormat`."""
        from hisa.plugins.benchmarks.tasks.evaluator import evaluate

        if "func" not in (context.task.check or {}):
            return await super().score(context, status)
        return Grade(*await evaluate(context, status))

    def judged_by(self, task: Task) -> str:
        """See `TaskFormat`."""
        from hisa.plugins.benchmarks.tasks.judge import judged_by

        return judged_by(task)


BENCHMARK = BenchmarkFormat()
