"""Says how likely each thing on the screen is the one described, by what was learned from screens.

The trees of ``ranker.json``, or of ``ranker_seen.json`` where elements were seen on the picture,
give each thing a score from its features; scores become chances that
sum to less than one, the rest being that nothing on the screen is meant. `scripts/train_ranker.py`
makes the file.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from hisa.grounder.spots import spot_in
from hisa.grounder.thing import Thing
from hisa.plugins.matching.description import Query
from hisa.plugins.matching.pick import READINGS, by_hand_choice, scores
from hisa.plugins.matching.scene import Scene
from hisa.plugins.reading.features import Evidence, build_features
from hisa.plugins.reading.relational import build_relational
from hisa.plugins.reading.scene_table import Floats, Ints, Table
from hisa.plugins.reading.sureness import SHOWN, build_evidence, chances_of, rank_places

__all__ = [
    "RankedThing",
    "Trees",
    "build_columns",
    "chances",
    "clip_features",
    "load_judge",
    "load_trees",
    "parse_trees",
    "preselect",
    "rank",
]

_POOL = 80
"""Things that are scored by the trees, of a thousand; the rest have hardly a word in common."""
_RELATIVE = (
    *("own", "own_meant", "told", "name", "name_label", "does", "line", "inside", "close"),
    *("covered", "related", "role", "role_head", "colour", "off_screen", "off_window", "size"),
    *("front", "purpose", "whole", "whole_base", "mention_cross"),
)
"""Features of which the distance from the best on the screen is a feature too."""


@dataclass(frozen=True)
class RankedThing:
    """A thing, the chance that it is meant, and the chance that a click on it meets what is."""

    thing: Thing
    own: float
    chance: float
    sure: float = 0.0
    """How surely a click on it is right if anything is, 0..1; known of the likeliest place only."""


@dataclass(frozen=True)
class Trees:
    """Regression trees side by side, a row each; leaves point to themselves."""

    names: tuple[str, ...]
    start: float
    feature: Ints
    threshold: Floats
    left: Ints
    right: Ints
    value: Floats
    depth: int

    def scores(self, matrix: Floats) -> Floats:
        """The sum of all trees for each row of features."""
        count, trees = len(matrix), len(self.feature)
        rows, tree = np.arange(count)[:, None], np.arange(trees)[None, :]
        node = np.zeros((count, trees), dtype=int)
        for _ in range(self.depth):
            lower = matrix[rows, self.feature[tree, node]] <= self.threshold[tree, node]
            node = np.where(lower, self.left[tree, node], self.right[tree, node])
        return np.asarray(self.start + self.value[tree, node].sum(axis=1))

    def rate_outcome(self, evidence: dict[str, float]) -> float:
        """The sureness of an outcome by trees that learned from outcomes, 0..1."""
        row = np.array([[evidence[name] for name in self.names]])
        return 1.0 / (1.0 + math.exp(-float(self.scores(row)[0])))


@lru_cache(maxsize=2)
def load_trees(*, seen: bool = False) -> Trees:
    """The trees that tell things apart, reported or ``seen``, as HiSA ships them."""
    return _load_shipped("ranker_seen.json" if seen else "ranker.json")


@lru_cache(maxsize=2)
def load_judge(*, seen: bool = False) -> Trees:
    """The trees that tell whether the likeliest thing is right, as HiSA ships them."""
    return _load_shipped("sureness_seen.json" if seen else "sureness.json")


def _load_shipped(name: str) -> Trees:
    return parse_trees(json.loads((files("hisa.plugins.reading") / name).read_text("utf-8")))


def parse_trees(content: dict[str, Any]) -> Trees:
    """The trees of a file's content."""
    rows = content["trees"]
    size = max(len(row["value"]) for row in rows)

    def table(key: str, kind: type) -> Any:
        return np.array([row[key] + [0] * (size - len(row[key])) for row in rows], dtype=kind)

    return Trees(
        tuple(content["features"]),
        content["start"],
        table("feature", int),
        table("threshold", float),
        table("left", int),
        table("right", int),
        table("value", float),
        content["depth"],
    )


