"""Reads the elements for the moment in which a description is looked for, and only then."""

from __future__ import annotations

import time

from hisa.actions import slots
from hisa.events import ElementsRead, Emit
from hisa.observation import Observation
from hisa.protocols import Environment, GroundedCall, Grounder, ToolCall

__all__ = ["ReadingGrounder"]

_FRESH_SECONDS = 1.0
"""Elements older than this are read again: a model may have thought for long in between."""


class ReadingGrounder:
    """Gives another grounder a look with elements: picture and elements of one moment.

    A look for a model with eyes needs none: most steps describe nothing, and reading them takes
    the applications time. So they are read here, when a call has something to find.

    Args:
        inner: finds descriptions among elements.
        environment: is looked at.
        emit: gets `hisa.events.ElementsRead`.
    """

    def __init__(self, inner: Grounder, environment: Environment, *, emit: Emit) -> None:
        self._inner = inner
        self._environment = environment
        self._emit = emit

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        """Fill the slots of a call; a call without slots comes back as it is.

        Raises:
            NotFound: not among the elements, or cannot tell because some could not be read.
            ModelUnavailable, BudgetExceeded: from the model.
            EnvironmentFailed: the machine does not answer.
        """
        if not slots(call.actions):
            return await self._inner.resolve(call, observation)
        seen = observation if _is_fresh(observation) else await self._read()
        return await self._inner.resolve(call, seen)

    async def _read(self) -> Observation:
        started = time.monotonic()
        seen = await self._environment.observe(elements=True)
        self._emit(
            ElementsRead(
                elements=None if seen.elements is None else len(seen.elements),
                complete=seen.complete,
                seconds=time.monotonic() - started,
            )
        )
        return seen


def _is_fresh(observation: Observation) -> bool:
    age = time.time() - observation.at
    return observation.all_elements is not None and 0 <= age <= _FRESH_SECONDS
