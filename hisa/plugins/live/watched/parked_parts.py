"""The agent's parts, wrapped: each is a safe point, and none acts on a screen that is gone.

A step that a person's take-over ended fails with a line on what the person changed, and is judged
from the look at which the machine was given back: the agent is not credited with anything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from hisa.actions import Action
from hisa.environments.wrapped import WrappedEnvironment
from hisa.errors import ActionRefused
from hisa.events import Abstracted, Event, PersonActed, Planned
from hisa.plugins.live.watched.gate import Gate
from hisa.plugins.live.watched.newest_look import NewestLook
from hisa.protocols import (
    ActsWhereUnchanged,
    Advice,
    CommandResult,
    Environment,
    ExitStatus,
    GroundedCall,
    Held,
    Outcome,
    Pattern,
    Planner,
    Scorer,
    Scoring,
    StateManager,
    StateView,
    Task,
    ToolCall,
)
from hisa.screen.observation import Observation

__all__ = ["ParkedEnvironment", "ParkedPlanner", "ParkedScorer", "ParkedState", "with_all_of"]

_ALL_LINES = 5
"""Lines on what persons did that a prompt holds; the newest."""
T = TypeVar("T")


def with_all_of(kind: type[T], inner: Any) -> type[T]:
    """A subclass that has whatever else the inner object's class has, passed on by ``_inner``."""

    def passed(name: str) -> property:
        return property(lambda self: getattr(self._inner, name))

    more = {n: passed(n) for n in dir(type(inner)) if n[0] != "_" and not hasattr(kind, n)}
    return type(kind.__name__, (kind,), more)


async def _parked(gate: Gate, newest: NewestLook) -> None:
    """Park; what was decided before a person had the machine, or the screen changed, is not done.

    Raises:
        ActionRefused: it was so.
    """
    stay = await gate.park()
    if stay is None:
        return
    if stay.line:
        raise ActionRefused(f"nothing was done: {stay.line}")
    if stay.seconds > gate.stale and not await newest.still_shows():
        raise ActionRefused(
            f"nothing was done: a person paused the run for {stay.seconds:.0f} s, and the screen "
            "changed meanwhile"
        )


class ParkedEnvironment(WrappedEnvironment):
    """The agent's environment, in which an act waits while a person wants it; looks do not.

    Args:
        inner: the agent's own.
        gate: parks.
        newest: is given each look.
    """

    def __init__(self, inner: Environment, gate: Gate, newest: NewestLook) -> None:
        super().__init__(inner)
        self._gate, self._newest = gate, newest

    @classmethod
    def around(cls, inner: Environment, gate: Gate, newest: NewestLook) -> ParkedEnvironment:
        """One that has all that the inner one has."""
        kind = _AskingEnvironment if hasattr(inner, "unasked") else cls
        return with_all_of(kind, inner)(inner, gate, newest)

    async def reset(self) -> None:
        """Reset, and remember whose task that is."""
        self._gate.enter("preparing")
        await self._inner.reset()

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        """Look."""
        look = await self._inner.observe(elements=elements, settle=settle)
        self._newest.take(look)
        return look

    async def act(self, actions: Sequence[Action], /) -> None:
        """Act, once nobody wants the agent parked.

        Raises:
            ActionRefused: see `_parked`.
        """
        await self._ready()
        await self._inner.act(actions)

    async def act_where_unchanged(self, actions: Sequence[Action], held: Held, /) -> None:
        """Act as `act`, if the screen is still as it was."""
        await self._ready()
        if isinstance(self._inner, ActsWhereUnchanged):
            await self._inner.act_where_unchanged(actions, held)
        else:
            await self._inner.act(actions)

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        """Run a command, once nobody wants the agent parked."""
        await self._ready()
        return await self._inner.execute(command, timeout=timeout, limit=limit)

    async def read_file(self, path: str, /, *, limit: int | None = None) -> bytes:
        """Read a file."""
        return await self._inner.read_file(path, limit=limit)

    async def write_file(self, path: str, data: bytes, /) -> None:
        """Write a file, once nobody wants the agent parked."""
        await self._ready()
        await self._inner.write_file(path, data)

    async def _ready(self) -> None:
        self._gate.phase = "acting"
        await _parked(self._gate, self._newest)


class _AskingEnvironment(ParkedEnvironment):
    """One around an environment that asks a person before each act."""

    def unasked(self) -> Environment:
        """The same machine, for what a person allowed already; it parks too."""
        inner: Any = self._inner
        return ParkedEnvironment.around(inner.unasked(), self._gate, self._newest)


