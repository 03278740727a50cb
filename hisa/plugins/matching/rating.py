"""The elements' rating of a description: its place, and the chance of each thing on the screen."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from hisa.errors import NotFound
from hisa.events import GroundingTried, GroundingVerdict
from hisa.grounder.common import build_tried_event
from hisa.grounder.spots import spot_in
from hisa.grounder.thing import Thing, describe_element
from hisa.plugins.matching.description import Query, read_description
from hisa.plugins.matching.elements import names_a_part
from hisa.plugins.matching.pick import BEHIND, is_blocked
from hisa.plugins.matching.ranking import chances
from hisa.plugins.matching.scene import Scene
from hisa.plugins.matching.screen_text import read_elements
from hisa.protocols import Place
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.observation import Element, Observation
from hisa.screen.ocr import OcrUnavailable, ReadText
from hisa.screen.roles import CONTAINERS

__all__ = ["RatedThing", "Rating", "rate_screen"]

# Chosen on the training screens of benchmarks/grounding, by chances learned from others of them.
_SURE = 0.98
"""Least score at which a place is taken without asking a model."""
_LIKELY = 0.02
"""Least chance of a thing that a closer look should show."""
_SAME = 12
"""Most image pixels between two points that mean the same place."""
_PIXEL = 1
"""Image pixels of tolerance, since places are rounded to whole pixels."""
_TALL = 60
"""Image pixels; two points on one thing of at most this height mean the same place."""
_HOLDERS = CONTAINERS | {"document web", "document spreadsheet", "document text", "landmark"}
"""Roles of containers: a point on one of these alone is a point on nothing known."""


@dataclass(frozen=True)
class RatedThing:
    """A thing on the screen, its box in image space, and the chance that it is meant."""

    box: BoundingBox
    chance: float
    label: str
    thing: Thing
    holds: bool = False
    """Whether it is a container."""
    blocked: bool = False
    """Whether a dialog or menu in front blocks it."""

    def is_where(self, other: RatedThing) -> bool:
        """Whether a click on either thing is also a click on the other."""
        return self._meets(other.point) and other._meets(self.point)

    @property
    def point(self) -> Point:
        """The point to click, in image space."""
        return spot_in(self.thing.element, self.box)

    def _meets(self, point: Point) -> bool:
        box = self.box
        across = box.left - _PIXEL <= point.x < box.right + _PIXEL
        return across and box.top - _PIXEL <= point.y < box.bottom + _PIXEL


@dataclass(frozen=True)
class Rating:
    """The elements' rating of one description; ``place`` or ``refusal`` is their own answer."""

    place: Place | None
    refusal: NotFound | None
    things: tuple[RatedThing, ...]
    complete: bool
    """Whether no element is missing."""

    @property
    def is_sure(self) -> bool:
        """Whether no model needs to be asked."""
        place = self.place
        if place is None or place.source != "accessibility" or not self.complete:
            return False
        return (place.score or 0.0) >= _SURE

    def event(self, description: str, *, sure: bool, seconds: float) -> GroundingTried:
        """Returns the event of the elements' answer, for the log.

        Args:
            description: of the target.
            sure: whether the elements' place is taken.
            seconds: that the elements took.
        """
        place = self.place
        score, detail = place.score if place else None, str(self.refusal or "")
        verdict: GroundingVerdict = "sure" if sure else "unsure"
        return build_tried_event(
            description, "elements", verdict, place, score=score, detail=detail, seconds=seconds
        )

    @property
    def candidates(self) -> tuple[str, ...]:
        """The elements' own answer, or the closest things, in words."""
        if self.place is None:
            return self.refusal.candidates if self.refusal else ()
        return ("{} at ({}, {})".format(self.place.label, *self.place.point.to_pixels()),)

    @cached_property
    def likely(self) -> list[RatedThing]:
        """The things that may be meant, containers left out, the likeliest first."""
        things = [thing for thing in self.things if thing.chance >= _LIKELY and not thing.holds]
        return sorted(things, key=lambda thing: -thing.chance)

    def label_at(self, point: Point) -> str:
        """Returns the words for the thing at a point of the picture; empty if none is known."""
        thing = self.thing_at(point)
        return thing.label if thing else ""

    def is_same_place(self, first: Point, second: Point) -> bool:
        """Whether two points, in image space, mean the same place."""
        if math.dist((first.x, first.y), (second.x, second.y)) <= _SAME:
            return True
        thing = self.thing_at(first)
        return thing is not None and thing.box.height <= _TALL and thing is self.thing_at(second)

    def thing_at(self, point: Point) -> RatedThing | None:
        """Returns the smallest thing at a point of the picture that is not a container."""
        things = (thing for thing in self.things if not thing.holds and thing.box.contains(point))
        return min(things, key=lambda thing: thing.box.area, default=None)


def rate_screen(
    description: str, observation: Observation, answer: Place | NotFound, read: ReadText
) -> Rating:
    """Rates everything on a screen; takes milliseconds, and longer if text must be read.

    Args:
        description: of the target.
        observation: the look.
        answer: of the elements grounder.
        read: reads the text on the picture; not called if the answer is sure.
    """
    place = answer if isinstance(answer, Place) else None
    alone = Rating(
        place, answer if isinstance(answer, NotFound) else None, (), observation.complete
    )
    if alone.is_sure:
        return alone
    queries = read_description(description)
    lines: tuple[Element, ...] = ()
    with suppress(OcrUnavailable):  # then the rest is rated without read text
        lines = read_elements(queries, observation, read)
    return replace(alone, things=_things(queries, description, observation, lines))


def _things(
    queries: tuple[Query, ...],
    description: str,
    observation: Observation,
    read: tuple[Element, ...],
) -> tuple[RatedThing, ...]:
    scene = Scene(observation, read, parts=names_a_part(description), shapes=True)
    return tuple(
        _build_rated(thing, chance, observation, blocked=is_blocked(queries[-1], thing))
        for thing, chance in zip(scene.things, chances(queries, scene), strict=True)
    )


def _build_rated(
    thing: Thing, chance: float, observation: Observation, *, blocked: bool
) -> RatedThing:
    """Returns a thing with its chance, which is 0 if it is blocked."""
    box, label = observation.convert_box(thing.box, "image"), describe_element(thing.element)
    holds = thing.role in _HOLDERS and not thing.is_made_control
    if blocked:
        chance, label = 0.0, f"{label}, {BEHIND}"
    return RatedThing(box, chance, label, thing, holds, blocked)
