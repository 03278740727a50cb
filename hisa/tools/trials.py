"""Tries calls on forks of the machine, to see what would come of each."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hisa.errors import EnvironmentFailed, HisaError
from hisa.protocols import Environment, Forkable, GroundedCall, Outcome, Toolbox, Trial
from hisa.screen.observation import Observation

__all__ = ["ForkedTrials"]


class ForkedTrials:
    """Makes each call on a machine of its own, forked for it; see `hisa.planner.base.Trials`.

    Args:
        toolbox: makes the calls; it must tell nobody of them, since the run's machine sees none.
        environment: is forked.
        settle: longest wait, in seconds, for a screen to stop changing after the call.
    """

    def __init__(self, toolbox: Toolbox, environment: Forkable, *, settle: float) -> None:
        self._toolbox = toolbox
        self._environment = environment
        self._settle = settle

    async def try_out(
        self, calls: Sequence[GroundedCall], observation: Observation
    ) -> Sequence[Trial]:
        """See `hisa.planner.base.Trials`."""
        async with self._environment.forked(len(calls)) as machines:
            trials = (
                self._one(call, observation, machine)
                for call, machine in zip(calls, machines, strict=True)
            )
            return await asyncio.gather(*trials)

    async def _one(
        self, call: GroundedCall, observation: Observation, machine: Environment
    ) -> Trial:
        try:
            outcome = await self._toolbox.execute(call, observation, machine)
            return Trial(outcome, await machine.observe(settle=self._settle))
        except EnvironmentFailed as error:  # of the fork: it says nothing of the run's machine
            return Trial(Outcome(ok=False, error=f"its fork broke: {error}"), None)
        except HisaError as error:
            return Trial(Outcome(ok=False, error=str(error)), None)
