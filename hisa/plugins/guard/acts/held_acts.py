"""The hook that holds each act on the screen to the look that it was decided on."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from hisa.actions import presses
from hisa.actions.unchanged_look import REACTION_SECONDS
from hisa.grounder.elements_reader import ElementsReader
from hisa.hooks import Hook, Run, Step, StepAction
from hisa.plugins.guard.acts.sequence_guard import SequenceGuard
from hisa.protocols import Emit, ExecutedCall, GroundedCall, Outcome
from hisa.screen.observation import Observation
from hisa.state.base import ReadsElements
from hisa.state.blind_acts import BETWEEN_SECONDS

__all__ = ["HeldActs"]


class HeldActs(Hook):
    """Holds every act of a run to the look that it was decided on.

    Args:
        reader: reads elements; if None, one is made for the run's machine, if that lists elements.
        emit: takes the events of the reader that is made for the run.
        settle: longest wait, in seconds, for the screen to stop changing.
    """

    name = "held_acts"
    every_try = True

    def __init__(
        self,
        reader: ReadsElements | None = None,
        *,
        emit: Emit | None = None,
        settle: float = 3.0,
    ) -> None:
        self._emit = emit
        self._guard = SequenceGuard(reader)
        self._between = min(settle, BETWEEN_SECONDS)
        self._reference: Observation | None = None
        self._decided: GroundedCall | None = None

    async def on_start(self, run: Run) -> None:
        """Read elements of the run's machine from now on, if it lists them."""
        if self._emit is not None and "elements" in run.environment.capabilities:
            reader = ElementsReader(run.environment, emit=self._emit)
            self._guard = SequenceGuard(reader)

    async def before_action(self, step: Step, action: StepAction) -> None:
        """Hold the action to its look; if the screen changed, check that it still means the same.

        Raises:
            ScreenChanged: it does not, and must not be done.
            EnvironmentFailed: the machine does not answer.
        """
        if action.number == 1:
            self._reference = await self._look_before(step)
        if not action.call.actions:  # a command has no target on the screen
            return
        if action.tries:
            await self._hold_again(step, action)
            return
        held = await self._hold(step, action)
        self._decided = action.call = replace(held, next_moves=action.call.next_moves)

    async def _look_before(self, step: Step) -> Observation:
        """The look from just before the first act if others follow it, else that of the plan."""
        call = step.grounded
        if call is None or not (call.following or len(presses(call.actions)) > 1):
            return step.look
        return await self._guard.reference(step.look, step.environment)

    async def _hold(self, step: Step, action: StepAction) -> GroundedCall:
        reference = self._reference or step.look
        if action.earlier_actions:
            return await self._next_press(step, action, reference)
        if not step.executed_calls:
            return self._guard.hold(action.call, action.look)
        observations = step.look, reference, action.look
        allowed = await self._guard.allow(
            action.full_call, step.executed_calls, observations=observations
        )
        return replace(
            action.call, precondition=allowed.precondition, target_look=allowed.target_look
        )

    async def _next_press(
        self, step: Step, action: StepAction, reference: Observation
    ) -> GroundedCall:
        """A later press of a call, held to a look of its own."""
        again = action.earlier_actions[-1:] == action.call.actions[:1]  # it may be a double click
        if again:
            await asyncio.sleep(REACTION_SECONDS)
        now = await step.environment.observe(settle=0.0 if again else self._between)
        press_call = ExecutedCall(
            action.full_call.part(action.earlier_actions), Outcome(ok=True), action.look
        )
        observations = action.look, reference, now
        press = await self._guard.next_press(
            action.call, [*step.executed_calls, press_call], observations=observations
        )
        action.look = now
        return press

    async def _hold_again(self, step: Step, action: StepAction) -> None:
        """Hold an action to a new look: at the second try by pixels, later by its name."""
        decided, environment = self._decided, step.environment
        assert decided is not None, "the first try held it"
        assert decided.precondition is not None, "the first try held it"
        observation = await self._guard.look_again(decided, decided.precondition.look, environment)
        if action.tries == 1:
            held = self._guard.hold(replace(decided, target_look=None), observation)
        else:
            held = await self._guard.hold_by_name(decided, observation, environment)
        action.call, action.look = replace(held, next_moves=decided.next_moves), observation
