"""Runs tasks for MCP clients: reports each step, and keeps the folder of a cancelled run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Annotated, Any

import anyio
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from hisa import agent
from hisa.config import Settings
from hisa.errors import HisaError, OperatorError
from hisa.events import Abstracted, Event, RunStarted
from hisa.tasks.taskfile import task_from_text
from hisa.text.prompt_text import printable
from hisa.text.redact import redact
from hisa.text.safe_text import safe_line

__all__ = ["RunOutcome", "TaskRuns"]

_MOST = 4
"""Most runs at once; each has a desktop, which may take 4 GB. Chosen by hand."""
_LINE = 400
"""Most characters of a step's line: three lines of a wide terminal."""


@dataclass(frozen=True)
class RunOutcome:
    """How a run ended, and where its folder is."""

    run: str
    """Its name."""
    status: str
    """succeeded and infeasible are the agent's word; ended: the task was over by itself;
    max_steps, budget, stopped, model_error, environment_error, agent_broke_machine."""
    success: bool
    """Whether it is a success, by the agent's own word."""
    steps: int
    message: str
    """The agent's last word, or what went wrong."""
    folder: str


class TaskRuns:
    """The runs that clients ask for.

    Args:
        settings: those of the server, and of each run.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._under_way: set[asyncio.Task[agent.RunResult]] = set()

    async def run_task(
        self,
        ctx: Context[Any, Any],
        instruction: Annotated[str, Field(description="The task in words.", pattern=r"\S")],
        max_steps: Annotated[
            int, Field(ge=0, description="At most so many steps; 0: as configured.")
        ] = 0,
    ) -> RunOutcome:
        """Run an agent on a task, on a desktop of its own.

        Takes minutes. Each step is reported as progress; a cancellation stops the run, and its
        folder is kept.
        """
        most = min(max_steps or self._settings.run.max_steps, self._settings.run.max_steps)
        run = self._settings.run.model_copy(update={"max_steps": most})
        settings = self._settings.model_copy(update={"run": run})
        with _to_client():
            task = task_from_text(instruction)
        if len(self._under_way) >= _MOST:
            raise ToolError(f"{_MOST} runs are under way; wait for one, or cancel one")
        lines: asyncio.Queue[tuple[int, str]] = asyncio.Queue()
        telling = asyncio.create_task(_tell(ctx, lines, most))
        work = asyncio.create_task(
            agent.run(task, settings=settings, on_event=lambda event: _note(event, lines))
        )
        self._under_way.add(work)
        try:
            with _to_client():
                return _outcome(await asyncio.shield(work))
        finally:
            await self._end(work, telling, lines)

    async def close(self) -> None:
        """Stop every run; their folders are kept."""
        for work in self._under_way:
            work.cancel()
        if self._under_way:
            await asyncio.wait(self._under_way)

    async def _end(
        self,
        work: asyncio.Task[agent.RunResult],
        telling: asyncio.Task[None],
        lines: asyncio.Queue[tuple[int, str]],
    ) -> None:
        """Stop a run that still goes on, as Ctrl-C would: once, and with its end in its log."""
        with anyio.CancelScope(shield=True):
            if not work.done():
                work.cancel()
                await asyncio.wait([work])
                telling.cancel()
            else:
                lines.put_nowait((0, ""))
            with suppress(asyncio.CancelledError):
                await telling
            self._under_way.discard(work)


def _clean_text(text: object) -> str:
    """A text as clients get it: without secrets and control characters."""
    return printable(redact(str(text)))


@contextmanager
def _to_client() -> Iterator[None]:
    """Tell a client the message of an error of HiSA, and the fix."""
    try:
        yield
    except OperatorError as error:
        fix = f" (try: {error.fix})" if error.fix else ""
        raise ToolError(_clean_text(f"{error}{fix}")) from error
    except HisaError as error:
        raise ToolError(_clean_text(error)) from error


def _note(event: Event, lines: asyncio.Queue[tuple[int, str]]) -> None:
    match event:
        case RunStarted():
            lines.put_nowait((-1, f"the run begins: {event.instruction}"))
        case Abstracted():
            lines.put_nowait((event.step, event.line))
        case _:
            pass


async def _tell(ctx: Context[Any, Any], lines: asyncio.Queue[tuple[int, str]], most: int) -> None:
    """Report steps to a client as they are done, if it asked for progress."""
    while (line := await lines.get())[0]:
        step, text = line
        try:
            await ctx.report_progress(max(0, step), most, safe_line(_clean_text(text), _LINE))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # the client has gone


def _outcome(result: agent.RunResult) -> RunOutcome:
    return RunOutcome(
        run=result.run_id,
        status=result.status,
        success=result.success,
        steps=result.steps,
        message=_clean_text(result.message),
        folder=str(result.folder),
    )
