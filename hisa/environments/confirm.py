"""Asks a person before anything is done."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from hisa.actions import Action, to_source
from hisa.actions.unchanged_look import require_unchanged
from hisa.environments.wrapped import WrappedEnvironment
from hisa.errors import ActionRefused
from hisa.events import Confirmed
from hisa.protocols import (
    ActsWhereUnchanged,
    CommandResult,
    Emit,
    Environment,
    Held,
    Lying,
    TellsHidden,
    TellsWhatLies,
)
from hisa.screen.geometry import Point
from hisa.screen.observation import Observation

__all__ = ["ActionKind", "Answer", "Ask", "ConfirmedEnvironment", "Question", "ask_person"]

ActionKind = Literal["acts", "commands", "files", "safety", "policy"]
"""Kinds of what is asked for: pointer and keyboard, commands, written files, what a model's maker
wants a person to confirm, and what the policy asks about."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is about to be done, in full and as it is: hostile text, to be shown escaped."""

    action: ActionKind
    what: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person says to a question."""

    kind: Literal["once", "kind", "stop", "refuse"]
    """once: do it; kind: do it, and ask no more for this kind of action in this run; stop: end the
    run; refuse: do not do it."""
    word: str = ""
    """To the agent, with a refusal; empty: nothing but the refusal."""

    @property
    def allows(self) -> bool:
        """Whether it may be done."""
        return self.kind in ("once", "kind")


Ask = Callable[[Question], Awaitable[Answer]]
"""Asks a person."""


async def ask_person(ask: Ask, question: Question, *, emit: Emit) -> Answer:
    """The answer of a person who allows it.

    Raises:
        ActionRefused: the person said no.
        asyncio.CancelledError: the person stopped the run.
    """
    what = question.what
    answer = await ask(question)
    emit(Confirmed(what=what, allowed=answer.allows, answer=answer.kind, word=answer.word))
    if answer.kind == "stop":
        raise asyncio.CancelledError("a person stopped the run")
    if not answer.allows:
        said = f" and says “{answer.word}”" if answer.word else ""
        raise ActionRefused(f"a person refused this{said}: {what}")
    return answer


class ConfirmedEnvironment(WrappedEnvironment):
    """Another environment in which every act, command and written file is asked for first.

    Where the person stops the run, `asyncio.CancelledError` is raised, as when it is interrupted.

    Args:
        inner: where it is done.
        ask: who is asked.
        emit: takes a `Confirmed` for each question.
    """

    def __init__(self, inner: Environment, *, ask: Ask, emit: Emit) -> None:
        super().__init__(inner)
        self._ask = ask
        self._emit = emit
        self._always: set[ActionKind] = set()

    def unasked(self) -> Environment:
        """The inner one, for what a person allowed already."""
        return self._inner

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        """Not asked for: looking changes nothing."""
        return await self._inner.observe(elements=elements, settle=settle)

    async def look_everywhere(self) -> Observation:
        """Not asked for: looking changes nothing."""
        assert isinstance(self._inner, TellsHidden), "announced by its capabilities"
        return await self._inner.look_everywhere()

    async def lies_at(self, points: Sequence[Point], /) -> Lying:
        """Not asked for: looking changes nothing."""
        assert isinstance(self._inner, TellsWhatLies), "announced by its capabilities"
        return await self._inner.lies_at(points)

    async def act(self, actions: Sequence[Action], /) -> None:
        """Ask, then act.

        Raises:
            ActionRefused: the person said no; nothing was done.
        """
        await self._allowed("acts", to_source(actions))
        await self._inner.act(actions)

    async def act_where_unchanged(self, actions: Sequence[Action], held: Held, /) -> None:
        """Ask, then act if the screen is still as it was.

        Raises:
            ActionRefused: the person said no; nothing was done.
            ScreenChanged: it is not; nothing was done.
        """
        await self._allowed("acts", to_source(actions))
        if isinstance(self._inner, ActsWhereUnchanged):
            await self._inner.act_where_unchanged(actions, held)
        else:
            require_unchanged(held, await self._inner.observe())
            await self._inner.act(actions)

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        """Ask, then run.

        Raises:
            ActionRefused: the person said no; nothing was run.
        """
        line = command if isinstance(command, str) else " ".join(command)
        await self._allowed("commands", f"$ {line}")
        return await self._inner.execute(command, timeout=timeout, limit=limit)

    async def read_file(self, path: str, /, *, limit: int | None = None) -> bytes:
        """Not asked for: reading changes nothing."""
        return await self._inner.read_file(path, limit=limit)

    async def write_file(self, path: str, data: bytes, /) -> None:
        """Ask, then write.

        Raises:
            ActionRefused: the person said no; nothing was written.
        """
        await self._allowed("files", f"write {len(data)} bytes to {path}")
        await self._inner.write_file(path, data)

    async def _allowed(self, action: ActionKind, what: str) -> None:
        if action in self._always:
            return
        answer = await ask_person(self._ask, Question(action, what), emit=self._emit)
        if answer.kind == "kind":
            self._always.add(action)
