"""Elements where they are sure, else a model with eyes whose points the elements check."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from hisa.errors import ModelUnavailable, NotFound
from hisa.events import GroundingTried, GroundingVerdict
from hisa.grounder.choice import Picker
from hisa.grounder.closer import Part, closer_part
from hisa.grounder.common import resolve, step_at
from hisa.grounder.elements import PARTIAL, ElementsGrounder
from hisa.grounder.rating import Rating, Standing, rated_by
from hisa.grounder.vision import Seer, Unreadable
from hisa.protocols import Emit, GroundedCall, Place, ToolCall
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.observation import Observation
from hisa.screen.ocr import ReadText, read_text

__all__ = ["CascadeGrounder"]

_CLOSEST = 3
"""Candidates of the elements that a closer look tries to have on its picture."""


@dataclass(frozen=True)
class _Answer:
    """What a model said; ``place`` is None where that was no point, as ``why`` says."""

    place: Place | None
    standing: Standing | None
    seconds: float
    part: Part | None = None
    why: Unreadable | None = None

    @property
    def point(self) -> Point | None:
        """In image space."""
        return self.place.point if self.place else None

    @property
    def agreed(self) -> bool:
        """Whether the elements bear it out."""
        return self.standing is not None and self.standing.agrees


class CascadeGrounder:
    """Asks the elements first, and a model with eyes where they are not sure.

    A point of the model is taken where the elements or the read text bear it out. Else the model
    is asked once more, on an enlarged part of the picture, and taken where it is borne out then,
    or says the same again and nothing speaks against it. Else another model may pick from a list in
    words, or the planner hears of all candidates. A place costs two calls of the model at most.

    Args:
        seer: the model.
        emit: gets `hisa.events.GroundingTried` for each step, `hisa.events.Grounded` and
            `hisa.events.GroundingFailed`.
        min_score: below this the elements have no answer of their own.
        read: reads the text on a picture.
        picker: has the last word where elements and model do not agree.
    """

    def __init__(
        self,
        seer: Seer,
        *,
        emit: Emit,
        min_score: float = 0.86,
        read: ReadText = read_text,
        picker: Picker | None = None,
    ) -> None:
        self._seer = seer
        self._picker = picker
        self._emit = emit
        self._elements = ElementsGrounder(emit=lambda _: None, min_score=min_score, read=read)
        self._read = read

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        """Fill the slots of a call; a call without slots is returned unchanged.

        Raises:
            NotFound: nobody found it, or elements and model disagree.
            ModelUnavailable: the elements do not know, and the model cannot be asked.
            BudgetExceeded: from the model.
        """
        return await resolve(call, observation, locate=self._locate, emit=self._emit)

    async def _locate(self, description: str, observation: Observation) -> Place:
        started = time.monotonic()
        rating = await rated_by(self._elements, description, observation, self._read)
        seconds = time.monotonic() - started
        place = rating.place
        self._emit(rating.event(description, sure=rating.is_sure, seconds=seconds))
        if place is not None and rating.is_sure:
            return place
        try:
            first = await self._ask(description, observation, rating)
        except (ModelUnavailable, NotFound) as error:
            return self._alone(description, rating, error)
        if first.place is not None and first.agreed:
            self._tell_answer(description, first, "agreed")
            return first.place
        return await self._closer(description, observation, rating, first)

    async def _ask(
        self,
        description: str,
        observation: Observation,
        rating: Rating,
        part: Part | None = None,
        after: Unreadable | None = None,
    ) -> _Answer:
        """One model call, about the whole picture or a part of it.

        Raises:
            ModelUnavailable, BudgetExceeded: from the model.
        """
        started = time.monotonic()
        picture, words = observation.screenshot, description
        if part is not None:
            picture = await asyncio.to_thread(part.shown, picture)
            words = f"{description}\n(The picture shows only {part.words}, enlarged.)"
        try:
            point = await self._seer.ask(picture, words, after=after)
        except Unreadable as error:
            return _Answer(None, None, time.monotonic() - started, part, error)
        point = part.whole(point) if part else point
        standing = rating.at(point)
        place = Place(description, point, None, self._seer.name, standing.label)
        return _Answer(place, standing, time.monotonic() - started, part)

    async def _closer(
        self, description: str, observation: Observation, rating: Rating, first: _Answer
    ) -> Place:
        """Ask once more, where the thing may be."""
        others = [t.box.centre for t in rating.likely if not _holds(t.box, first.point)][:_CLOSEST]
        part = closer_part(observation.image, first.point, others)
        self._tell_answer(description, first, "doubted", closer=part)
        try:
            second = await self._ask(
                description, observation, rating, part, None if part else first.why
            )
        except ModelUnavailable as error:
            self._tell(description, self._seer.name, "unavailable", detail=str(error))
            refusal = self._refusal(description, rating, [first], f"; then {error}")
            return await self._last_word(description, observation, rating, refusal)
        verdict = _verdict(rating, first, second)
        self._tell_answer(description, second, verdict)
        if second.place is None or verdict == "doubted":
            refusal = self._refusal(description, rating, [first, second])
            return await self._last_word(description, observation, rating, refusal)
        return second.place

    async def _last_word(
        self, description: str, observation: Observation, rating: Rating, refusal: NotFound
    ) -> Place:
        """The place that the planner's model picks, where there is one that can.

        Raises:
            NotFound: the refusal: there is none, or it picks none.
            BudgetExceeded: from the model.
        """
        if self._picker is None:
            raise refusal
        try:
            return await self._picker.pick(description, observation, rating)
        except (NotFound, ModelUnavailable) as error:
            raise refusal from error

    def _alone(self, description: str, rating: Rating, error: ModelUnavailable | NotFound) -> Place:
        """The elements' own answer, where there is no other.

        Raises:
            ModelUnavailable: they have none, and the model cannot be asked.
            NotFound: they have none, and the picture is not for the model.
        """
        self._tell(description, self._seer.name, "unavailable", detail=str(error))
        if rating.place is not None:
            return rating.place
        if isinstance(error, ModelUnavailable):
            said = f"{rating.refusal}; and the grounding model cannot be asked: {error}"
            raise ModelUnavailable(said, fix=error.fix) from error
        raise NotFound(f"{rating.refusal}; {error}", rating.candidates) from error

    def _refusal(
        self, description: str, rating: Rating, answers: Sequence[_Answer], more: str = ""
    ) -> NotFound:
        """Returns what tells the planner every place that was thought of."""
        told = tuple(dict.fromkeys(text for each in answers if (text := _pointed(each))))
        known = rating.candidates
        said = "; ".join(told) or f"no point: {answers[-1].why}"
        closest = f"; the elements know {'; '.join(known[:3])}" if known else ""
        reason = f"not sure where {description[:200]!r} is: {self._seer.name} sees {said}{closest}"
        more += "" if rating.complete else f"; {PARTIAL}"
        advice = ". Describe it otherwise, or click the one that you mean by its coordinates"
        return NotFound(f"{reason}{more}{advice}", (*told, *known))

    def _tell_answer(
        self,
        description: str,
        answer: _Answer,
        verdict: GroundingVerdict,
        *,
        closer: Part | None = None,
    ) -> None:
        self._tell(
            description, self._seer.name, "no_point" if answer.place is None else verdict,
            place=answer.place, score=answer.standing.chance if answer.standing else None,
            seconds=answer.seconds, detail=str(answer.why or ""),
            part=answer.part, closer=closer,
        )  # fmt: skip

    def _tell(
        self,
        description: str,
        by: str,
        verdict: GroundingVerdict,
        *,
        place: Place | None = None,
        score: float | None = None,
        seconds: float = 0.0,
        detail: str = "",
        part: Part | None = None,
        closer: Part | None = None,
    ) -> None:
        self._emit(
            GroundingTried(
                description=description,
                by=by,
                verdict=verdict,
                score=score,
                **step_at(place),
                detail=detail,
                part=part.corners if part else None,
                closer=closer.corners if closer else None,
                seconds=seconds,
            )
        )


def _holds(box: BoundingBox, point: Point | None) -> bool:
    return point is not None and box.contains(point)


def _verdict(rating: Rating, first: _Answer, second: _Answer) -> GroundingVerdict:
    """Judge the answer to a closer look."""
    if second.agreed:
        return "agreed"
    one, other, standing = first.point, second.point, second.standing
    if one is None or other is None or standing is None or standing.contradicts:
        return "doubted"
    return "repeated" if rating.same(one, other) else "doubted"


def _pointed(answer: _Answer) -> str:
    if answer.place is None:
        return ""
    x, y = answer.place.point.rounded()
    return f"{answer.place.label or 'a point'} at ({x}, {y})"
