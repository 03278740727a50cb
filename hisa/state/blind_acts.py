"""The hook of a run whose acts are made blindly."""

from __future__ import annotations

from hisa.hooks import Hook, Step, StepAction

__all__ = ["BETWEEN_SECONDS", "BlindActs"]

BETWEEN_SECONDS = 2.0
"""Longest wait between two presses of a call, as HiSA's own guest waits between its actions."""


class BlindActs(Hook):
    """Stands in the place of a guard of acts where they are made blindly, for comparisons.

    Programs get their time between two presses of a call, as from HiSA's own guest between the
    actions of one request.

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
