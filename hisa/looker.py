"""The looks of the loop: each one is logged, and an old one is never taken for the present."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from hisa.events import Observed
from hisa.outcomes.endings import boot_seconds
from hisa.protocols import Environment, Recorder
from hisa.screen.observation import Observation

__all__ = ["Looker"]


class Looker:
    """Takes the looks of a run, and measures how long the phases of a step take.

    Args:
        environment: the machine to look at.
        log: records each look.
        elements: whether to read accessibility elements.
        settle: longest wait, in seconds, for the screen to stop changing.
        stale: age in seconds from which on a look is taken again.
    """

    def __init__(
        self,
        environment: Environment,
        log: Recorder,
        *,
        elements: bool,
        settle: float,
        stale: float,
    ) -> None:
        self.environment, self.log = environment, log
        self.elements, self.settle, self.stale = elements, settle, stale
        self.seconds: dict[str, float] = {}
        """Seconds that each phase of the present step took."""
        self._looked_at = -float("inf")

    async def refresh(self, observation: Observation | None) -> Observation:
        """Returns the look, or a new one if it is old or a window has opened or closed since."""
        old = _now() - self._looked_at > self.stale
        if observation is None or old or await self._other_windows(observation):
            return await self.see()
        return observation

    async def look_after_plan(self, before: Observation) -> Observation:
        """Returns the look to judge the step from: after planning, just before acting.

        A change of the screen during planning must not be taken for an effect of the step.
        """
        if _now() - self._looked_at <= self.stale:
            return before
        now = await self.look(0.0, elements=False)
        return before if now.shows(before) else await self.look(0.0)

    async def _other_windows(self, observation: Observation) -> bool:
        """Whether a window opened or closed since a look; asked only if looking costs little."""
        if not (observation.name and observation.windows):
            return False
        with self.phase("observe"):
            now = await self.environment.observe()
        return {(w.id, w.title) for w in now.windows} != {
            (w.id, w.title) for w in observation.windows
        }

    async def see(self) -> Observation:
        """Take the look that the planner gets and points at."""
        observation = await self.look(self.settle)
        self._looked_at = _now()
        return observation

    async def look(self, settle: float, *, elements: bool = True) -> Observation:
        """Take a look and log it.

        Args:
            settle: longest wait, in seconds, for the screen to stop changing.
            elements: whether to read elements, if the run reads any.
        """
        with self.phase("observe"):
            started = time.monotonic()
            elements = elements and self.elements
            observation = await self.environment.observe(elements=elements, settle=settle)
            seconds = time.monotonic() - started
            file_names = await self.log.keep(observation)
        self.log.emit(Observed.of(observation, file_names=file_names, seconds=seconds))
        return observation

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time that the ``with`` block takes to a phase of the step."""
        started = time.monotonic()
        try:
            yield
        finally:
            seconds = time.monotonic() - started
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds


def _now() -> float:
    """Returns seconds that no clock change affects, and that go on during a suspend."""
    return boot_seconds()
