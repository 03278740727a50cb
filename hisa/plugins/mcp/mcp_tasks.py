"""Runs of tasks for MCP clients: progress by step, and a cancellation that keeps the run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import anyio
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from hisa import agent
from hisa.config import Settings
from hisa.errors import UsageError
from hisa.events import Abstracted, Event, RunStarted
from hisa.plugins.mcp.mcp_allowed import said, to_client
from hisa.protocols import Task
from hisa.tasks.taskfile import load_task, task_from_text
from hisa.text.safe_text import safe_line

__all__ = ["RunOutcome", "TaskRuns"]

_MOST = 4
"""Runs at once; each has a desktop, of which one may take 4 GB. Chosen by hand."""
_NAMED = 20
"""Task files that are named to a client that asked for another one."""
_LINE = 400
"""Characters of a step's line: three lines of a wide terminal."""


@dataclass(frozen=True)
class RunOutcome:
    """How a run ended, and where it lies."""

    run: str
    """Its name."""
    status: str
    """succeeded and infeasible are the agent's word; ended: the task was over by itself;
    max_steps, budget, stopped, model_error, environment_error, agent_broke_machine."""
    success: bool
    """Whether it is a success, as far as that is known: by the score where there is one."""
    score: float | None
    """0 to 1; null: it has none."""
    score_state: str
    """scored, or why there is no score."""
    score_detail: str
    steps: int
    message: str
    """The agent's last word, or what went wrong."""
    folder: str


class TaskRuns:
    """The runs that clients ask for.

    Args:
        choose: gives the settings of a client's run, as `hisa.plugins.mcp.mcp_allowed.chosen`.
        tasks: the folder of the task files that clients may name; None: they may name none.
    """

    def __init__(self, choose: Callable[..., Settings], tasks: Path | None = None) -> None:
        self._tasks = tasks
        self._choose = choose
        self._under_way: set[asyncio.Task[agent.RunResult]] = set()

    async def run_task(
        self,
        ctx: Context[Any, Any],
        instruction: Annotated[str, Field(description="The task in words.")] = "",
        task_file: Annotated[
            str, Field(description="Or a task file of the server's folder, as NAME.yaml.")
        ] = "",
        env: Annotated[
            str, Field(description="Such as desktop or desktop:PROFILE; empty: as configured.")
        ] = "",
        model: Annotated[str, Field(description="The planner's model; empty: as configured.")] = "",
        max_steps: Annotated[
            int, Field(ge=0, description="At most so many steps; 0: as configured.")
        ] = 0,
    ) -> RunOutcome:
        """Run an agent on a task, on a desktop of its own, and score it where it has a check.

        Takes minutes. Each step is told as progress; a cancellation stops the run, and its folder
        stays.
        """
        settings = self._choose(env=env, model=model, steps=max_steps)
        with to_client():
            task = _task(instruction, task_file, self._tasks)
        if len(self._under_way) >= _MOST:
            raise ToolError(f"{_MOST} runs are under way; wait for one, or cancel one")
        lines: asyncio.Queue[tuple[int, str]] = asyncio.Queue()
        telling = asyncio.create_task(_tell(ctx, lines, settings.run.max_steps))
        work = asyncio.create_task(
            agent.run(task, settings=settings, on_event=lambda event: _note(event, lines))
        )
        self._under_way.add(work)
        try:
            with to_client():
                return _outcome(await asyncio.shield(work))
        finally:
            await self._end(work, telling, lines)

    async def close(self) -> None:
        """Stop every run; each is kept."""
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
        """Stop a run that still goes on, as a person would: once, and with its end in its log."""
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


def _task(instruction: str, task_file: str, folder: Path | None) -> Task:
    if bool(instruction.strip()) == bool(task_file.strip()):
        raise ToolError("give either an instruction or a task_file")
    if not task_file.strip():
        return task_from_text(instruction)
    if folder is None:
        raise ToolError("task files are not offered: hisa mcp serve --tasks FOLDER offers some")
    try:
        path = (folder / task_file).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise ValueError("outside")
        return load_task(path)
    except (ValueError, OSError, UsageError):  # whose words may quote what the file holds
        names = sorted(path.name for path in folder.glob("*.yaml"))[:_NAMED]
        raise ToolError(
            f"{said(task_file)[:100]!r} is no usable task file of the server's folder; "
            f"it has {said(', '.join(names)) or 'none'}"
        ) from None


def _note(event: Event, lines: asyncio.Queue[tuple[int, str]]) -> None:
    match event:
        case RunStarted():
            lines.put_nowait((-1, f"the run begins: {event.instruction}"))
        case Abstracted():
            lines.put_nowait((event.step, event.line))
        case _:
            pass


async def _tell(ctx: Context[Any, Any], lines: asyncio.Queue[tuple[int, str]], most: int) -> None:
    """Tell a client of steps as they are done; it may not have asked for that."""
    while (line := await lines.get())[0]:
        step, text = line
        try:
            await ctx.report_progress(max(0, step), most, safe_line(said(text), _LINE))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # the client has gone


def _outcome(result: agent.RunResult) -> RunOutcome:
    return RunOutcome(
        run=result.run_id,
        status=result.status,
        success=result.success,
        score=result.score,
        score_state=result.score_state,
        score_detail=said(result.score_detail),
        steps=result.steps,
        message=said(result.message),
        folder=str(result.folder),
    )
