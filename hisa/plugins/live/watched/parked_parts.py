"""The agent's parts, wrapped: each is a safe point, and none acts on a screen that is gone.

A step that a take-over ended fails with a line on what the person changed. It is judged from the
look at which the machine was given back: the agent is credited with nothing that a person did.
After a pause an act is held to its look as after a model that takes as long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

from hisa.errors import ActionRefused
from hisa.plugins.live.watched.gate import Gate
from hisa.protocols import GroundedCall, Outcome, StateView, Task, ToolCall
from hisa.screen.observation import Observation

__all__ = ["ParkedEnvironment", "ParkedPlanner", "ParkedScorer", "ParkedState", "Passing"]

_ACTING = ("act", "act_where_unchanged", "execute", "write_file")
_PHASES = {"prepare": "preparing", "over": "looking", "score": "scoring"}
_LINES = 5
"""Lines on what persons did that a prompt holds; the newest."""


class Passing:
    """Another part; the class is made to have each name that the part's has, for `isinstance`."""

    def __new__(cls, inner: Any, *more: Any) -> Any:
        """One of a class of its own."""

        def passed(name: str) -> property:
            return property(lambda self: self._passed(name))

        names = {n for n in dir(type(inner)) if n[0] != "_" and not hasattr(cls, n)}
        made = {name: passed(name) for name in names}
        return object.__new__(type(cls.__name__, (cls,), made))

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def _passed(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Parked(Passing):
    def __init__(self, inner: Any, gate: Gate) -> None:
        super().__init__(inner)
        self._gate = gate

    async def _park(self) -> None:
        if line := await self._gate.park():  # decided before a person had the machine
            raise ActionRefused(f"nothing was done: {line}")


class ParkedEnvironment(_Parked):
    """The agent's environment, in which an act waits while a person wants it; looks do not."""

    async def observe(self, **how: Any) -> Observation:
        """Look."""
        look: Observation = await self._inner.observe(**how)
        self._gate.newest = look
        return look

    def _passed(self, name: str) -> Any:
        inner = getattr(self._inner, name)
        if name == "unasked":  # for what a person allowed already; it parks too
            return lambda: ParkedEnvironment(inner(), self._gate)
        return partial(self._act, inner) if name in _ACTING else inner

    async def _act(self, inner: Callable[..., Awaitable[Any]], *what: Any, **how: Any) -> Any:
        self._gate.phase = "acting"
        await self._park()
        return await inner(*what, **how)


class ParkedPlanner(_Parked):
    """A planner whose plan is ended where a person takes over, and kept where one pauses."""

    async def plan(self, task: Task, observation: Observation, view: StateView) -> ToolCall:
        """Plan; `ActionRefused` where a person had the machine meanwhile."""
        gate, own, call = self._gate, asyncio.current_task(), ToolCall("", "none", "")
        meanwhile: Callable[[], ToolCall] | None = getattr(self._inner, "meanwhile", None)
        gate.enter("planning")
        if meanwhile is not None and await gate.park():  # a planner that waits for just that
            return meanwhile()
        await self._park()
        gate.plan, gate.cut = (
            asyncio.ensure_future(self._inner.plan(task, observation, view)),
            False,
        )
        try:
            call = await gate.plan
        except (asyncio.CancelledError, Exception):
            if not gate.cut or (own and own.cancelling()):
                raise
        finally:
            gate.plan = None
        if gate.cut and meanwhile is not None:
            await gate.park()
            return meanwhile()
        await self._park()
        if gate.cut:  # the person let go before the agent was parked
            raise ActionRefused("nothing was done: a person was about to take the machine over")
        gate.phase = "grounding"
        return call


class ParkedScorer(_Parked):
    """A scorer before whose work, and so between two steps, the agent is parked, but not within."""

    def _passed(self, name: str) -> Any:
        async def call(task: Task, environment: Any, *more: Any) -> Any:
            self._gate.enter(_PHASES[name])
            if name != "score":
                await self._gate.park()
            return await getattr(self._inner, name)(task, environment._inner, *more)

        return call if name in _PHASES else getattr(self._inner, name)


class ParkedState(_Parked):
    """A state manager that tells what persons did, and never credits the agent with it."""

    def __init__(self, inner: Any, gate: Gate) -> None:
        super().__init__(inner, gate)
        self._read = len(gate.lines)

    def view(self, look: Observation | None = None) -> StateView:
        """Returns the inner one's view, with what persons did at the steps after which it was."""
        self._gate.enter("planning")
        view: StateView = self._inner.view(look)
        fresh, self._read = self._gate.lines[self._read :], len(self._gate.lines)
        steps, refined, hidden = [*view.steps], view.refined, len(view.lines) - len(view.steps)
        for at, line in self._gate.lines[-_LINES:]:
            if (place := min(at, len(view.lines)) - hidden - 1) >= 0:
                steps[place] += f" After this step, {line}"
            elif at:
                refined = f"{refined}\nAfter step {at}, {line}".strip()
        notices = [f"{line} Go on from the screen as it is now." for _, line in fresh]
        notice = "\n".join(filter(None, (*notices, view.notice)))
        return replace(view, steps=tuple(steps), refined=refined, notice=notice)

    async def abstract(
        self, call: GroundedCall, before: Observation, after: Observation, outcome: Outcome
    ) -> str:
        """Level 1, of what came of the step itself."""
        self._gate.enter("judging")
        if len(self._gate.lines) > self._read:  # a person had the machine within this step
            before = self._gate.returned or before
        await self._gate.park()
        return str(await self._inner.abstract(call, before, after, outcome))
