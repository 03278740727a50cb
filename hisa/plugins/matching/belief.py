"""What to believe of where a thing is, once elements and models have spoken: Bayes' rule.

Before a model speaks, the chance of each thing is what the elements give it; what is left belongs
to things that they do not list and to there being no such thing. A model is right most of the time
and else may say anything that is on the screen; one that says what the elements find absurd mostly
is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hisa.grounder.trust import POINTS_RIGHT
from hisa.plugins.matching.rating import RatedThing, Rating
from hisa.screen.geometry import Point

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["MIN_CAREFUL_CHANCE", "MIN_CHANCE", "Belief"]

# Chosen on the training screens of benchmarks/grounding, by chances learned from others of them,
# with stand-ins for models that are right nine times of ten.
MIN_CHANCE = 0.5
"""The chance from which a place is taken that models named: right rather than not."""
MIN_CAREFUL_CHANCE = 0.9
"""The same of picks of a weaker model, whose mistakes are often the elements' own. Stand-ins of
0.8, half of whose wrong picks are the likeliest, click 3.0% wrong so, else 5.2%."""
_OF_ONE_MIND = 0.3
"""The chance that a second look of the same model only repeats the first."""
_ABSENT = 0.5
"""Of what no listed thing has: the part of there being no such thing,"""
_AT_POINT = 0.02
"""and, of the other part, what any one point on nothing listed may have."""
_ON_KNOWN = 0.2
"""How much less likely that is where something listed lies."""
_LEAST = 1e-4
"""No list is so good that it leaves less than this for what is not on it."""
_OTHERS = 50
"""Places on a screen that a wrong answer may mean."""


class Belief:
    """The chances of every place, as answers come in.

    Args:
        rating: what the elements say.
        points_right: the chance that the model which points does so rightly.
    """

    def __init__(self, rating: Rating, points_right: float = POINTS_RIGHT) -> None:
        import numpy as np

        self._points_right = points_right
        self._rating = rating
        self._things = [thing for thing in rating.things if thing.chance > 0]
        self._weight = np.array([thing.chance for thing in self._things], dtype=float)
        boxes = [(t.box.left, t.box.top, t.box.right, t.box.bottom) for t in self._things]
        self._box: NDArray[np.float64] = np.array(boxes, dtype=float).reshape(-1, 4)
        self._inside = self._centres_inside()
        left = max(_LEAST, 1.0 - float(self._weight.sum()))
        self._absent = left * _ABSENT
        self._elsewhere = left * (1.0 - _ABSENT)
        self._points: list[tuple[Point, float]] = []
        """Points of a model, and the weight of something unlisted there."""

    def hear_point(self, point: Point) -> None:
        """A model points here, in image space; asked again, it may only repeat itself."""
        before = self._points[-1][0] if self._points else None
        same = before is not None and self._rating.is_same_place(before, point)
        repeats = 0.0 if before is None else _OF_ONE_MIND
        stray = (1.0 - self._points_right) / _OTHERS

        def weigh_chance(chance: float) -> float:
            return repeats * same + (1.0 - repeats) * chance

        self._weight *= [
            weigh_chance(self._points_right / count if at else stray)
            for at, count in zip(self._at(point), self._inside, strict=True)
        ]
        self._absent *= weigh_chance(1.0 / _OTHERS)
        fresh = self._elsewhere * _AT_POINT * self._unlisted_at(point)
        self._elsewhere *= weigh_chance(stray)
        if same:
            known = [(at, weight * weigh_chance(self._points_right)) for at, weight in self._points]
            self._points = [*known[:-1], (point, known[-1][1])]
        else:
            known = [(at, weight * weigh_chance(stray)) for at, weight in self._points]
            self._points = [*known, (point, fresh * weigh_chance(self._points_right))]

    def hear_pick(self, listed: list[RatedThing], picked: RatedThing | None, right: float) -> None:
        """A model picks one of a list, or none of them; a text on a button means the button."""
        stray = (1.0 - right) / (len(listed) + 1)
        unlisted = stray if picked else right

        def weigh_thing(thing: RatedThing) -> float:
            if picked and thing.is_where(picked):
                return right
            return stray if any(thing.is_where(entry) for entry in listed) else unlisted

        self._weight *= [weigh_thing(thing) for thing in self._things]
        self._absent *= unlisted
        self._elsewhere *= unlisted

    def chance_of(self, thing: RatedThing) -> float:
        """Returns the chance that a thing is meant, or one at the same place."""
        at_place = [known.is_where(thing) for known in self._things]
        return float(self._weight[at_place].sum()) / self._total

    def chance_among(self, listed: Sequence[RatedThing], thing: RatedThing) -> float:
        """Returns the chance that a thing of a list is meant, were it certain that one of them is.

        The elements know by words whether something is there at all. Of what bears no words they
        know only how it lies, so that how little they expect it says nothing against it.
        """
        rows = [any(known_thing.is_where(row) for row in listed) for known_thing in self._things]
        known = float(self._weight[rows].sum())
        return self.chance_of(thing) * self._total / known if known else 0.0

    def chance_at(self, point: Point) -> float:
        """Returns the chance that a click here is right; the point is one that was heard."""
        unlisted = sum(weight for at, weight in self._points if at == point)
        return (float(self._weight[self._at(point)].sum()) + unlisted) / self._total

    @property
    def best_point(self) -> Point | None:
        """The likeliest of the points that were heard."""
        return max((at for at, _ in self._points), key=self.chance_at, default=None)

    @property
    def _total(self) -> float:
        points = sum(weight for _, weight in self._points)
        return float(self._weight.sum()) + points + self._absent + self._elsewhere

    def _unlisted_at(self, point: Point) -> float:
        """Returns the chance that what lies there is not listed, as a factor of 0..1."""
        thing = self._rating.thing_at(point)
        if thing is None:
            return 1.0
        return 0.0 if thing.blocked else _ON_KNOWN

    def _at(self, point: Point) -> NDArray[np.bool_]:
        left, top, right, bottom = self._box.T
        inside: NDArray[np.bool_] = (left <= point.x) & (point.x < right)
        inside &= (top <= point.y) & (point.y < bottom)
        return inside

    def _centres_inside(self) -> NDArray[np.float64]:
        """By thing, how many middles of things lie in it: a point there may mean any of them."""
        left, top, right, bottom = (edge[:, None] for edge in self._box.T)
        x, y = (left + right)[:, 0] / 2, (top + bottom)[:, 0] / 2
        inside = (left <= x) & (x < right) & (top <= y) & (y < bottom)
        count: NDArray[np.float64] = inside.sum(axis=1).clip(1).astype(float)
        return count
