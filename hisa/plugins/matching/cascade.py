"""Grounds by the elements if they are sure, or else by a seeing model, checked by the elements."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from hisa.errors import ModelUnavailable, NotFound, with_fix
from hisa.events import GroundingVerdict
from hisa.grounder.common import build_tried_event, resolve
from hisa.grounder.matchers import FinderParts
from hisa.grounder.vision import Unreadable
from hisa.plugins.matching.belief import MIN_CHANCE, Belief
from hisa.plugins.matching.elements import PARTIAL, ElementsGrounder
from hisa.plugins.matching.rating import Rating, rate_screen
from hisa.protocols import GroundedCall, Place, ToolCall
from hisa.screen.enlarged_part import Part, closer_part
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.observation import Observation

__all__ = ["CascadeGrounder"]

_CLOSEST = 3
"""Number of the elements' candidates that a closer look tries to show on its picture."""


_UNASKED = 0.95
"""Least chance at which one answer is enough."""


@dataclass(frozen=True)
class _Answer:
    """A model's answer; ``place`` is None if it was not a point, for the reason ``why``."""

    place: Place | None
    chance: float | None
    """The chance that the place is right, after this answer."""
    seconds: float
    part: Part | None = None
    why: Unreadable | None = None

    @property
    def point(self) -> Point | None:
        """The point, in image space."""
        return self.place.point if self.place else None


@dataclass
class _Search:
    """The search for one description on one look, with the answers so far."""

    description: str
    observation: Observation
    rating: Rating
    belief: Belief
    answers: list[_Answer] = field(default_factory=list)

    @property
    def likely_place(self) -> Place | None:
        """The likeliest place, if it is likely enough."""
        best = self.belief.best_point
        if best is None or self.belief.chance_at(best) < MIN_CHANCE:
            return None
        return next(answer.place for answer in reversed(self.answers) if answer.point == best)


