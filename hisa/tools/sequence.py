"""Makes calls where the screen is as they expect it, and those of a sequence one after another."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from hisa.actions import Scroll, presses
from hisa.actions.unchanged_look import REACTION_SECONDS
from hisa.errors import ScreenChanged
from hisa.events import Acted, Observed, SequenceStopped
from hisa.protocols import (
    Act,
    Emit,
    Environment,
    GroundedCall,
    MadeCall,
    Outcome,
    Toolbox,
)
from hisa.screen.observation import Observation, Screenshot
from hisa.text.prompt_text import by_number
from hisa.tools.base import Guard
from hisa.tools.catalogue import Catalogue

__all__ = ["SequenceToolbox", "combined"]

_Done = TypeVar("_Done")

_BETWEEN_SECONDS = 2.0
"""Longest wait between two presses of a call, as HiSA's own guest waits between its actions."""


class SequenceToolbox(Catalogue):
    """A toolbox that also makes sequences (OS-Catalyst, section 3.1).

    Every call is held to the look that it was decided on. Before each later call of a sequence
    the screen is looked at, and the guard has its say.

    Args:
        inner: makes one call.
        guard: None: calls are made blindly, for comparisons.
        save: keeps a picture and returns its hash.
        emit: gets an `Observed` for each look and a `SequenceStopped`.
        settle: longest wait, in seconds, for the screen to stop changing.
    """

    def __init__(
        self,
        inner: Toolbox,
        *,
        guard: Guard | None,
        save: Callable[[Screenshot], Awaitable[str]],
        emit: Emit,
        settle: float = 3.0,
    ) -> None:
        super().__init__(inner)
        self._guard = guard
        self._save = save
        self._emit = emit
        self._settle = settle
        self._between = min(settle, _BETWEEN_SECONDS)

    async def execute(
        self, call: GroundedCall, observation: Observation, environment: Environment
    ) -> Outcome:
        """Do it, and what follows it; see `hisa.protocols.Toolbox.execute`."""
        reference = observation
        if self._guard is not None and (call.following or len(presses(call.actions)) > 1):
            reference = await self._guard.reference(observation, environment)
        looks = observation, reference
        if not call.call.following:
            try:
                return await self._make(call, (), looks, environment)
            except ScreenChanged as error:
                return _not_done(call, str(error), self._emit)
        made: list[MadeCall] = []
        before, stopped = observation, ""
        for each in call.sequence:
            alone = replace(each, following=())
            try:
                if made:
                    before = await self._look(environment)
                    alone = await self._allowed(alone, made, (*looks, before))
                outcome = await self._make(alone, made, (before, reference), environment)
            except ScreenChanged as error:
                stopped = str(error)
                break
            made.append(MadeCall(alone, outcome, before))
            stopped = _stop_after(alone, outcome, len(made))
            if stopped or outcome.ends:
                break
        planned = len(call.call.sequence)
        reason = (stopped or call.lacking) if len(made) < planned else ""
        if reason:
            self._emit(SequenceStopped(made=len(made), of=planned, reason=reason))
        return combined(made, reason) if made else _not_done(call, reason, self._emit)

    async def _make(
        self,
        call: GroundedCall,
        made: Sequence[MadeCall],
        looks: tuple[Observation, Observation],
        environment: Environment,
    ) -> Outcome:
        """Do a call where it means what it was decided to do, each of its presses by itself.

        Args:
            call: the next one.
            made: those before it in its sequence; it was allowed after them.
            looks: the one that it is done on, and the guard's `reference`.
            environment: where it is done.

        Raises:
            ScreenChanged: its first press does not; nothing was done.
        """
        look, reference = looks

        async def execute(part: GroundedCall, look: Observation) -> Outcome:
            return await self._inner.execute(part, look, environment)

        async def press_next(done: GroundedCall, press: GroundedCall, act: Act, /) -> None:
            assert self._guard is not None, "without it a call is not parted"
            again = done.actions[-1:] == press.actions[:1]  # it may be a double click
            if again:
                await asyncio.sleep(REACTION_SECONDS)
            now = await environment.observe(settle=0.0 if again else self._between)
            before = [*made, MadeCall(done, Outcome(ok=True), look)]
            press = await self._guard.next_press(press, before, looks=(look, reference, now))
            await self._held(press, environment, lambda part, _: act(part, environment))

        if self._guard is None or not call.actions:  # a command has no target on the screen
            return await execute(call, look)
        call = call if made else self._guard.hold(call, look)
        return await self._held(replace(call, press_next=press_next), environment, execute)

    async def _held(
        self,
        call: GroundedCall,
        environment: Environment,
        act: Callable[[GroundedCall, Observation], Awaitable[_Done]],
    ) -> _Done:
        """Do a held call; where the screen changed, look whether it still means the same.

        Raises:
            ScreenChanged: it does not, or its place changes all the time; nothing was done.
        """
        guard, held = self._guard, call.held
        assert guard is not None, "a call is held by it"
        assert held is not None, "a call is held before it is done"
        try:
            return await act(call, held.look)
        except ScreenChanged:
            look = await guard.again(call, held.look, environment)
        try:
            return await act(guard.loosely(call, look), look)
        except ScreenChanged:
            look = await guard.again(call, held.look, environment)
            named = await guard.by_name(call, look, environment)
        return await act(named, look)

    async def _allowed(
        self,
        call: GroundedCall,
        made: Sequence[MadeCall],
        looks: tuple[Observation, Observation, Observation],
    ) -> GroundedCall:
        if self._guard is None or not call.actions:
            return call
        return await self._guard.allow(call, made, looks=looks)

    async def _look(self, environment: Environment) -> Observation:
        """A look between two calls, written down like any other."""
        started = time.monotonic()
        look = await environment.observe(settle=self._settle)
        seconds = time.monotonic() - started
        kept = await self._save(look.screenshot), ""
        self._emit(Observed.of(look, kept=kept, seconds=seconds))
        return look


def _not_done(call: GroundedCall, reason: str, emit: Emit) -> Outcome:
    """The outcome of a call before which the screen changed."""
    error = f"nothing was done: {reason}"
    emit(Acted(tool=call.call.tool, input=call.input, ok=False, error=error))
    return Outcome(ok=False, error=error)


def _stop_after(call: GroundedCall, outcome: Outcome, number: int) -> str:
    """Returns why nothing can follow a call that was made; empty where something can."""
    if not outcome.ok:
        said = outcome.error or outcome.output or f"exit status {outcome.exit_code}"
        return f"action {number} failed: {said}"
    if any(isinstance(action, Scroll) for action in call.actions):
        return f"action {number} scrolled, so that nothing is where it was"
    return ""


def combined(made: Sequence[MadeCall], stopped: str) -> Outcome:
    """Returns the outcome of a whole sequence: as good as its worst call, ended as its last one."""
    outcomes = [each.outcome for each in made]
    last = outcomes[-1]
    if len(made) == 1:
        return replace(last, made=tuple(made), stopped=stopped)
    return Outcome(
        ok=all(outcome.ok for outcome in outcomes),
        output=by_number((each.output for each in outcomes), between="\n"),
        error=by_number((each.error for each in outcomes), between="\n"),
        exit_code=last.exit_code,
        ends=last.ends,
        points=tuple(point for outcome in outcomes for point in outcome.points),
        seconds=sum(outcome.seconds for outcome in outcomes),
        began=outcomes[0].began,
        made=tuple(made),
        stopped=stopped,
    )
