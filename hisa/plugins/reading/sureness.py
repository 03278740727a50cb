"""Says how sure the likeliest place on the screen is, by all that speaks for it and its rivals.

The chances of the things on one screen answer which is meant; whether to click at all is another
question, and is answered by trees of its own, which learned from the ranker's hits and misses on
applications that it had not seen. `scripts/train_ranker.py` makes them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hisa.plugins.reading.scene_table import Floats, Ints

__all__ = ["SHOWN", "RankedPlaces", "build_evidence", "chances_of", "rank_places"]

SHOWN = 12
"""The likeliest things whose place is compared with the others'."""
_WORTH = 0.1
"""The share of the likeliest thing's own chance from which a thing has the chance of what holds it
too: the arrow of a spin button lies in its box, and is not what is meant by that. Chosen by leaving
applications out."""
_OF_BEST = (
    *("own", "own_meant", "own_head", "own_share", "head_share", "told", "label", "name"),
    *("name_quoted", "quote_own", "quote_found", "value", "value_asked", "does", "covered"),
    *("known_words", "role", "role_in", "role_head", "drawn", "read", "seen", "related"),
    *("related_least", "relations_lost", "old", "old_gap", "picked", "twins", "nth_asked"),
    *("extreme_asked", "colour_asked", "numbers", "also", "purpose", "purpose_asked"),
    *("is_text", "is_part", "is_holder"),
)
"""Features of the thing at the likeliest place."""
_AHEAD = ("own", "name", "covered", "role", "old", "related", "quote_own", "label")
"""Features of which its lead over the next place counts too,"""
_MOST = ("own_meant", "name", "quote_own", "role_in", "purpose")
"""and the most that any thing has of these."""
_LIKELY = 0.05
"""The chance of a place that counts as a rival; one of a fifth of the best's chance does too."""


@dataclass(frozen=True)
class RankedPlaces:
    """The likeliest things: their rows, and the chance that a click on each meets what is meant."""

    rows: tuple[int, ...]
    chances: tuple[float, ...]
    apart: tuple[int, ...]
    """The indices in ``rows`` of those that lie apart from all likelier ones; the first is 0."""


def chances_of(score: Floats) -> Floats:
    """The chance of each thing by its score; the rest is that none of them is meant."""
    weight = np.exp(np.minimum(score, 50.0))
    return np.asarray(weight / (1.0 + weight.sum()))


def rank_places(own: Floats, at: Floats, reach: Floats) -> RankedPlaces:
    """The likeliest things, the one whose click most likely meets what is meant first.

    Args:
        own: the chance of each thing, the likeliest first.
        at: where each would be clicked.
        reach: where a click means each; a cell holds its button's place.
    """
    hits = [
        (reach[:, 0] <= x) & (x < reach[:, 2]) & (reach[:, 1] <= y) & (y < reach[:, 3])
        for x, y in at[:SHOWN]
    ]
    chances = [
        (min(1.0, float(own[hit].sum())) if mine >= _WORTH * own[0] else float(mine), float(mine))
        for hit, mine in zip(hits, own, strict=False)
    ]
    rows = sorted(range(len(chances)), key=lambda row: (-chances[row][0], -chances[row][1], row))
    apart: list[int] = []
    for index, row in enumerate(rows):
        if not any(hits[row][rows[k]] or hits[rows[k]][row] for k in apart):
            apart.append(index)
    return RankedPlaces(tuple(rows), tuple(chances[row][0] for row in rows), tuple(apart))


def build_evidence(
    by_name: Mapping[str, Floats], score: Floats, own: Floats, best: RankedPlaces
) -> dict[str, float]:
    """The evidence for a click on the likeliest place and against it, by name.

    Args:
        by_name: features of the things that were scored, the likeliest first.
        score: what the ranker's trees gave each.
        own: the chance of each.
        best: the places.
    """
    top = best.rows[0]
    rivals = [best.chances[index] for index in best.apart]
    first, second, third = (*rivals, 0.0, 0.0)[:3]
    after = best.rows[best.apart[1]] if len(best.apart) > 1 else top
    result = {
        "chance": _odds(first),
        "chance_own": _odds(float(own[top])),
        "margin": math.log(max(first, 1e-6) / max(second, 1e-6)),
        "next": _odds(second),
        "third": third,
        "any": float(own.sum()),
        "rivals": float(sum(chance > _LIKELY for chance in rivals)),
        "rivals_near": float(sum(chance > 0.2 * first for chance in rivals)),
        "score": float(score[top]),
        "score_next": float(np.sort(score)[-2]) if len(score) > 1 else -9.0,
        "agrees": _agrees(by_name["picked"], best),
    }
    result |= {f"best {name}": float(by_name[name][top]) for name in _OF_BEST}
    result |= {f"ahead {name}": float(by_name[name][top] - by_name[name][after]) for name in _AHEAD}
    return result | {f"most {name}": float(by_name[name].max()) for name in _MOST}


def _odds(chance: float) -> float:
    return math.log(max(chance, 1e-6) / max(1.0 - chance, 1e-6))


def _agrees(picked: Floats, best: RankedPlaces) -> float:
    """1 where the weights set by hand choose the same thing, -1 another one, 0 none."""
    chosen: Ints = np.flatnonzero(picked > 0.5)
    if not len(chosen):
        return 0.0
    return 1.0 if int(chosen[0]) == best.rows[0] else -1.0
