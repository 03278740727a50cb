"""The formats of MiniWoB++ pages and BrowserGym tasks, announced in the group ``hisa.tasks``."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from hisa.config import TaskSettings
from hisa.plugins.gym import gym_page
from hisa.plugins.gym.miniwob import show_page
from hisa.plugins.gym.miniwob.outcome import over
from hisa.plugins.gym.page_fonts import require_font
from hisa.protocols import Environment, ExitStatus, Task
from hisa.tasks.pieces import GETTERS, SETUP
from hisa.tasks.task_format import Grade, NotScored, Problem, TaskFormat

if TYPE_CHECKING:
    from hisa.tasks.task_context import Context

__all__ = ["BROWSERGYM_TASKS", "MINIWOB_TASKS", "PageFormat"]


class PageFormat(TaskFormat):
    """Tasks of one setup step, which shows a page, and one getter, which reads its reward.

    Args:
        step: the type of the setup step.
        func: the name of the metric in the task's check.
        make: makes the task of a name; ``seed`` is for its random choices.
        score: returns the score, 0 to 1, of a reward.
        over: returns why the episode is over; empty while it goes on.
    """

    fills_screen = True

    def __init__(
        self,
        *,
        step: str,
        func: str,
        make: Callable[..., Task],
        score: Callable[[float], float],
        over: Callable[[Environment], Awaitable[str]],
    ) -> None:
        self._step = step
        self._func = func
        self._make = make
        self._score = score
        self._over = over

    def make_task(self, name: str, *, seed: int = 0) -> Task:
        """See `TaskFormat`."""
        return self._make(name, seed=seed)

    def takes(self, task: Task) -> bool:
        """See `TaskFormat`."""
        func = (task.check or {}).get("func")
        return [step.get("type") for step in task.setup] == [self._step] and func == self._func

    def problems(self, task: Task, settings: TaskSettings | None) -> list[Problem]:
        """See `TaskFormat`."""
        texts = [SETUP.problem(self._step, step.get("parameters", {})) for step in task.setup]
        return [Problem("piece", text) for text in texts if text]

    async def require(self, context: Context) -> None:
        """Requires the font of the page; see `TaskFormat`."""
        await require_font(context.task, context.environment)

    async def set_up(self, context: Context, step: Mapping[str, Any]) -> None:
        """See `TaskFormat`."""
        await SETUP.run(context, self._step, step.get("parameters", {}))

    async def over(self, task: Task, environment: Environment) -> str:
        """See `TaskFormat`."""
        return await self._over(environment)

    async def score(self, context: Context, status: ExitStatus) -> Grade:
        """See `TaskFormat`."""
        if status == "infeasible":
            return Grade(0.0, "given up as infeasible")
        getter = (context.task.check or {})["result"]
        result = await GETTERS.run(context, str(getter["type"]), getter)
        reward = float(result["reward"])
        if math.isnan(reward):
            raise NotScored(f"{self._func} gave no number: {result['reason']}")
        return Grade(self._score(reward), f"{self._func}: {result['reason']}")

    def judged_by(self, task: Task) -> str:
        """See `TaskFormat`."""
        return "ours"


MINIWOB_TASKS = PageFormat(
    step=show_page.SETUP_STEP,
    func="miniwob_solved",
    make=show_page.miniwob_task,
    score=lambda reward: float(reward > 0),  # as published results count it
    over=over,
)
BROWSERGYM_TASKS = PageFormat(
    step=gym_page.SETUP_STEP,
    func="browsergym_rewarded",
    make=gym_page.gym_task,
    score=lambda reward: min(1.0, max(0.0, reward)),
    over=gym_page.over,
)
