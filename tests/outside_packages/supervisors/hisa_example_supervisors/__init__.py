"""A supervisor that ends a run once a file named STOP lies in its folder."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from hisa.agent import Agent
from hisa.outcomes.endings import ExitStatus, Scoring
from hisa.protocols import Emit, Environment, Scorer, Task
from hisa.runs.log import RunLog
from hisa.wiring import RunContext


class StopFile:
    """Watches over one run."""

    def __init__(self, log: RunLog, emit: Emit) -> None:
        self._file = log.folder / "STOP"

    def context(self, run_context: RunContext, /) -> RunContext:
        """Returns the parts of the run, as they are."""
        return run_context

    @asynccontextmanager
    async def over(self, agent: Agent, /) -> AsyncIterator[Agent]:
        """Puts another scorer in place of the agent's."""
        agent.scorer = Stopping(agent.scorer, self._file)
        yield agent


class Stopping:
    """A scorer by which a task is over once a file is there."""

    def __init__(self, inner: Scorer, file: Path) -> None:
        self._inner, self._file = inner, file

    async def prepare(self, task: Task, environment: Environment) -> Task:
        """Brings the machine to the task's initial state."""
        return await self._inner.prepare(task, environment)

    async def over(self, task: Task, environment: Environment) -> str:
        """Returns why the task is over; asked after each step."""
        if self._file.exists():
            return f"{self._file.name} lies in the run's folder"
        return await self._inner.over(task, environment)

    async def score(self, task: Task, environment: Environment, status: ExitStatus) -> Scoring:
        """Scores what was left behind."""
        return await self._inner.score(task, environment, status)
