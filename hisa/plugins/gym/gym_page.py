"""Makes tasks of BrowserGym from their names, sets them up and reads their rewards.

``browsergym:miniwob.click-test`` or, with options behind a question mark,
``browsergym:openended?start_url=http://127.0.0.1:8000/``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import parse_qsl

from pydantic import Field

from hisa.errors import EnvironmentFailed, UsageError
from hisa.plugins.gym.base import Staging
from hisa.protocols import Environment, Task
from hisa.tasks.pieces import GETTERS, SETUP, Parameters
from hisa.tasks.task_context import Context

__all__ = ["BROWSERGYM", "SETUP_STEP", "gym_task", "over"]

BROWSERGYM = "browsergym:"
SETUP_STEP = "browsergym_task"
_FIX = "hisa run browsergym:NAME --env browsergym"


class Staged(Parameters):
    """A task, its options, and the seed for its random choices."""

    task: Annotated[str, Field(min_length=1, max_length=200)]
    options: Mapping[str, str] = {}
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0


def gym_task(text: str, *, seed: int = 0) -> Task:
    """Makes the task of a name; staging it replaces the instruction with its goal.

    Args:
        text: the name, with or without ``browsergym:``.
        seed: for the task's random choices.

    Raises:
        UsageError: there is no name, or the options cannot be read.
    """
    name, _, query = text.removeprefix(BROWSERGYM).partition("?")
    try:
        options = dict(parse_qsl(query, strict_parsing=True)) if query else {}
    except ValueError as error:
        raise UsageError(f"{text!r} is not NAME?OPTION=VALUE&OPTION=VALUE: {error}") from error
    if not name:
        raise UsageError(f"{text!r} names no task of BrowserGym", fix=_FIX)
    parameters = {"task": name, "options": options, "seed": seed}
    return Task(
        id=name,
        instruction=f"What the BrowserGym task {name} asks for.",
        domain="browser",
        setup=({"type": SETUP_STEP, "parameters": parameters},),
        check={"func": "browsergym_rewarded", "result": {"type": "browsergym_reward"}},
    )


def _require_staging(environment: Environment) -> Staging:
    if not isinstance(environment, Staging):
        raise EnvironmentFailed(
            f"a task of BrowserGym does not run on {environment.name}", fix=_FIX
        )
    return environment


@SETUP(SETUP_STEP, Staged)
async def browsergym_task(context: Context, params: Staged) -> None:
    """Opens a task of BrowserGym, and takes the instruction from its goal."""
    goal = await _require_staging(context.environment).stage(
        params.task, params.options, params.seed
    )
    if not goal:
        raise EnvironmentFailed(
            f"the task {params.task!r} of BrowserGym has no goal in words",
            fix="browsergym:openended?start_url=URL&goal=WORDS",
        )
    context.instruction = goal


async def over(environment: Environment) -> str:
    """Returns why a task of BrowserGym is over; empty while it goes on."""
    return _require_staging(environment).over


@GETTERS("browsergym_reward", Parameters)
async def browsergym_reward(context: Context, params: Parameters) -> dict[str, Any]:
    """Returns BrowserGym's reward at the end, and why the episode ended."""
    await context.environment.observe(settle=1.0)
    reward, over = await _require_staging(context.environment).reward()
    return {"reward": reward, "reason": over or f"the episode goes on, with reward {reward:g}"}