def build_columns(queries: tuple[Query, ...], table: Table) -> dict[str, Floats]:
    """All features by name, a number for each thing.

    Args:
        queries: the readings of one description.
        table: the things on the screen.
    """
    evidence = Evidence(queries, table)
    by_name = build_features(evidence, _hand_features(queries, table.scene)) | build_relational(
        evidence
    )
    for name in _RELATIVE:
        by_name[f"{name}_gap"] = by_name[name] - by_name[name].max(initial=-np.inf)
    return by_name


def _hand_features(queries: tuple[Query, ...], scene: Scene) -> dict[str, Floats]:
    """Scores by the weights set by hand, and their choice."""
    by_name: dict[str, Floats] = {}
    for name, readings in (("old", queries[-1:]), ("old_literal", queries[:-1][:READINGS])):
        score = np.zeros(len(scene.things))
        for query in readings:
            score = np.maximum(score, scores(query, scene))
        by_name |= {name: score, f"{name}_gap": score - score.max(initial=0.0)}
    chosen = by_hand_choice(queries, scene).chosen
    picked = [float(chosen is not None and thing is chosen.thing) for thing in scene.things]
    return by_name | {"picked": np.array(picked)}


def clip_features(matrix: Floats) -> Floats:
    """Features without infinite ones."""
    return np.clip(np.nan_to_num(matrix, posinf=0.0, neginf=0.0), -10.0, 20.0)


def preselect(by_name: dict[str, Floats]) -> Ints:
    """The rows worth scoring: those that anything speaks for; chosen by hand."""
    rough = by_name["old"] + by_name["own"] + by_name["name"] + by_name["name_label"]
    rough = rough + by_name["whole"] / max(float(by_name["whole"].max(initial=0.0)), 1e-9)
    for name in ("old_literal", "covered", "role", "related"):
        rough = rough + 0.5 * by_name[name]
    for name in (
        "quote_own",
        "nth_down",
        "nth_across",
        "extreme",
        "stands_out",
        "colour",
        "purpose",
    ):
        rough = rough + 0.3 * by_name[name]
    return np.asarray(np.argsort(-rough, kind="stable")[:_POOL], dtype=int)


def rank(queries: tuple[Query, ...], table: Table) -> tuple[RankedThing, ...]:
    """The things that may be meant, the likeliest place first."""
    scored = _score_things(queries, table)
    if scored is None:
        return ()
    things = [table.scene.inner(table.things[row]) for row in scored.rows[:SHOWN]]
    at = np.array([(p.x, p.y) for p in (spot_in(thing.element, thing.box) for thing in things)])
    best = rank_places(scored.own, at, table.reach[scored.rows])
    evidence = build_evidence(scored.by_name, scored.score, scored.own, best)
    sure = load_judge(seen=table.is_seen).rate_outcome(evidence)
    return tuple(
        RankedThing(
            things[row], float(scored.own[row]), chance, sure if row == best.rows[0] else 0.0
        )
        for row, chance in zip(best.rows, best.chances, strict=True)
    )


def chances(queries: tuple[Query, ...], table: Table) -> tuple[Ints, Floats]:
    """The rows of things that may be meant, the likeliest first, and the chance of each."""
    scored = _score_things(queries, table)
    if scored is None:
        return np.zeros(0, dtype=int), np.zeros(0)
    return scored.rows, scored.own


@dataclass(frozen=True)
class _ScoredThings:
    """The things worth scoring, the likeliest first: rows, features, scores and chances."""

    rows: Ints
    by_name: dict[str, Floats]
    score: Floats
    own: Floats


def _score_things(queries: tuple[Query, ...], table: Table) -> _ScoredThings | None:
    if not table.things:
        return None
    trees = load_trees(seen=table.is_seen)
    every = build_columns(queries, table)
    rows = preselect(every)
    matrix = clip_features(np.stack([column[rows] for column in every.values()]))
    by_name = dict(zip(every, matrix, strict=True))
    score = trees.scores(np.stack([by_name[name] for name in trees.names], axis=1))
    order = np.argsort(-score, kind="stable")
    by_name = {name: column[order] for name, column in by_name.items()}
    return _ScoredThings(rows[order], by_name, score[order], chances_of(score[order]))
