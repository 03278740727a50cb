"""Finds nothing twice: places by look and description, for those who ground a call more than once.

A planner that samples several calls has their targets found before one of them is chosen; the
agent then asks for the chosen one again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

from hisa.actions import Click, Slot, fill, points, slots, to_source
from hisa.errors import NotFound
from hisa.events import Event, Grounded, GroundingFailed
from hisa.grounder.common import place_found
from hisa.protocols import Emit, GroundedCall, Grounder, Prefetching, ToolCall
from hisa.screen.observation import Observation

__all__ = ["MemoGrounder", "TellingGrounder", "without_groundings"]

_Found = GroundedCall | NotFound


def without_groundings(emit: Emit) -> Emit:
    """Returns an ``emit`` for what stands behind a memo: the agent's own groundings alone are told.

    What is paid for is passed on: looks, searches, model calls.
    """

    def passed(event: Event, /) -> None:
        if not isinstance(event, Grounded | GroundingFailed):
            emit(event)

    return passed


class MemoGrounder:
    """Asks another grounder once for each description of a look, "not found" included.

    It keeps the newest look's places: a look is one `Observation`, not an equal one. Two that ask
    for the same at once share one search. An endpoint that fails is asked again.

    Args:
        inner: finds them; gets one description at a time.
    """

    def __init__(self, inner: Grounder) -> None:
        self._inner = inner
        self._look: Observation | None = None
        self._found: dict[object, asyncio.Task[_Found]] = {}

    def begin(self, observation: Observation, /) -> None:
        """See `hisa.protocols.Prefetching`: handed on."""
        if isinstance(self._inner, Prefetching):
            self._inner.begin(observation)

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        """Fill the slots of a call; see `hisa.protocols.Grounder`.

        Raises:
            NotFound: from the inner grounder, each time it is asked for.
        """
        if observation is not self._look:
            self._look, self._found = observation, {}
        needed, own = slots(call.actions), points(call.actions)
        if not needed and not own:
            return await self._inner.resolve(call, observation)
        if own:  # they may be checked, and written in another convention
            key = (call.actions, call.input, call.description, call.description_2)
            whole = await self._once(key, call, observation)
            return replace(whole, call=_worded(call, whole.call))
        found = {index: await self._described(call, index, observation) for index in needed}
        actions = fill(call.actions, {index: one.places[0].point for index, one in found.items()})
        places = tuple(one.places[0] for one in found.values())
        return GroundedCall(_reworded(call, found), to_source(actions), actions, places)

    async def _described(self, call: ToolCall, index: int, look: Observation) -> GroundedCall:
        """One description as the target of a click; any action has its target at the same place."""
        description = call.description if index == 1 else call.description_2
        click = (Click(at=Slot(1)),)
        asked = replace(
            call, actions=click, input=to_source(click), description=description, description_2=""
        )
        try:
            return await self._once(" ".join(description.split()), asked, look)
        except NotFound as error:
            if description.strip() or index == 1:
                raise
            told = str(error).replace("'description'", "'description_2'")
            raise NotFound(told, error.candidates) from error

    async def _once(self, key: object, call: ToolCall, look: Observation) -> GroundedCall:
        known = self._found
        if key not in known:
            known[key] = asyncio.create_task(_kept(self._inner.resolve, call, look))
        try:
            found = await known[key]
        except BaseException:
            known.pop(key, None)
            raise
        if isinstance(found, NotFound):
            raise NotFound(str(found), found.candidates)
        return found


async def _kept(
    resolve: Callable[[ToolCall, Observation], Awaitable[GroundedCall]],
    call: ToolCall,
    look: Observation,
) -> _Found:
    """A search whose "not found" is an answer like any other."""
    try:
        return await resolve(call, look)
    except NotFound as error:
        return error


def _worded(call: ToolCall, known: ToolCall) -> ToolCall:
    """A call with the words that stand for its descriptions in history."""
    return replace(call, description=known.description, description_2=known.description_2)


def _reworded(call: ToolCall, found: dict[int, GroundedCall]) -> ToolCall:
    words = {
        "description" if index == 1 else "description_2": one.call.description
        for index, one in found.items()
    }
    return replace(call, **words)  # type: ignore[arg-type]


class TellingGrounder:
    """Writes down what another grounder finds: the agent's side of a memo.

    Args:
        inner: tells nothing of it itself.
        emit: gets `hisa.events.Grounded` and `hisa.events.GroundingFailed`.
    """

    def __init__(self, inner: Grounder, *, emit: Emit) -> None:
        self._inner = inner
        self._emit = emit

    def begin(self, observation: Observation, /) -> None:
        """See `hisa.protocols.Prefetching`: handed on."""
        if isinstance(self._inner, Prefetching):
            self._inner.begin(observation)

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        """Fill the slots of a call; see `hisa.protocols.Grounder`."""
        started = time.monotonic()
        try:
            found = await self._inner.resolve(call, observation)
        except NotFound as error:
            described = " / ".join(filter(None, (call.description, call.description_2)))
            self._emit(
                GroundingFailed(
                    description=described, reason=str(error), candidates=error.candidates
                )
            )
            raise
        if found.places:
            source = found.input if isinstance(found.input, str) else ""
            look = found.found or observation
            places = tuple(place_found(place, look) for place in found.places)
            seconds = time.monotonic() - started
            self._emit(Grounded(places=places, input=source, seconds=seconds))
        return found
