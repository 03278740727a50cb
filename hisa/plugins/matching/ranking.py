"""Chooses the thing that is meant, by a package's ranker or else by hand-set scores."""

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
"""Score from which shapes and text on the picture would not give a better place; chosen by hand."""
_SHARPNESS = 8
"""Exponent that turns a hand-set score into a weight: 0.9 is four times as likely as 0.75."""
_MOST = 0.9
"""The chance of a thing with score 1 and no rival; the rest is that no thing is meant."""


def choose_thing(queries: tuple[Query, ...], scene: Scene, min_score: float) -> Choice:
    """Returns the thing that is meant, unless it is doubtful; see `Ranker.choose`.

    Args:
        queries: the readings of the description, the usual one last.
        scene: the things on the screen.
        min_score: least score of the thing, 0 to 1.

    Raises:
        PluginFailed: from a package's ranker; the message names the package.
    """
    with _ranker() as ranker:
        return drop_doubtful(queries[-1], ranker.choose(queries, scene, min_score), scene)


def chances(queries: tuple[Query, ...], scene: Scene) -> Sequence[float]:
    """Returns the chance that each thing is meant; see `Ranker.chances`.

    Raises:
        PluginFailed: from a package's ranker; the message names the package.
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
    """The ranker that uses only the hand-set scores."""

    def choose(self, queries: tuple[Query, ...], scene: Scene, min_score: float) -> Choice:
        """See `Ranker`; ``queries`` in a ``scene`` need ``min_score``, unless they count rows."""
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
    """Returns a choice of nothing: several fit, what fits is blocked, or nothing fits well enough.

    Args:
        queries: the readings of the description, the usual one last.
        scene: the things on the screen.
        by_hand: the choice by the hand-set scores.
        others: the closest, best first.
    """
    if by_hand.ambiguous:
        return by_hand
    if fits_but_blocked(queries[-1], scene):
        return Choice(None, f"what fits is {BEHIND}", others, blocked=True)
    reason = "nothing fits well enough" if by_hand.chosen else by_hand.reason
    return Choice(None, reason, others)
