"""Reads the elements when something has to be known of them, and only then."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from hisa.actions import slots
from hisa.events import ElementsRead
from hisa.protocols import Emit, Environment, GroundedCall, Grounder, ToolCall
from hisa.screen.observation import Observation

__all__ = ["ElementsReader", "ReadingGrounder", "SharedReader"]

_FRESH_SECONDS = 1.0
"""Elements older than this are read again: a model may have thought for long in between."""


class ElementsReader:
    """Takes looks with elements, and keeps the newest.

    Args:
        environment: is looked at.
        emit: gets `hisa.events.ElementsRead`.
    """

    def __init__(self, environment: Environment, *, emit: Emit) -> None:
        self._environment = environment
        self._emit = emit
        self._newest: Observation | None = None

    async def read(self) -> Observation:
        """A look with elements.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """
        started = time.monotonic()
        seen = self._newest = await self._environment.observe(elements=True)
        self._emit(
            ElementsRead(
                elements=None if seen.elements is None else len(seen.elements),
                complete=seen.complete,
                seconds=time.monotonic() - started,
            )
        )
        return seen

    async def fresh(self, observation: Observation) -> Observation:
        """The look itself where its elements are whole and new, else one with elements.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """
        return observation if _is_fresh(observation) else await self.read()

    async def recent(self, observation: Observation) -> Observation:
        """The newest look with elements where it is new enough and no older than the given one.

        Raises:
            EnvironmentFailed: the machine does not answer.
        """
        for look in (observation, self._newest):
            if look is not None and look.at >= observation.at and _is_fresh(look):
                return look
        return await self.read()


class SharedReader(ElementsReader):
    """Reads the elements once for each look, however many descriptions are sought on it at once."""

    def __init__(self, environment: Environment, *, emit: Emit) -> None:
        super().__init__(environment, emit=emit)
        self._one_at_a_time = asyncio.Lock()
        self._shared: tuple[Observation, Observation] | None = None

    async def fresh(self, observation: Observation) -> Observation:
        """The look that this one was first found on; see `ElementsReader.fresh`."""
        async with self._one_at_a_time:
            if self._shared is None or self._shared[0] is not observation:
                self._shared = observation, await super().fresh(observation)
            return self._shared[1]


class ReadingGrounder:
    """Gives another grounder a look with elements: picture and elements of one moment.

    A look for a model with eyes needs none: most steps describe nothing, and reading them takes
    the applications time. So they are read here, when a call has something to find.

    Args:
        inner: finds descriptions among elements.
        reader: takes the look.
    """

    def __init__(self, inner: Grounder, reader: ElementsReader) -> None:
        self._inner = inner
        self._reader = reader

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        """Fill the slots of a call; returns a call without slots unchanged.

        Raises:
            NotFound: not among the elements, or cannot tell because some could not be read.
            ModelUnavailable, BudgetExceeded: from the model.
            EnvironmentFailed: the machine does not answer.
        """
        if not slots(call.actions):
            return await self._inner.resolve(call, observation)
        look = await self._reader.fresh(observation)
        return replace(await self._inner.resolve(call, look), found=look)


def _is_fresh(observation: Observation) -> bool:
    age = time.time() - observation.at
    return observation.all_elements is not None and 0 <= age <= _FRESH_SECONDS
