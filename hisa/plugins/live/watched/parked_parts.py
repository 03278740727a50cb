"""The agent's parts, wrapped: each is a safe point, and none acts on a screen that is gone.

A step that a take-over ended fails with a line on what the person changed. It is judged from the
look at which the machine was given back: the agent is credited with nothing that a person did.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from hisa.errors import ActionRefused
from hisa.events import Abstracted, Event, PersonActed, Planned
from hisa.plugins.live.watched.gate import Gate
from hisa.protocols import GroundedCall, Outcome, StateView, Task, ToolCall
from hisa.screen.observation import Observation

__all__ = ["ParkedEnvironment", "ParkedPlanner", "ParkedScorer", "ParkedState", "Passing", "Seen"]

_ACTING = ("act", "act_where_unchanged", "execute", "write_file")
_PHASES = {"prepare": "preparing", "over": "looking", "score": "scoring"}
_LINES = 5
"""Lines on what persons did that a prompt holds; the newest."""


class Seen:
    """The newest look at the machine, and that at which a person gave it back last.

    Args:
        observe: looks, where somebody has to know what is there now.
    """

    newest: Observation | None = None
    returned: Observation | None = None

    def __init__(self, observe: Callable[[], Awaitable[Observation]]) -> None:
        self.observe = observe

    async def is_same(self) -> bool:
        """Whether a look of now is as the newest one."""
        before, self.newest = self.newest, await self.observe()
        return before is None or before.shows(self.newest)


class Passing:
    """Another part, with all that it has."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    @classmethod
    def around(cls, inner: Any, *more: Any) -> Any:
        """One of this kind; its class has a property for each name that the inner one's has."""

        def passed(name: str) -> property:
            return property(lambda self: self._passed(name))

        names = {n for n in dir(type(inner)) if n[0] != "_" and not hasattr(cls, n)}
        return type(cls.__name__, (cls,), {name: passed(name) for name in names})(inner, *more)

    def _passed(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def __aenter__(self) -> Any:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._inner.__aexit__(*exc)


class _Parked(Passing):
    """Another part, which can be parked."""

    def __init__(self, inner: Any, gate: Gate, seen: Seen) -> None:
        super().__init__(inner)
        self._gate, self._seen = gate, seen

    async def _park(self) -> None:
        """Park; what was decided before a person had the machine is not done.

        Raises:
            ActionRefused: it was so, or the screen changed in a pause.
        """
        seconds, line = await self._gate.park()
        if not line and seconds > self._gate.stale and not await self._seen.is_same():
            line = f"a person paused the run for {seconds:.0f} s, and the screen changed meanwhile"
        if line:
            raise ActionRefused(f"nothing was done: {line}")


class ParkedEnvironment(_Parked):
    """The agent's environment, in which an act waits while a person wants it; looks do not."""

    async def observe(self, **how: Any) -> Observation:
        """Look."""
        look: Observation = await self._inner.observe(**how)
        self._seen.newest = look
        return look

    def _passed(self, name: str) -> Any:
        inner = getattr(self._inner, name)
        if name == "unasked":  # for what a person allowed already; it parks too
            return lambda: ParkedEnvironment.around(inner(), self._gate, self._seen)
        return partial(self._act, inner) if name in _ACTING else inner

    async def _act(self, inner: Callable[..., Awaitable[Any]], *what: Any, **how: Any) -> Any:
        self._gate.phase = "acting"
        await self._park()
        return await inner(*what, **how)


class ParkedPlanner(_Parked):
    """A planner whose plan is ended where a person takes over, and kept where one pauses."""

    async def plan(self, task: Task, observation: Observation, view: StateView) -> ToolCall:
        """Plan.

        Raises:
            ActionRefused: a person had the machine meanwhile.
        """
        gate, own, call = self._gate, asyncio.current_task(), ToolCall("", "none", "")
        gate.enter("planning")
        await self._park()
        cancels = own.cancelling() if own else 0
        gate.plan = asyncio.ensure_future(self._inner.plan(task, observation, view))
        gate.cut = False
        try:
            call = await gate.plan
        except (asyncio.CancelledError, Exception):
            if not gate.cut or (own and own.cancelling() > cancels):
                raise
        finally:
            gate.plan = None
        await self._park()
        if gate.cut:  # the person let go before the agent was parked
            raise ActionRefused("nothing was done: a person was about to take the machine over")
        gate.phase = "grounding"
        return call


class ParkedScorer(_Parked):
    """A scorer before whose work, and so between two steps, the agent can be parked.

    It works on the machine itself, where nothing is parked.
    """

    environment: Any = None

    def _passed(self, name: str) -> Any:
        async def call(task: Task, environment: object, *more: Any) -> Any:
            self._gate.enter(_PHASES[name])
            if name != "score":
                await self._gate.park()
            return await getattr(self._inner, name)(task, self.environment, *more)

        return call if name in _PHASES else getattr(self._inner, name)


class ParkedState(_Parked):
    """A state manager that tells what persons did, and never credits the agent with it."""

    _read = _begun = 0

    def __init__(self, inner: Any, gate: Gate, seen: Seen, events: Iterable[Event] = ()) -> None:
        super().__init__(inner, gate, seen)
        self._lines = [*_earlier(events)]

    def view(self, look: Observation | None = None) -> StateView:
        """Returns the inner one's view, with what persons did at the steps after which it was."""
        self._gate.enter("planning")
        view: StateView = self._inner.view(look)
        fresh = self._gate.lines[self._read :]
        self._read = self._begun = len(self._gate.lines)
        self._lines += [(len(view.lines), line) for line in fresh]
        lines, steps, refined = [*view.lines], [*view.steps], view.refined
        hidden = len(lines) - len(steps)
        for at, line in [pair for pair in self._lines if pair[0]][-_LINES:]:
            lines[at - 1] += f" After this step, {line}"
            if at > hidden:
                steps[at - hidden - 1] += f" After this step, {line}"
            else:
                refined = f"{refined}\nAfter step {at}, {line}".strip()
        told = [f"{line} Go on from the screen as it is now." for line in fresh]
        notice = "\n".join(filter(None, (*told, view.notice)))
        view = replace(view, lines=tuple(lines), steps=tuple(steps))
        return replace(view, refined=refined, notice=notice)

    async def abstract(
        self, call: GroundedCall, before: Observation, after: Observation, outcome: Outcome
    ) -> str:
        """Level 1, of what came of the step itself."""
        self._gate.enter("judging")
        if len(self._gate.lines) > self._begun:  # a person had the machine within this step
            before = self._seen.returned or before
        await self._gate.park()
        return str(await self._inner.abstract(call, before, after, outcome))


def _earlier(events: Iterable[Event]) -> Iterator[tuple[int, str]]:
    """The lines of an earlier part of the run, each with the number of steps before it."""
    steps, waiting = 0, list[str]()
    for event in (*events, None):
        if isinstance(event, Abstracted):
            steps = event.step or steps + 1
        elif isinstance(event, PersonActed) and event.did == "gave_back" and event.text:
            waiting.append(event.text)
        elif event is None or isinstance(event, Planned):
            yield from ((steps, line) for line in waiting)
            waiting = []
