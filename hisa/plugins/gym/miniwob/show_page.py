"""Pages of MiniWoB++ as tasks: the step that begins an episode, the getter of its reward."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from pydantic import Field

from hisa.errors import EnvironmentFailed
from hisa.machine.patience import Deadline
from hisa.plugins.gym.miniwob.outcome import (
    PROGRAM,
    STATE,
    command,
    episode_state,
    last_output,
    outcome,
)
from hisa.plugins.gym.miniwob.package import application, page_path
from hisa.protocols import Task
from hisa.tasks.pieces import GETTERS, SETUP, Parameters
from hisa.tasks.program_start import start
from hisa.tasks.task_context import Context

__all__ = ["MINIWOB", "SETUP_STEP", "Episode", "miniwob_task"]

MINIWOB = "miniwob:"
"""The prefix of a page's name in place of a task file."""
SETUP_STEP = "miniwob_page"
_SECONDS = 300.0
"""Longest wait for browser and page; an emulated machine needs most of it."""


def miniwob_task(name: str, *, seed: int = 0) -> Task:
    """Makes the task ``name``; its setup replaces the instruction with the page's own.

    Args:
        name: a task of MiniWoB++, such as "click-test".
        seed: for the page's random choices.

    Raises:
        UsageError: no such task, or the pages are not installed.
    """
    page_path(name)
    return Task(
        id=name,
        instruction=f"What the MiniWoB++ page {name} asks for.",
        domain="browser",
        setup=({"type": SETUP_STEP, "parameters": {"task": name, "seed": seed}},),
        check={"func": "miniwob_solved", "result": {"type": "miniwob_reward"}},
    )


class Episode(Parameters):
    """A page, and the seed for its random choices."""

    task: Annotated[str, Field(min_length=1, max_length=100)]
    seed: Annotated[int, Field(ge=0, lt=2**53)] = 0


@SETUP(SETUP_STEP, Episode)
async def miniwob_page(context: Context, params: Episode) -> None:
    """Shows a page, begins its episode, and takes the task's instruction from it."""
    page = page_path(params.task)
    environment = context.environment
    await environment.execute(f"rm -f {STATE}")
    await environment.write_file(PROGRAM, await asyncio.to_thread(application))
    await start(context, command(page, params.seed), names=("chrom",))
    context.instruction = await _instruction(context)


async def _instruction(context: Context) -> str:
    deadline = Deadline(_SECONDS)
    while not deadline.passed:
        state = await episode_state(context.environment)
        if state is not None and state.instruction is not None:
            return state.instruction
        if state is not None and (state.broken or state.exit is not None):
            reason = state.broken or await last_output(context.environment)
            raise EnvironmentFailed(f"the page did not come up: {reason}")
        await context.pause(0.2)
    reason = await last_output(context.environment)
    raise EnvironmentFailed(f"the page did not come up within {deadline.waited:.0f} s: {reason}")


@GETTERS("miniwob_reward", Parameters)
async def miniwob_reward(context: Context, params: Parameters) -> dict[str, Any]:
    """Returns the page's reward and the reason, once the screen has settled."""
    await context.environment.observe(settle=1.0)
    reward, reason = await outcome(context.environment)
    return {"reward": reward, "reason": reason}