class ParkedPlanner:
    """A planner whose plan is ended where a person takes over, and kept where one pauses."""

    def __init__(self, inner: Planner, gate: Gate, newest: NewestLook) -> None:
        self._inner, self._gate, self._newest = inner, gate, newest

    async def plan(self, task: Task, observation: Observation, view: StateView) -> ToolCall:
        """Plan; see `hisa.protocols.Planner`.

        Raises:
            ActionRefused: a person had the machine meanwhile.
        """
        gate, own = self._gate, asyncio.current_task()
        gate.enter("planning")
        await _parked(gate, self._newest)
        cancels = own.cancelling() if own else 0
        ended: list[bool] = []
        work = asyncio.ensure_future(self._inner.plan(task, observation, view))

        def interrupt() -> None:
            ended.append(True)
            work.cancel()

        gate.interrupt = interrupt
        try:
            call = await work
        except (asyncio.CancelledError, Exception):
            if not ended or (own and own.cancelling() > cancels):
                raise
            call = ToolCall(thought="", tool="none", input="")
        finally:
            gate.interrupt = None
        await _parked(gate, self._newest)
        if ended:  # the person let go before the agent was parked
            raise ActionRefused("nothing was done: a person was about to take the machine over")
        gate.phase = "grounding"
        return call


class ParkedScorer:
    """A scorer before and after whose work the agent can be parked."""

    def __init__(self, inner: Scorer, gate: Gate, environment: Environment) -> None:
        self._inner, self._gate, self._environment = inner, gate, environment

    async def prepare(self, task: Task, environment: Environment) -> Task:
        """Prepare, then park."""
        self._gate.enter("preparing")
        task = await self._inner.prepare(task, self._environment)
        await self._gate.park()
        return task

    async def over(self, task: Task, environment: Environment) -> str:
        """Park between two steps, then ask whether the task is over."""
        self._gate.enter("looking")
        await self._gate.park()
        return await self._inner.over(task, self._environment)

    async def score(self, task: Task, environment: Environment, status: ExitStatus) -> Scoring:
        """Score."""
        self._gate.enter("scoring")
        return await self._inner.score(task, self._environment, status)


class ParkedState:
    """A state manager that tells what persons did, and never credits the agent with it.

    Args:
        inner: the agent's own.
        gate: knows what persons did.
        returned: the look at which a person gave the machine back last; None: there is none.
        events: those of a run that goes on.
    """

    def __init__(
        self,
        inner: StateManager,
        gate: Gate,
        returned: Callable[[], Observation | None],
        events: Iterable[Event] = (),
    ) -> None:
        self._inner, self._gate, self._returned = inner, gate, returned
        self._read = self._before = len(gate.stays)
        self._lines = list(_earlier(events))

    async def recall(self, task: Task) -> Advice:
        """See `hisa.protocols.StateManager`, as with all that follow."""
        return await self._inner.recall(task)

    def view(self, look: Observation | None = None) -> StateView:
        """Returns the inner one's view, with what persons did where it happened."""
        self._gate.enter("planning")
        view = self._inner.view(look)
        fresh = self._gate.stays[self._read :]
        self._read = self._before = len(self._gate.stays)
        self._lines += [(len(view.lines), stay.line) for stay in fresh]
        lines, steps, refined = [*view.lines], [*view.steps], view.refined
        hidden = len(lines) - len(steps)
        for at, line in self._lines[-_ALL_LINES:]:
            if at > hidden:
                steps[at - hidden - 1] += f" After this step, {line}"
            elif lines:
                refined = f"{refined}\nAfter step {at}, {line}".strip()
            if at:
                lines[at - 1] += f" After this step, {line}"
        told = [f"{stay.line} Go on from the screen as it is now." for stay in fresh]
        notice = "\n".join(filter(None, (*told, view.notice)))
        return replace(view, lines=tuple(lines), steps=tuple(steps), refined=refined, notice=notice)

    async def abstract(
        self, call: GroundedCall, before: Observation, after: Observation, outcome: Outcome
    ) -> str:
        """Level 1, of what came of the step itself: the looks before and after it."""
        self._gate.enter("judging")
        if len(self._gate.stays) > self._before:  # a person had the machine within this step
            before = self._returned() or before
        await self._gate.park()
        self._before = len(self._gate.stays)
        return await self._inner.abstract(call, before, after, outcome)

    async def refine_if_due(self, task: Task) -> None:
        """Level 2."""
        await self._inner.refine_if_due(task)

    async def induct(self, task: Task, run_id: str) -> tuple[Pattern, ...]:
        """Level 3."""
        return await self._inner.induct(task, run_id)

    async def credit(self, *, won: bool | None) -> None:
        """Credit patterns."""
        await self._inner.credit(won=won)


def _earlier(events: Iterable[Event]) -> Iterable[tuple[int, str]]:
    """The lines of an earlier part of the run, each with the number of steps before it."""
    steps, waiting = 0, list[str]()
    for event in events:
        if isinstance(event, Planned):
            yield from ((steps, line) for line in waiting)
            waiting = []
        elif isinstance(event, Abstracted):
            steps = event.step or steps + 1
        elif isinstance(event, PersonActed) and event.did == "gave_back" and event.text:
            waiting.append(event.text)
    yield from ((steps, line) for line in waiting)
