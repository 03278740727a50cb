"""Hooks around each act on the screen: held to the look it was decided on, or made blindly."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from hisa.actions import presses
from hisa.actions.unchanged_look import REACTION_SECONDS
from hisa.hooks import Hook, Step, StepAction
from hisa.protocols import GroundedCall, MadeCall, Outcome
from hisa.screen.observation import Observation
from hisa.state.base import ReadsElements
from hisa.state.guards import SequenceGuard

__all__ = ["BlindActs", "HeldActs"]

_BETWEEN_SECONDS = 2.0
"""Longest wait between two presses of a call, as HiSA's own guest waits between its actions."""


class HeldActs(Hook):
    """Holds every act of a run to the look that it was decided on.

    Args:
        reader: reads elements; None: the machine cannot tell them.
        similar: structural similarity (SSIM) that the region around a target must keep where no
            element is known.
        settle: longest wait, in seconds, for the screen to stop changing.
    """

    name = "held_acts"
    every_try = True

    def __init__(
        self, reader: ReadsElements | None, *, similar: float = 0.9, settle: float = 3.0
    ) -> None:
        self._guard = SequenceGuard(reader, similar=similar)
        self._between = min(settle, _BETWEEN_SECONDS)
        self._reference: Observation | None = None
        self._decided: GroundedCall | None = None

    async def before_action(self, step: Step, action: StepAction) -> None:
        """Hold it to its look; if the screen changed, look whether it still means the same.

        Raises:
            ScreenChanged: it does not; it must not be done.
            EnvironmentFailed: the machine does not answer.
        """
        if action.number == 1:
            self._reference = await self._look_before(step)
        if not action.call.actions:  # a command has no target on the screen
            return
        if action.tries:
            await self._hold_again(step, action)
            return
        held = await self._held(step, action)
        self._decided = action.call = replace(held, way=action.call.way)

    async def _look_before(self, step: Step) -> Observation:
        """The look from right before the first act, where others follow it."""
        call = step.grounded
        if call is None or not (call.following or len(presses(call.actions)) > 1):
            return step.look
        return await self._guard.reference(step.look, step.environment)

    async def _held(self, step: Step, action: StepAction) -> GroundedCall:
        reference = self._reference or step.look
        if action.done:
            return await self._next_press(step, action, reference)
        if not step.made:
            return self._guard.hold(action.call, action.look)
        looks = step.look, reference, action.look
        allowed = await self._guard.allow(action.whole, step.made, looks=looks)
        return replace(action.call, held=allowed.held, found=allowed.found)

    async def _next_press(
        self, step: Step, action: StepAction, reference: Observation
    ) -> GroundedCall:
        """A later press of a call, held to a look of its own."""
        again = action.done[-1:] == action.call.actions[:1]  # it may be a double click
        if again:
            await asyncio.sleep(REACTION_SECONDS)
        now = await step.environment.observe(settle=0.0 if again else self._between)
        done = MadeCall(action.whole.part(action.done), Outcome(ok=True), action.look)
        looks = action.look, reference, now
        press = await self._guard.next_press(action.call, [*step.made, done], looks=looks)
        action.look = now
        return press

    async def _hold_again(self, step: Step, action: StepAction) -> None:
        """Hold it to a new look on which it means the same: by its pixels, then by its name."""
        decided, environment = self._decided, step.environment
        assert decided is not None, "it was held when it was tried first"
        assert decided.held is not None, "it was held when it was tried first"
        look = await self._guard.again(decided, decided.held.look, environment)
        if action.tries == 1:
            held = self._guard.hold(replace(decided, found=None), look)
        else:
            held = await self._guard.by_name(decided, look, environment)
        action.call, action.look = replace(held, way=decided.way), look


class BlindActs(Hook):
    """Stands in the place of `HeldActs` where acts are made blindly, for comparisons.

    Programs get their time between two presses of a call, as from HiSA's own guest between the
    actions of one request.

    Args:
        settle: longest wait, in seconds, for the screen to stop changing.
    """

    name = "blind_acts"

    def __init__(self, settle: float) -> None:
        self._between = min(settle, _BETWEEN_SECONDS)

    async def before_action(self, step: Step, action: StepAction) -> None:
        """Wait before a later press, unless it may be the second one of a double click."""
        if action.done and action.done[-1:] != action.call.actions[:1]:
            await step.environment.observe(settle=self._between)
