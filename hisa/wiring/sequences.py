"""Finds the targets of a whole sequence of calls on one look, before anything moves."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from hisa.actions import slots
from hisa.errors import NotFound
from hisa.grounder.reading import ElementsReader
from hisa.protocols import GroundedCall, Grounder, Prefetching, ToolCall
from hisa.screen.observation import Observation

__all__ = ["SequenceGrounder"]


class SequenceGrounder:
    """Resolves all calls of a sequence at once, with another grounder (OS-Catalyst, section 3.1).

    Args:
        inner: finds the targets of one call.
        reader: gives them one look with elements; None: the inner one needs no elements.
    """

    def __init__(self, inner: Grounder, reader: ElementsReader | None = None) -> None:
        self._inner = inner
        self._reader = reader

    def begin(self, observation: Observation, /) -> None:
        """See `hisa.protocols.Prefetching`: handed on."""
        if isinstance(self._inner, Prefetching):
            self._inner.begin(observation)

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        """Fill the slots of a call and of those that follow it.

        Where a later target is not found, the calls before it stand, and ``lacking`` says why the
        sequence ends there.

        Raises:
            NotFound: the first call's target was not found.
            ModelUnavailable, BudgetExceeded: from the inner grounder.
        """
        if not call.following:
            return await self._inner.resolve(call, observation)
        if self._reader is not None and any(slots(each.actions) for each in call.sequence):
            observation = await self._reader.fresh(observation)
        alone = (replace(each, following=()) for each in call.sequence)
        found = await asyncio.gather(
            *(self._inner.resolve(each, observation) for each in alone), return_exceptions=True
        )
        return _joined(call, found)


def _joined(call: ToolCall, found: list[GroundedCall | BaseException]) -> GroundedCall:
    """The calls up to the first one that was not found.

    Raises:
        BaseException: what ended the first one, or anything but a target that is not there.
    """
    for error in found:
        if isinstance(error, BaseException) and not isinstance(error, NotFound):
            raise error
    grounded: list[GroundedCall] = []
    lacking = ""
    for number, each in enumerate(found, 1):
        if isinstance(each, BaseException):
            if number == 1:
                raise each
            lacking = f"action {number}: {each}"
            break
        grounded.append(each)
    first, *rest = grounded
    # What a number of a list stood for is told in the words of the calls that were resolved.
    following = (*(each.call for each in rest), *call.following[len(rest) :])
    whole = replace(first.call, following=following)
    return replace(first, call=whole, following=tuple(rest), lacking=lacking)
