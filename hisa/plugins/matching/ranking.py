"""Says which thing of a screen is meant: by a package's ranker, else by the scores set by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

from hisa.grounder.announced_parts import load_parts
from hisa.machine.plugins import blaming_package
from hisa.plugins.matching.base import Ranker
from hisa.plugins.matching.choice_doubts import drop_doubtful
from hisa.plugins.matching.description import Query
from hisa.plugins.matching.pick import (
    BEHIND,
    READINGS,
    Candidate,
    Choice,
    by_hand_choice,
    counts_rows,
    fits_but_blocked,
    is_blocked,
    scores,
)
from hisa.plugins.matching.scene import Scene

__all__ = ["SURE", "chances", "choose_thing", "refusal"]

SURE = 0.9
"""How sure a place is that what is drawn and written on the picture does not better; chosen by
hand."""
_SHARPNESS = 8
"""The power of a score by hand that is a weight: 0.9 is four times as likely as 0.75."""
_MOST = 0.9
"""The chance of what scores 1 by hand and has no rival; the rest is that nothing is meant."""


def choose_thing(queries: tuple[Query, ...], scene: Scene, min_score: float) -> Choice:
    """See `Ranker`: ``choose``.

    Raises:
        PluginFailed: from a package, which it names.
    """
    with _ranker() as ranker:
        return drop_doubtful(queries[-1], ranker.choose(queries, scene, min_score), scene)


def chances(queries: tuple[Query, ...], scene: Scene) -> Sequence[float]:
    """See `Ranker`: ``chances``.

    Raises:
        PluginFailed: from a package, which it names.
    """
    with _ranker() as ranker:
        return ranker.chances(queries, scene)


@contextmanager
def _ranker() -> Iterator[Ranker]:
    rankers = [(point, part) for point, part in load_parts() if isinstance(part, Ranker)]
    point, ranker = rankers[-1] if rankers else (None, _ByHand())
    with blaming_package("lists", point) if point else nullcontext():
        yield ranker


class _ByHand:
    """Goes by the scores set by hand alone."""

    def choose(self, queries: tuple[Query, ...], scene: Scene, min_score: float) -> Choice:
        by_hand = by_hand_choice(queries, scene)
        chosen = by_hand.chosen
        if chosen is None or is_blocked(queries[-1], chosen.thing):
            return refusal(queries, scene, by_hand, by_hand.others)
        if chosen.score >= min_score or counts_rows(queries[-1]):
            return by_hand
        return refusal(queries, scene, by_hand, by_hand.others)

    def chances(self, queries: tuple[Query, ...], scene: Scene) -> list[float]:
        readings = (queries[-1], *queries[:-1][:READINGS])
        by_reading = [scores(query, scene) for query in readings]
        best = [min(1.0, max(score)) for score in zip(*by_reading, strict=True)]
        weights = [score**_SHARPNESS for score in best]
        share = _MOST * max(best, default=0.0) / (sum(weights) or 1.0)
        return [share * weight for weight in weights]


def refusal(
    queries: tuple[Query, ...], scene: Scene, by_hand: Choice, others: tuple[Candidate, ...]
) -> Choice:
    """A choice of nothing: several fit, what fits is blocked, or nothing fits well enough.

    Args:
        queries: the readings of the description, the usual one last.
        scene: what is on the screen.
        by_hand: the choice by the scores set by hand.
        others: the closest, best first.
    """
    if by_hand.ambiguous:
        return by_hand
    if fits_but_blocked(queries[-1], scene):
        return Choice(None, f"what fits is {BEHIND}", others, blocked=True)
    reason = "nothing fits well enough" if by_hand.chosen else by_hand.reason
    return Choice(None, reason, others)
