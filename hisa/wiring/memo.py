"""Finds nothing twice, where a planner samples several calls and one of them is chosen.

Their targets are found before that, by look and description; the chosen one has its places then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from hisa.actions import Click, Slot, fill, points, slots, to_source
from hisa.config import ModelSettings, PlannerSettings
from hisa.errors import NotFound
from hisa.events import Event, Grounded, GroundingFailed
from hisa.grounder.common import place_found
from hisa.hooks import Hook, Step
from hisa.models.profiles import Profile
from hisa.protocols import (
    Emit,
    GroundedCall,
    Grounder,
    Model,
    Planner,
    Role,
    ToolCall,
)
from hisa.screen.observation import Observation
from hisa.sequence import ground_calls

if TYPE_CHECKING:
    from hisa.planner.judging import Candidate
    from hisa.planner.scaling import ScaledPlanner

__all__ = ["GroundingMemo", "MemoGrounder", "open_sampling"]

_Found = GroundedCall | NotFound


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
        look = found[needed[0]].found
        return GroundedCall(_reworded(call, found), to_source(actions), actions, places, found=look)

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


class GroundingMemo(Hook):
    """Does not look again for what was found for the candidate that is chosen.

    The agent's own grounding is in the log, those of other candidates are not: what the grounder
    emits of them while a step is planned is held back.

    Args:
        emit: gets `hisa.events.Grounded` and `hisa.events.GroundingFailed`, and all else at once.
    """

    name = "memo"

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._plans = False
        self._held: list[GroundingFailed] = []
        self.planner: ScaledPlanner | None = None
        """Chooses; None: it is not open yet."""

    def emit(self, event: Event, /) -> None:
        """Takes the events of the run's grounder."""
        if not self._plans or not isinstance(event, Grounded | GroundingFailed):
            self._emit(event)
        elif isinstance(event, GroundingFailed):
            self._held.append(event)

    async def before_plan(self, step: Step) -> None:
        """See `Hook`."""
        self._plans, self._held = True, []

    async def after_plan(self, step: Step) -> None:
        """See `Hook`: the chosen call has its places; a target to be found yet is left alone.

        Raises:
            NotFound: its target was not.
        """
        self._plans = False
        chosen = self.planner.chosen if self.planner is not None else None
        if chosen is None or step.call is not chosen.call:
            return
        missing = self._missing(chosen)
        is_open = any(slots(call.actions) for call in chosen.grounded.sequence)
        if not is_open:
            step.grounded = chosen.grounded
            for call in chosen.grounded.sequence:
                self._tell(call, step.look)
        if missing is not None:
            self._emit(missing)
        if missing is not None and is_open:
            raise NotFound(chosen.not_found, missing.candidates)

    def _missing(self, chosen: Candidate) -> GroundingFailed | None:
        """Returns the event of the first target that was not found; None where all were."""
        at = len(chosen.grounded.following) + 1 if chosen.grounded.lacking else 0
        if chosen.is_found or at >= len(chosen.call.sequence):
            return None
        call = chosen.call.sequence[at]
        words = " / ".join(filter(None, (call.description, call.description_2)))
        told = (event for event in self._held if chosen.not_found.endswith(event.reason))
        failed = next(told, None)
        return failed and failed.model_copy(update={"description": words})

    def _tell(self, call: GroundedCall, look: Observation) -> None:
        if call.places:
            source = call.input if isinstance(call.input, str) else ""
            places = tuple(place_found(place, call.found or look) for place in call.places)
            self._emit(Grounded(places=places, input=source, seconds=0.0))


def open_sampling(
    settings: PlannerSettings,
    model: ModelSettings,
    planner: Planner,
    grounder: Grounder,
    models: Mapping[Role, Model],
    memo: GroundingMemo,
    *,
    profile: Profile,
) -> Planner:
    """Returns a planner that asks another several times a step; ``memo`` keeps what it found.

    Raises:
        ConfigError: this planner cannot be sampled.
    """
    from hisa.planner.open_scaling import open_scaling  # most runs ask once

    judge = models.get("judge", models["planner"])
    ground = partial(ground_calls, grounder=MemoGrounder(grounder))
    emit = memo.emit
    memo.planner = open_scaling(settings, model, planner, ground, judge, emit=emit, profile=profile)
    return memo.planner
