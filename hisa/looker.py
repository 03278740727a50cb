"""How the loop looks: each look is written down, and none that is old is taken for now."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from hisa.events import Observed
from hisa.protocols import Environment, Recorder
from hisa.screen.observation import Observation

__all__ = ["Looker"]


class Looker:
    """Takes the looks of a run, and the time that its phases take.

    Args:
        environment: is looked at.
        log: gets each look.
        elements: ask for accessibility elements.
        settle: longest wait, in seconds, for the screen to stop changing.
        stale: seconds after which a look is taken again.
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
        """What each phase of the present step took."""
        self._looked_at = -float("inf")

    async def refresh(self, observation: Observation | None) -> Observation:
        """The look itself, or a new one where it is old or windows came or went."""
        old = _now() - self._looked_at > self.stale
        if observation is None or old or await self._other_windows(observation):
            return await self.see()
        return observation

    async def look_after_plan(self, before: Observation) -> Observation:
        """The look that a step is judged from: what came while it was planned is not its doing."""
        if _now() - self._looked_at <= self.stale:
            return before
        now = await self.look(0.0, elements=False)
        return before if now.shows(before) else await self.look(0.0)

    async def _other_windows(self, observation: Observation) -> bool:
        """Whether a window came or went since a look; asked only where looking costs little."""
        if not (observation.name and observation.windows):
            return False
        with self.phase("observe"):
            now = await self.environment.observe()
        return {(w.id, w.title) for w in now.windows} != {
            (w.id, w.title) for w in observation.windows
        }

    async def see(self) -> Observation:
        """The look that a planner gets, and points at."""
        observation = await self.look(self.settle)
        self._looked_at = _now()
        return observation

    async def look(self, settle: float, *, elements: bool = True) -> Observation:
        """A look, written down.

        Args:
            settle: longest wait, in seconds, for the screen to stop changing.
            elements: whether elements are asked for.
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
        """Add the time of what is done inside to that of a phase."""
        started = time.monotonic()
        try:
            yield
        finally:
            seconds = time.monotonic() - started
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds


def _now() -> float:
    """Seconds that no clock change moves; they go on while the machine is suspended."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
