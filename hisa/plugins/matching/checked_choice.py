"""Finds things by the elements, and lets a model pick from a short list if they are not sure."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hisa.errors import ModelUnavailable, NotFound, with_fix
from hisa.events import GroundingVerdict
from hisa.grounder.choice import LIST_TOKENS, ask_pick, list_text
from hisa.grounder.common import build_tried_event, resolve
from hisa.grounder.matchers import FinderParts
from hisa.grounder.thing import READ, SHOWS_TEXT
from hisa.grounder.trust import PICKS_RIGHT, Trust
from hisa.models.tokens import estimate_tokens, longest
from hisa.plugins.matching.belief import MIN_CAREFUL_CHANCE, MIN_CHANCE, Belief
from hisa.plugins.matching.choice_lines import build_choice_lines, is_nameless, is_scrap
from hisa.plugins.matching.elements import PARTIAL, ElementsGrounder, place_of
from hisa.plugins.matching.pick import BEHIND, Candidate
from hisa.plugins.matching.rating import RatedThing, Rating, rate_screen
from hisa.protocols import (
    Emit,
    GroundedCall,
    Model,
    Place,
    ToolCall,
)
from hisa.screen.observation import Observation
from hisa.screen.roles import CONTAINERS
from hisa.text.words import tokens

__all__ = ["ChoiceGrounder", "Picker"]

# Chosen on the training screens of benchmarks/grounding, by chances learned from others of them.
_ENOUGH = 0.9
"""Least chance at which a place is taken without asking the model."""
_MOST = 24
"""Most things on a list: less likely ones are seldom meant."""
_CLOSEST = 5
"""Most things that a refusal names; the planner reads the first four."""
_UNUSUAL = 0.05
"""Least chance at which a container, or a thing behind a window, is listed too."""
_IN_FRONT = 0.7
"""Least `Thing.front` of a thing that is behind nothing."""
_READ_ALONE = SHOWS_TEXT | CONTAINERS | {READ}
"""Roles of things that are only read, or contain others."""
_STRONG = Trust(PICKS_RIGHT)


class Picker:
    """A model that picks the target from a list in words; it need not take pictures.

    It gets the description and the likeliest things by the elements. That costs some hundred
    tokens, while a refusal costs the planner a whole step.

    Args:
        model: picks.
        emit: gets `hisa.events.GroundingTried` for the list and for the result.
        trust: how often its picks are right.
    """

    def __init__(self, model: Model, *, emit: Emit, trust: Trust = _STRONG) -> None:
        self._model = model
        self._emit = emit
        self._trust = trust

    async def pick(
        self,
        description: str,
        observation: Observation,
        rating: Rating,
        belief: Belief,
    ) -> Place:
        """Returns the place of the pick, if it is likely enough.

        Args:
            description: of the target.
            observation: the look.
            rating: the chances by the elements.
            belief: the chances so far; it is updated with the pick.

        Raises:
            NotFound: the model picks none, or a thing that hardly fits; or the list is empty.
            ModelUnavailable: from the model, or the model is not trusted.
            BudgetExceeded: from the model.
        """
        right = self._trust.right
        if right is None:
            raise ModelUnavailable(f"the model is not asked: {self._trust.words}")
        rows = await asyncio.to_thread(_list_likely, rating, description, observation)
        listed = [thing for thing, _ in rows]
        if not listed:
            raise NotFound("there is nothing to pick from")
        started = time.monotonic()
        number, why = await self._ask(description, rows, observation, started)
        picked = listed[number - 1] if number else None
        belief.hear_pick(listed, picked, right)
        if picked is not None:
            return self._accept_pick(description, observation, belief, listed, picked, started)
        self._tell(description, "none", started, detail=why)
        message = f"{self._model.name} picks none of {len(listed)} likely things"
        raise NotFound(f"{message}: {why}" if why else message)

    async def _ask(
        self,
        description: str,
        rows: Sequence[tuple[RatedThing, str]],
        observation: Observation,
        started: float,
    ) -> tuple[int, str]:
        offered = tuple((t.box.centre.x, t.box.centre.y) for t, _ in rows)
        self._tell(description, "offered", offered=offered)
        lines = [words for _, words in rows]
        try:
            return await ask_pick(self._model, description, lines, observation.image)
        except ModelUnavailable as error:
            self._tell(description, "unavailable", started, detail=with_fix(error))
            raise

    def _accept_pick(
        self,
        description: str,
        observation: Observation,
        belief: Belief,
        listed: list[RatedThing],
        picked: RatedThing,
        started: float,
    ) -> Place:
        """Returns the place of a pick that is likely enough.

        Raises:
            NotFound: it is not; the message names a thing that fits better, if there is one.
        """
        least = MIN_CHANCE if (self._trust.right or 0.0) >= PICKS_RIGHT else MIN_CAREFUL_CHANCE
        place = place_of(description, Candidate(picked.thing, picked.chance), observation)
        place = replace(place, score=None, source=self._model.name)
        chance = belief.chance_of(picked)
        if chance < least and is_nameless(picked):
            chance = belief.chance_among(listed, picked)
        taken = chance >= least
        self._tell(
            description, "chosen" if taken else "doubted", started, place=place, score=chance
        )
        if taken:
            return place
        x, y = place.point.to_pixels()
        candidates = [f"{place.label} at ({x}, {y})"]
        reason = f"{self._model.name} picks {candidates[0]}, which hardly fits"
        best = max(listed, key=belief.chance_of)
        if belief.chance_of(best) > belief.chance_of(picked):
            candidates.append(_label_with_point(best))
            reason += f"; by the words, {candidates[1]} fits better"
        raise NotFound(reason, tuple(candidates))

    def _tell(
        self, description: str, verdict: GroundingVerdict, started: float = 0.0, **more: Any
    ) -> None:
        seconds = time.monotonic() - started if started else 0.0
        self._emit(
            build_tried_event(description, self._model.name, verdict, seconds=seconds, **more)
        )


class ChoiceGrounder:
    """Asks the elements first, and lets a model pick if they are not sure.

    Args:
        parts: must have a model that picks; if its picks are not trusted, the elements decide.
    """

    def __init__(self, parts: FinderParts) -> None:
        if parts.picker is None:
            raise ValueError("a choice needs a model that picks")
        self._picker = Picker(parts.picker, emit=parts.emit, trust=parts.trust)
        self._emit, self._reader, self._read = parts.emit, parts.reader, parts.read
        self._elements = ElementsGrounder(
            emit=lambda _: None,
            min_score=parts.min_score,
            min_score_seen=parts.min_score_seen,
            read=parts.read,
        )

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        """Fills the slots of a call; a call without slots is returned unchanged.

        Raises:
            NotFound: the elements are not sure, and the model picked none.
            BudgetExceeded: from the model.
        """
        return await resolve(
            call, observation, locate=self._locate, emit=self._emit, reader=self._reader
        )

    async def _locate(self, description: str, observation: Observation) -> Place:
        started = time.monotonic()
        answer = await self._elements.answer(description, observation)
        place = answer if isinstance(answer, Place) else None
        if place is not None and (place.score or 0.0) >= _ENOUGH:
            seconds, score = time.monotonic() - started, place.score
            event = build_tried_event(
                description, "elements", "sure", place, score=score, seconds=seconds
            )
            self._emit(event)
            return place
        rating = await asyncio.to_thread(rate_screen, description, observation, answer, self._read)
        seconds = time.monotonic() - started
        self._emit(rating.event(description, sure=False, seconds=seconds))
        try:
            return await self._picker.pick(description, observation, rating, Belief(rating))
        except ModelUnavailable as error:
            if place is not None:
                return place
            raise _build_refusal(description, rating, observation) from error
        except NotFound as error:
            known = error.candidates
            raise _build_refusal(description, rating, observation, str(error), known) from error


def _label_with_point(rated: RatedThing) -> str:
    return "{} at ({}, {})".format(rated.label, *rated.box.centre.to_pixels())


def _list_likely(
    rating: Rating, description: str, observation: Observation
) -> list[tuple[RatedThing, str]]:
    """Returns the likeliest things with their lines, one for each place, in reading order."""
    entries: list[RatedThing] = []
    for thing in sorted(rating.things, key=lambda thing: -thing.chance):
        if len(entries) == _MOST or thing.chance <= 0:
            break
        away = thing.holds or thing.thing.front < _IN_FRONT
        if thing.chance < _UNUSUAL and (away or is_scrap(thing, description, observation)):
            continue
        _add_entry(thing, entries)
    words = build_choice_lines(entries, rating.things, observation)
    size = longest(
        len(entries), lambda size: estimate_tokens(list_text(words[:size])) <= LIST_TOKENS
    )
    rows = zip(entries[:size], words[:size], strict=True)
    return sorted(rows, key=lambda row: (row[0].box.centre.y // 8, row[0].box.centre.x))


def _add_entry(thing: RatedThing, entries: list[RatedThing]) -> None:
    """Adds a thing if its place is new; a control replaces a text on it, or its container.

    Things with different words are both kept: one may lie under the other, in an open menu.
    """
    at_place = [
        row
        for row, other in enumerate(entries)
        if thing.is_where(other) and _may_be_same(thing, other)
    ]
    if not at_place:
        entries.append(thing)
    elif _is_control(thing) and not any(_is_control(entries[row]) for row in at_place):
        entries[at_place[0]] = replace(thing, chance=entries[at_place[0]].chance)
        for row in reversed(at_place[1:]):
            del entries[row]


def _may_be_same(thing: RatedThing, other: RatedThing) -> bool:
    """Whether two things at one place may be the same: the words of one are among the other's."""
    thing_words, other_words = (
        tokens(f"{t.thing.element.name} {t.thing.element.text}") for t in (thing, other)
    )
    return thing_words <= other_words or other_words <= thing_words


