"""The hook of a run that acts without comparing the screen with what the planner saw."""

from __future__ import annotations

from hisa.hooks import Hook, Step, StepAction

__all__ = ["BETWEEN_SECONDS", "BlindActs"]

BETWEEN_SECONDS = 2.0
"""Longest wait between two presses of a call, as HiSA's own guest waits between its actions."""


class BlindActs(Hook):
    """Takes the place of the guard in a run without one, which serves for comparisons.

    It gives programs time between two presses of a call, as HiSA's guest does between the actions
    of one request.

    Args:
        settle: longest wait, in seconds, for the screen to stop changing.
    """

    name = "blind_acts"

    def __init__(self, settle: float) -> None:
        self._between = min(settle, BETWEEN_SECONDS)

    async def before_action(self, step: Step, action: StepAction) -> None:
        """Wait before a later press, unless it may be the second one of a double click."""
        if action.earlier_actions and action.earlier_actions[-1:] != action.call.actions[:1]:
            await step.environment.observe(settle=self._between)
