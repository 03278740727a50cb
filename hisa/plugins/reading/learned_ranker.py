"""Ranks things by what was learned from screens: ``learned`` of the group ``hisa.lists``."""

from __future__ import annotations

from hisa.plugins.matching.description import Query
from hisa.plugins.matching.pick import (
    Candidate,
    Choice,
    by_hand_choice,
    counts_rows,
    distinct_best,
    is_blocked,
)
from hisa.plugins.matching.ranking import refusal
from hisa.plugins.matching.scene import Scene

__all__ = ["LEARNED"]

_JUST_SO = 0.99
"""What a thing must score by the weights set by hand to be called just as described: of such, 97 of
100 are right on the training screens."""


class LearnedRanker:
    """Goes by the trees of `hisa.plugins.reading.ranker`."""

    def choose(self, queries: tuple[Query, ...], scene: Scene, min_score: float) -> Choice:
        """Returns the thing that is meant; see `hisa.plugins.matching.base.Ranker`.

        Args:
            queries: the readings of the description, the usual one last.
            scene: the things on the screen.
            min_score: least chance of the thing, 0 to 1.
        """
        by_hand = by_hand_choice(queries, scene)
        chosen = by_hand.chosen
        if chosen is not None and _is_plain(queries[-1], chosen):
            return by_hand
        return _choose_by_trees(queries, scene, min_score, by_hand)

    def chances(self, queries: tuple[Query, ...], scene: Scene) -> list[float]:
        """See `hisa.plugins.matching.base.Ranker`."""
        from hisa.plugins.reading.ranker import chances  # loads numpy, for which no start waits
        from hisa.plugins.reading.scene_table import Table

        rows, own = chances(queries, Table(scene))
        known = dict(zip(rows.tolist(), own.tolist(), strict=True))
        return [known.get(row, 0.0) for row in range(len(scene.things))]


LEARNED = LearnedRanker()


def _choose_by_trees(
    queries: tuple[Query, ...], scene: Scene, min_score: float, by_hand: Choice
) -> Choice:
    from hisa.plugins.reading.ranker import rank
    from hisa.plugins.reading.scene_table import Table

    ranked = rank(queries, Table(scene))
    candidates = [Candidate(entry.thing, entry.chance) for entry in ranked]
    likely = bool(candidates) and ranked[0].sure >= min_score and not by_hand.too_few
    if likely and not is_blocked(queries[-1], candidates[0].thing):
        best = Candidate(candidates[0].thing, ranked[0].sure)
        return Choice(best, others=tuple(distinct_best(candidates)[:5]))
    # How alike a name is, is told by the weights set by hand, whatever the chances.
    others = tuple(distinct_best((*candidates, *by_hand.others))[:5])
    return refusal(queries, scene, by_hand, others)


def _is_plain(query: Query, chosen: Candidate) -> bool:
    """Whether a thing is called just so, or counted among rows, of which some are no things."""
    return chosen.score >= _JUST_SO or counts_rows(query)
