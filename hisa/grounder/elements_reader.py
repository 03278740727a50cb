"""Reads the elements of the screen only when they are needed."""

from __future__ import annotations

import asyncio
import time

from hisa.events import ElementsRead
from hisa.protocols import Emit, Environment
from hisa.screen.observation import Observation
from hisa.screen.sight import knows_places

__all__ = ["ElementsReader"]

_FRESH_SECONDS = 1.0
"""Age from which elements are read again: a model may have thought for long in between."""


class ElementsReader:
    """Takes looks with elements, and keeps the newest.

    Args:
        environment: the machine that is observed.
        emit: gets `hisa.events.ElementsRead`.
    """

    def __init__(self, environment: Environment, *, emit: Emit) -> None:
        self._environment = environment
        self._emit = emit
        self._newest: Observation | None = None
        self._one_at_a_time = asyncio.Lock()
        self._shared: tuple[Observation, Observation] | None = None

    async def read(self) -> Observation:
        """Take a look with elements.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """
        started = time.monotonic()
        look = self._newest = await self._environment.observe(elements=True)
        self._emit(
            ElementsRead(
                elements=None if look.elements is None else len(look.elements),
                complete=look.complete,
                seconds=time.monotonic() - started,
            )
        )
        return look

    async def fresh(self, observation: Observation) -> Observation:
        """Returns the look itself if its elements are new and none may be missing on top.

        All searches on one look get the same result, however many ask at once.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """
        async with self._one_at_a_time:
            if self._shared is None or self._shared[0] is not observation:
                fresh = observation if _is_fresh(observation) else await self.read()
                self._shared = observation, fresh
            return self._shared[1]

    async def recent(self, observation: Observation) -> Observation:
        """Returns a new enough look with elements, no older than ``observation``; else takes one.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """
        for look in (observation, self._newest):
            if look is not None and look.at >= observation.at and _is_fresh(look):
                return look
        return await self.read()


def _is_fresh(observation: Observation) -> bool:
    age = time.time() - observation.at
    return knows_places(observation) and 0 <= age <= _FRESH_SECONDS
