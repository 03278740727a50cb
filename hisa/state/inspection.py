"""A closer look at a step before it is called anything: at the files that it wrote."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from hisa.machine.patience import patience
from hisa.protocols import GroundedCall, Outcome
from hisa.screen.observation import Observation
from hisa.state.written_files import NOTHING_KNOWN, Written, WrittenSince

__all__ = ["Looks", "StepEvidence", "StepInspector"]

_LATE = 1.0
"""Seconds after an act within which a program may write a file without a sign of it before: an
editor took 0.3 s. Until then it is not said that none was written."""

Looks = tuple[Observation, Observation]
"""Before and after a step."""


@dataclass(frozen=True)
class StepEvidence:
    """What is known of a step: both looks, and the files that were written since the act began."""

    looks: Looks
    written: Written = NOTHING_KNOWN


class StepInspector:
    """What can be known of a step beyond the pixels.

    Args:
        written: tells which files were written; None: nothing is known of files.
    """

    def __init__(self, written: WrittenSince | None = None) -> None:
        self._written = written

    async def take(
        self, call: GroundedCall, looks: Looks, outcome: Outcome, *, changed: bool
    ) -> StepEvidence:
        """Returns what is known of a step.

        A file can be written by any act, and the screen seldom says which.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """
        if not outcome.ok or outcome.ends:
            return StepEvidence(looks)
        written = NOTHING_KNOWN
        if self._written is not None and call.actions:
            began = outcome.began or looks[0].at
            written = await self._written(began)
            late = began + patience(_LATE) - time.time()
            if not changed and written.complete and not written.paths and late > 0:
                await asyncio.sleep(late)
                written = await self._written(began)
        return StepEvidence(looks, written)
