"""What the elements say of a description: where it is, and what any one point has to do with it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hisa.errors import NotFound
from hisa.grounder.description import Query, read_description
from hisa.grounder.elements import names_a_part
from hisa.grounder.evidence import role_factor
from hisa.grounder.pick import rate
from hisa.grounder.scene import Scene, Thing
from hisa.grounder.screen_text import read_elements
from hisa.protocols import Place
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.observation import Element, Observation
from hisa.screen.ocr import OcrUnavailable, ReadText
from hisa.screen.roles import CONTAINERS

__all__ = ["Rated", "Rating", "Standing", "rated"]

# Chosen on the training screens of benchmarks/grounding.
_SURE = 0.95
"""What a place must score to be taken unasked."""
_CLEAR = 0.15
"""How far everything else must then be behind."""
_FITS = 0.5
"""What a thing must score to bear out a point on it,"""
_BEHIND = 0.3
"""and how far it may then be behind something elsewhere."""
_FAIR = 0.35
"""The same of what is about the best on the screen."""
_ABOUT = 0.05
_STRONG = 0.75
"""What a thing elsewhere must score to speak against a point that nothing else is known of."""
_SAME = 12
"""Image pixels between two points that mean one place."""
_TALL = 60
"""Image pixels; two points on a thing that is no taller mean one place."""
_OF_KIND = 0.95
"""What a role must fit the word for it to be of that kind."""
_HOLDERS = CONTAINERS | {"document web", "document spreadsheet", "document text", "landmark"}
"""Roles of what other things lie on: a point on one alone is a point on nothing known."""


@dataclass(frozen=True)
class Rated:
    """A thing on the screen, its box in image space, and how well it fits."""

    box: BoundingBox
    score: float
    label: str
    holds: bool = False
    """Others lie on it."""
    other: bool = False
    """It has a name, and is of another kind than what is described."""


@dataclass(frozen=True)
class Standing:
    """What is known of one point."""

    score: float
    """Of what fits best of the things there."""
    rival: float
    """Of what fits best elsewhere."""
    label: str
    """What lies there; empty where nothing is known to."""
    other: bool
    """It is known to be something else."""

    @property
    def agrees(self) -> bool:
        """Whether what lies there bears the point out."""
        fits = self.score >= _FITS and self.score >= self.rival - _BEHIND
        return fits or (self.score >= _FAIR and self.score >= self.rival - _ABOUT)

    @property
    def contradicts(self) -> bool:
        """Whether the elements would rather have another place."""
        return self.other or self.rival >= _STRONG


@dataclass(frozen=True)
class Rating:
    """What the elements say of one description; ``place`` or ``refusal`` is their own answer."""

    place: Place | None
    refusal: NotFound | None
    things: tuple[Rated, ...]
    complete: bool
    """Whether no element is missing."""

    @property
    def is_sure(self) -> bool:
        """Whether no model need be asked."""
        place = self.place
        if place is None or place.source != "accessibility" or not self.complete:
            return False
        score = place.score or 0.0
        return score >= _SURE and score - self.at(place.point).rival >= _CLEAR

    @property
    def candidates(self) -> tuple[str, ...]:
        """The elements' own answer, else what comes closest, in words."""
        if self.place is None:
            return self.refusal.candidates if self.refusal else ()
        return ("{} at ({}, {})".format(self.place.label, *self.place.point.rounded()),)

    @property
    def best(self) -> list[Rated]:
        """The things that fit fairly well, best first."""
        fair = [thing for thing in self.things if thing.score >= _FAIR and not thing.holds]
        return sorted(fair, key=lambda thing: -thing.score)

    def at(self, point: Point) -> Standing:
        """What is known of a point of the picture."""
        there = [thing for thing in self.things if thing.box.contains(point)]
        score = max((thing.score for thing in there), default=0.0)
        rival = max((t.score for t in self.things if not t.box.contains(point)), default=0.0)
        lies = self._lies_at(point)
        return Standing(score, rival, lies.label if lies else "", lies.other if lies else False)

    def same(self, one: Point, other: Point) -> bool:
        """Whether two points mean one place."""
        if math.dist((one.x, one.y), (other.x, other.y)) <= _SAME:
            return True
        thing = self._lies_at(one)
        return thing is not None and thing.box.height <= _TALL and thing is self._lies_at(other)

    def _lies_at(self, point: Point) -> Rated | None:
        there = (thing for thing in self.things if not thing.holds and thing.box.contains(point))
        return min(there, key=lambda thing: thing.box.area, default=None)


def rated(
    description: str, observation: Observation, found: Place | NotFound, read: ReadText
) -> Rating:
    """Rate everything on a screen; takes milliseconds, and as long as reading where that is due.

    Args:
        description: what is looked for.
        observation: the screen.
        found: the answer of the elements grounder.
        read: reads the text on the picture, unless that answer is sure without.
    """
    place = found if isinstance(found, Place) else None
    refusal = found if isinstance(found, NotFound) else None
    queries = read_description(description)
    sure = Rating(
        place, refusal, _things(queries, description, observation, ()), observation.complete
    )
    if sure.is_sure:
        return sure
    try:
        lines = read_elements(queries, observation, read)
    except OcrUnavailable:  # what is known without has been rated
        return sure
    things = _things(queries, description, observation, lines, shapes=True)
    return Rating(place, refusal, things, sure.complete)


def _things(
    queries: tuple[Query, ...],
    description: str,
    observation: Observation,
    read: tuple[Element, ...],
    *,
    shapes: bool = False,
) -> tuple[Rated, ...]:
    scene = Scene(observation, read, parts=names_a_part(description), shapes=shapes)
    query = queries[-1]
    scores = {id(candidate.thing): candidate.score for candidate in rate(query, scene)}
    return tuple(
        _rated(thing, scores.get(id(thing), 0.0), query, observation) for thing in scene.things
    )


def _rated(thing: Thing, score: float, query: Query, observation: Observation) -> Rated:
    element = thing.element
    name = " ".join((element.name or element.text or element.description).split())[:60]
    unlike = not thing.is_bare and role_factor(query.kind, thing) < _OF_KIND
    box = observation.convert_box(thing.box, "image")
    return Rated(box, score, f'{element.role} "{name}"', thing.role in _HOLDERS, unlike)
