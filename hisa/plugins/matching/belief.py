"""The chance of each place to be the target, from the elements and models' answers: Bayes' rule.

At first, the chance of each thing is the one by the elements. The rest is the chance that the
target is not listed, or that there is none. A model is right most of the time, and otherwise may
name any place on the screen; so if the elements find its answer absurd, it is mostly wrong.
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
"""Least chance of a place named by a model to be taken: more likely right than wrong."""
MIN_CAREFUL_CHANCE = 0.9
"""The same for picks of a weaker model, which often makes the same mistakes as the elements.
Stand-ins of 0.8, half of whose wrong picks are the likeliest thing, click 3.0% wrong with this
limit, 5.2% with the other."""
_OF_ONE_MIND = 0.3
"""The chance that a second answer of the same model only repeats the first."""
_ABSENT = 0.5
"""Share of the chance left by the listed things that there is no target."""
_AT_POINT = 0.02
"""Share of the other part (the target is not listed) for one point with no listed thing."""
_ON_KNOWN = 0.2
"""Factor of that if a listed thing is at the point."""
_LEAST = 1e-4
"""Least chance that the target is not on a list."""
_OTHERS = 50
"""Number of places on a screen that a wrong answer may mean."""


class Belief:
    """The chance of every place to be the target, updated with each answer of a model.

    Args:
        rating: the chances by the elements.
        points_right: the chance that a point of the model is right, 0 to 1.
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
        """Points of a model, each with the weight of an unlisted target there."""

    def hear_point(self, point: Point) -> None:
        """Updates the chances by a model's point, in image space; a second may repeat the first."""
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
        """Updates the chances by a model's pick; a text on a button means the button.

        Args:
            listed: the things that the model could pick from.
            picked: the one that it picked; None if it picked none.
            right: the chance that its picks are right, 0 to 1.
        """
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
        """Returns the chance that this thing is meant, or another one at the same place."""
        at_place = [known.is_where(thing) for known in self._things]
        return float(self._weight[at_place].sum()) / self._total

    def chance_among(self, listed: Sequence[RatedThing], thing: RatedThing) -> float:
        """Returns the chance that a thing of a list is meant, given that one of them is.

        The elements find by words whether the target is on the screen at all. About a thing without
        words they know only its place, so a low chance is no evidence against it.
        """
        rows = [any(known_thing.is_where(row) for row in listed) for known_thing in self._things]
        known = float(self._weight[rows].sum())
        return self.chance_of(thing) * self._total / known if known else 0.0

    def chance_at(self, point: Point) -> float:
        """Returns the chance that a click at a point is right, for a point of `hear_point`."""
        unlisted = sum(weight for at, weight in self._points if at == point)
        return (float(self._weight[self._at(point)].sum()) + unlisted) / self._total

    @property
    def best_point(self) -> Point | None:
        """The likeliest of the model's points."""
        return max((at for at, _ in self._points), key=self.chance_at, default=None)

    @property
    def _total(self) -> float:
        points = sum(weight for _, weight in self._points)
        return float(self._weight.sum()) + points + self._absent + self._elsewhere

    def _unlisted_at(self, point: Point) -> float:
        """Returns a factor, 0 to 1, for the chance that an unlisted target is at a point."""
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
        """Returns for each thing the number of things whose centre is in it: any may be meant."""
        left, top, right, bottom = (edge[:, None] for edge in self._box.T)
        x, y = (left + right)[:, 0] / 2, (top + bottom)[:, 0] / 2
        inside = (left <= x) & (x < right) & (top <= y) & (y < bottom)
        count: NDArray[np.float64] = inside.sum(axis=1).clip(1).astype(float)
        return count
