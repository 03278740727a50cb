"""Ends a run whose task is over: nothing that is done after that counts."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from hisa.protocols import Environment, GroundedCall, Outcome, Toolbox
from hisa.screen.observation import Observation
from hisa.tasks.task_format import TaskFormat
from hisa.tools.catalogue import Catalogue

__all__ = ["EpisodeToolbox"]

_PAUSES = (0.0, 0.2)
"""Seconds before each look for the end: a page on an idle machine takes a click in hundredths."""


class EpisodeToolbox(Catalogue):
    """Asks the task's format before and after each call whether the task is over.

    Args:
        inner: makes the calls.
        form: the task's format.
    """

    def __init__(self, inner: Toolbox, form: TaskFormat) -> None:
        super().__init__(inner)
        self._form = form

    async def execute(
        self, call: GroundedCall, observation: Observation, environment: Environment
    ) -> Outcome:
        """See `hisa.protocols.Toolbox.execute`; after the end nothing is done."""
        if why := await self._form.over(environment):
            return Outcome(ok=True, output=why, ends="succeeded")
        outcome = await self._inner.execute(call, observation, environment)
        for pause in () if outcome.ends else _PAUSES:
            await asyncio.sleep(pause)
            if why := await self._form.over(environment):
                return replace(outcome, output=why, ends="succeeded")
        return outcome