class CascadeGrounder:
    """Asks the elements first, and a model that sees if they are not sure.

    The elements' chances and the model's answers are combined, see `hisa.plugins.matching.belief`.
    If both mean the same place, the model's point is taken at once. Otherwise the model is asked
    once more, with an enlarged part of the picture. If no place is likely enough then, the refusal
    names all candidates.

    Args:
        parts: must have a model that points.
    """

    def __init__(self, parts: FinderParts) -> None:
        if parts.seer is None:
            raise ValueError("a cascade needs a model that points")
        self._seer, self._points_right = parts.seer, parts.points_right
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
            NotFound: no target was found, or elements and model disagree.
            ModelUnavailable: the elements find no target, and the model cannot be asked.
            BudgetExceeded: from the model.
        """
        return await resolve(
            call, observation, locate=self._locate, emit=self._emit, reader=self._reader
        )

    async def _locate(self, description: str, observation: Observation) -> Place:
        started = time.monotonic()
        answer = await self._elements.answer(description, observation)
        rating = await asyncio.to_thread(rate_screen, description, observation, answer, self._read)
        seconds = time.monotonic() - started
        place = rating.place
        self._emit(rating.event(description, sure=rating.is_sure, seconds=seconds))
        if place is not None and rating.is_sure:
            return place
        belief = await asyncio.to_thread(Belief, rating, self._points_right)
        search = _Search(description, observation, rating, belief)
        try:
            first = await self._ask(search)
        except (ModelUnavailable, NotFound) as error:
            return self._answer_alone(description, rating, error)
        if first.place is not None and (first.chance or 0.0) >= _UNASKED:
            self._tell_answer(description, first, "agreed")
            return first.place
        return await self._look_closer(search, first)

    async def _ask(
        self, search: _Search, part: Part | None = None, after: Unreadable | None = None
    ) -> _Answer:
        """Makes one model call, about the whole picture or a part of it.

        Raises:
            ModelUnavailable, BudgetExceeded: from the model.
        """
        started = time.monotonic()
        picture, words = search.observation.screenshot, search.description
        if part is not None:
            picture = await asyncio.to_thread(part.enlarge, picture)
            words += f"\n(The picture shows only {part.words}, enlarged.)"
        try:
            point = await self._seer.ask(picture, words, after=after)
        except Unreadable as error:
            answer = _Answer(None, None, time.monotonic() - started, part, error)
        else:
            point = part.to_picture(point) if part else point
            search.belief.hear_point(point)
            label = search.rating.label_at(point)
            place = Place(search.description, point, None, self._seer.name, label)
            answer = _Answer(
                place, search.belief.chance_at(point), time.monotonic() - started, part
            )
        search.answers.append(answer)
        return answer

    async def _look_closer(self, search: _Search, first: _Answer) -> Place:
        """Asks the model again, with an enlarged part of the picture."""
        part = self._part(search, first)
        self._tell_answer(search.description, first, "doubted", closer=part)
        try:
            second = await self._ask(search, part, None if part else first.why)
        except ModelUnavailable as error:
            self._tell(search.description, "unavailable", detail=with_fix(error))
            raise self._build_refusal(search, f"; then {error}") from error
        taken = search.likely_place
        self._tell_answer(search.description, second, _verdict(search, taken, second))
        if taken is None:
            raise self._build_refusal(search)
        return taken

    def _part(self, search: _Search, first: _Answer) -> Part | None:
        others = (t.box for t in search.rating.likely)
        closest = [box.centre for box in others if not _holds(box, first.point)][:_CLOSEST]
        return closer_part(search.observation.image, first.point, closest)

    def _answer_alone(
        self, description: str, rating: Rating, error: ModelUnavailable | NotFound
    ) -> Place:
        """Returns the elements' own answer, if the model gave none.

        Raises:
            ModelUnavailable: they have none, and the model cannot be asked.
            NotFound: they have none, and the model may not see the picture.
        """
        self._tell(description, "unavailable", detail=with_fix(error))
        if rating.place is not None:
            return rating.place
        if isinstance(error, ModelUnavailable):
            message = f"{rating.refusal}; and the grounding model cannot be asked: {error}"
            raise ModelUnavailable(message, fix=error.fix) from error
        raise NotFound(f"{rating.refusal}; {error}", rating.candidates) from error

    def _build_refusal(self, search: _Search, more: str = "") -> NotFound:
        """Returns a refusal that names every candidate place to the planner."""
        sightings = tuple(
            dict.fromkeys(text for answer in search.answers if (text := _describe_point(answer)))
        )
        known = search.rating.candidates
        sighting_text = "; ".join(sightings) or f"no point: {search.answers[-1].why}"
        closest = f"; the elements know {'; '.join(known[:3])}" if known else ""
        name = search.description[:200]
        reason = f"not sure where {name!r} is: {self._seer.name} sees {sighting_text}{closest}"
        more += "" if search.rating.complete else f"; {PARTIAL}"
        advice = ". Describe it otherwise, or click the one that you mean by its coordinates"
        return NotFound(f"{reason}{more}{advice}", (*sightings, *known))

    def _tell_answer(
        self,
        description: str,
        answer: _Answer,
        verdict: GroundingVerdict,
        *,
        closer: Part | None = None,
    ) -> None:
        self._tell(
            description,
            "no_point" if answer.place is None else verdict,
            answer.place,
            score=answer.chance,
            seconds=answer.seconds,
            detail=str(answer.why or ""),
            part=answer.part.corners if answer.part else None,
            closer=closer.corners if closer else None,
        )

    def _tell(
        self, description: str, verdict: GroundingVerdict, place: Place | None = None, **more: Any
    ) -> None:
        self._emit(build_tried_event(description, self._seer.name, verdict, place, **more))


def _holds(box: BoundingBox, point: Point | None) -> bool:
    return point is not None and box.contains(point)


def _verdict(search: _Search, taken: Place | None, second: _Answer) -> GroundingVerdict:
    """Returns the verdict on the answer to a closer look."""
    if taken is None or second.place is not taken:
        return "doubted"
    first = search.answers[0].point
    same = first is not None and search.rating.is_same_place(first, taken.point)
    return "repeated" if same else "agreed"


def _describe_point(answer: _Answer) -> str:
    if answer.place is None:
        return ""
    x, y = answer.place.point.to_pixels()
    return f"{answer.place.label or 'a point'} at ({x}, {y})"