def _is_control(rated: RatedThing) -> bool:
    return rated.thing.is_made_control or rated.thing.role not in _READ_ALONE


def _build_refusal(
    description: str,
    rating: Rating,
    observation: Observation,
    more: str = "",
    picked: Sequence[str] = (),
) -> NotFound:
    """Returns the elements' refusal if the model gave no answer, or else one with likely things."""
    if rating.refusal is not None and not more:
        return rating.refusal
    known = _list_closest(description, rating, observation)
    more += "" if rating.complete else f"; {PARTIAL}"
    closest = f". Closest: {'; '.join(known[:4])}" if known else ""
    candidates = tuple(dict.fromkeys((*picked, *known)))
    return NotFound(f"not found: {description[:200]!r}: {more}{closest}", candidates)


def _list_closest(description: str, rating: Rating, observation: Observation) -> tuple[str, ...]:
    """Returns the elements' own answer, or what fits but is blocked, then the likeliest things."""
    own = rating.candidates
    if rating.place is None:
        own = tuple(candidate for candidate in own if candidate.endswith(BEHIND))
    rows = _list_likely(rating, description, observation)
    likely = sorted((thing for thing, _ in rows), key=lambda thing: -thing.chance)
    return (
        tuple(dict.fromkeys((*own, *map(_label_with_point, likely))))[:_CLOSEST]
        or rating.candidates
    )
