"""Offers HiSA's machines as a Gymnasium environment: screenshots out, PyAutoGUI source in.

Importing this registers ``hisa/desktop``. The reward is the score of a HiSA task.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hisa.actions import parse, slots, to_space
from hisa.config import Settings, load
from hisa.environments.open_environment import open_environment
from hisa.errors import ActionRefused, CheckFailed, EnvironmentFailed, UsageError
from hisa.machine.parts import install_command
from hisa.outcomes.endings import ExitStatus
from hisa.protocols import Environment, Task
from hisa.screen.observation import Observation
from hisa.tasks.named_task import named_task
from hisa.tasks.scorer import TaskScorer, check_possible

try:
    import gymnasium
    from gymnasium import spaces
except ImportError as error:
    raise ImportError(
        f"Gymnasium is not installed: {error}; try: {install_command('gymnasium')}"
    ) from error

__all__ = ["ID", "DesktopGym"]

ID = "hisa/desktop"
"""The name for `gymnasium.make`, as ``hisa.plugins.gym.desktop_gym:hisa/desktop``."""
_ENDS: dict[str, ExitStatus] = {"termination": "succeeded", "infeasible": "infeasible"}
"""Actions that end the episode, by the names of the tools."""
_T = TypeVar("_T")


class _Any(spaces.Space[Any]):
    """Any value of a type; a sampled action does nothing."""

    def __init__(self, kind: type) -> None:
        super().__init__()
        self._kind = kind

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        return "pyautogui.sleep(0)"

    def contains(self, x: Any) -> bool:
        return isinstance(x, self._kind)


class _Loop:
    """An event loop in its own thread, for callers without a loop or inside one."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Runs a coroutine; returns its result or raises its exception."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Ends the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class DesktopGym(gymnasium.Env[Any, str]):
    """One task on a machine that is thrown away after each episode.

    An action is PyAutoGUI source of the closed set, with points in pixels of the screenshot, or
    ``termination`` or ``infeasible``, which end the episode. The episode also ends if the task is
    over by itself, as a page that has its answer, or if its score is 1 after a step. A task whose
    scoring changes the machine is scored only at the end. After ``run.max_steps`` steps the episode
    is truncated.

    Args:
        task: a task, or a text as for ``hisa run``: a task file, ``miniwob:NAME``.
        settings: None: as on the command line, from ``hisa.toml`` and HISA_* variables.
        environment: a kind, as for ``--env``; or an environment of your own, not started yet.

    Raises:
        UsageError: the task has no check, cannot be run here, or the machine is not thrown away.
    """

    def __init__(
        self,
        task: Task | str | Path,
        *,
        settings: Settings | None = None,
        environment: str | Environment = "",
    ) -> None:
        self.action_space = _Any(str)
        self.observation_space = spaces.Dict(
            {"goal": _Any(str), "screenshot": _Any(np.ndarray), "last_action_error": _Any(str)}
        )
        self._settings = settings or load()
        if environment and isinstance(environment, str):
            kind = self._settings.environment.model_copy(update={"kind": environment})
            self._settings = self._settings.model_copy(update={"environment": kind})
        self._external_machine = environment if not isinstance(environment, str) else None
        self._task_source = task
        self._task = self._draw_task(self._settings.run.seed)
        self._refuse_what_cannot_be()
        self._scorer = TaskScorer(settings=self._settings.tasks)
        self._loop: _Loop | None = None
        self._machine: Environment | None = None
        self._look: Observation | None = None
        self._error = ""
        self._steps, self._over = 0, True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Starts a fresh machine and sets the task up.

        Args:
            seed: for the random choices of a named task, such as a page of MiniWoB++; None: the
                setting ``run.seed``.
            options: not used.

        Raises:
            EnvironmentFailed: the machine or the task's initial state cannot be reached.
        """
        super().reset(seed=seed)
        self._over = True
        self._task = self._draw_task(self._settings.run.seed if seed is None else seed % 2**31)
        self._run_in_loop(self._restart())
        self._steps, self._over, self._error = 0, False, ""
        return self._build_observation(), {"task_info": {}}

    def step(self, action: str) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Does an action; the reason of a refused one is ``last_action_error``.

        Raises:
            EnvironmentFailed: the machine failed, so there is no reward; `reset` starts another.
            CheckFailed: the task could not be scored.
            gymnasium.error.ResetNeeded: the episode is over.
        """
        if self._over:
            raise gymnasium.error.ResetNeeded("the episode is over, or none began: call reset()")
        self._over = True  # until this step is complete
        self._steps += 1
        try:
            ended, self._error = self._run_in_loop(self._do(str(action)))
            truncated = ended is None and self._steps >= self._settings.run.max_steps
            reward, why = 0.0, ""
            if ended or truncated or self._is_scored_at_each_step:
                reward, why = self._run_in_loop(self._score(ended or "succeeded"))
        except EnvironmentFailed:
            with suppress(EnvironmentFailed):
                self._run_in_loop(self._end())
            raise
        terminated = ended is not None or (self._is_scored_at_each_step and reward >= 1.0)
        self._over = terminated or truncated
        info = {"task_info": {"score_detail": why, "status": ended or ""}}
        return self._build_observation(), reward, terminated, truncated and not terminated, info

    def close(self) -> None:
        """Ends the machine."""
        if self._loop is not None:
            try:
                self._run_in_loop(self._end())
            finally:
                self._loop.close()
                self._loop = None
                self._over = True

    # ---------------------------------------------------------------- the machine

    def _refuse_what_cannot_be(self) -> None:
        if self._task.check is None:
            raise UsageError(
                f"task {self._task.id!r} has no check, so there is no reward",
                fix="give a task file that has a check",
            )
        check_possible(self._task, self._settings.tasks)
        if self._external_machine is None and not self._settings.environment.throw_away:
            raise UsageError(
                f"environment {self._settings.environment.kind!r} keeps the changes of an episode",
                fix='environment="desktop"',
            )

    def _draw_task(self, seed: int) -> Task:
        if isinstance(self._task_source, Task):
            return self._task_source
        return named_task(str(self._task_source), seed=seed)

    @property
    def _is_scored_at_each_step(self) -> bool:
        return not (self._task.check or {}).get("postconfig")

    def _run_in_loop(self, work: Coroutine[Any, Any, _T]) -> _T:
        if self._loop is None:
            self._loop = _Loop()
        return self._loop.run(work)

    async def _restart(self) -> None:
        try:
            if self._machine is None:
                machine = self._external_machine or open_environment(self._settings.environment)
                self._machine = await machine.__aenter__()
            else:
                await self._machine.reset()
            self._task = await self._scorer.prepare(self._task, self._require_machine())
            await self._see()
        except BaseException:
            await self._end()
            raise

    async def _end(self) -> None:
        machine, self._machine, self._look = self._machine, None, None
        if machine is not None:
            await machine.__aexit__(None, None, None)

    def _require_machine(self) -> Environment:
        if self._machine is None:
            raise EnvironmentFailed("no machine is started", fix="call reset()")
        return self._machine

    async def _see(self) -> Observation:
        self._look = await self._require_machine().observe(settle=self._settings.environment.settle)
        return self._look

    async def _do(self, source: str) -> tuple[ExitStatus | None, str]:
        """Do an action; return how the episode ended, if it did, and why the action was refused."""
        look = self._look or await self._see()
        ended, error = _ENDS.get(source.strip()), ""
        if ended is None:
            try:
                actions = parse(source)
                if slots(actions):
                    raise ActionRefused("give points as plain numbers: there is no grounder here")
                acts = to_space(actions, "screen", screen=look.screen, image=look.image)
                await self._require_machine().act(acts)
            except ActionRefused as refused:
                error = f"ActionRefused: {refused}"
        await self._see()
        if ended is None and await self._scorer.over(self._task, self._require_machine()):
            ended = "ended"
        return ended, error

    async def _score(self, status: ExitStatus) -> tuple[float, str]:
        grade = await self._scorer.score(self._task, self._require_machine(), status)
        if grade.value is None:
            raise CheckFailed(f"task {self._task.id!r} could not be scored: {grade.detail}")
        return float(grade.value), grade.detail

    def _build_observation(self) -> dict[str, Any]:
        assert self._look is not None
        return {
            "goal": self._task.instruction,
            "screenshot": np.array(self._look.screenshot.pixels),
            "last_action_error": self._error,
        }


if ID not in gymnasium.registry:
    gymnasium.register(
        id=ID, entry_point="hisa.plugins.gym.desktop_gym:DesktopGym", nondeterministic=True
    )
