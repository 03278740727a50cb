"""Trains the ranker of the elements grounder on the training screens of the grounding bench.

    python scripts/train_ranker.py --of tree --check  # its worth on unseen applications
    python scripts/train_ranker.py --of tree   # writes ranker.json and sureness.json
    python scripts/train_ranker.py --of seen   # ranker_seen.json, sureness_seen.json: no tree

Needs ``pip install lightgbm``; running the grounder does not. The held-out split is never read.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from composed_descriptions import COMPOSED, compose_descriptions

from hisa.grounder.spots import spot_in
from hisa.plugins.benchmarks.bench.grounding.published_suites import open_grounding_suite
from hisa.plugins.benchmarks.bench.grounding.targets import Target
from hisa.plugins.matching.description import read_description
from hisa.plugins.matching.elements import names_a_part
from hisa.plugins.matching.scene import Scene
from hisa.plugins.matching.screen_text import read_elements
from hisa.plugins.reading.ranker import Trees, build_columns, clip_features, parse_trees, preselect
from hisa.plugins.reading.scene_table import Floats, Ints, Table
from hisa.plugins.reading.sureness import build_evidence, chances_of, rank_places
from hisa.screen.geometry import Point
from hisa.screen.observation import DEFAULT_IMAGE_LIMIT, Element, Observation
from hisa.screen.ocr import read_text
from hisa.screen.sight import see_elements

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "hisa" / "plugins" / "reading"
FILES = {
    "tree": ("ranker.json", "sureness.json"),
    "seen": ("ranker_seen.json", "sureness_seen.json"),
}
"""Where elements are reported by the machine, and where they are seen on the picture."""
SETTINGS: dict[str, Any] = {
    "learning_rate": 0.06,
    "num_leaves": 8,
    "min_data_in_leaf": 20,
    "min_sum_hessian_in_leaf": 0.5,
    "feature_fraction": 0.4,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambda_l2": 5.0,
    "seed": 7,
    "deterministic": True,
    "num_threads": 1,
    "verbose": -1,
}
"""Chosen by leaving applications out; results change little around them."""
ROUNDS = 200
START = -3.0
"""The score of a thing before the first tree: of forty, that none is meant is as likely as any."""
JUDGE: dict[str, Any] = {
    **SETTINGS,
    "objective": "binary",
    "learning_rate": 0.05,
    "num_leaves": 6,
    "min_data_in_leaf": 25,
    "min_sum_hessian_in_leaf": 1e-3,
}
JUDGE_ROUNDS = 120
SEEN_KIND = "seen: "
"""Begins the kind of a target on a screen whose elements were seen on the picture."""
WRONG = (0.01, 0.02, 0.03, 0.04, 0.05)
"""Shares of wrong clicks for which a check says what is right."""
LEAST = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)


@dataclass(frozen=True)
class Example:
    """A description before its screen: the things worth scoring."""

    target: Target
    matrix: Floats
    """Their features."""
    box: Floats
    """Where a click means each."""
    at: Floats
    """Where each would be clicked."""
    right: Floats
    """Whether a click there is right."""
    targets: Floats
    """Which of those are the thing itself, not one that only holds or hides it."""
    preselected: Floats
    """Which of those the grounder would score; what is meant is learned from in any case."""


def main() -> None:
    """Train, or check."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--of", choices=FILES, required=True, help="the elements on the screens")
    options.add_argument("--check", action="store_true", help="leave each application out once")
    options.add_argument("--cache", type=Path, help="folder to keep the features in")
    options.add_argument("--suite", type=Path, default=ROOT / "benchmarks" / "grounding")
    chosen = options.parse_args()
    names, examples = prepare(chosen.suite, chosen.cache)
    seen = chosen.of == "seen"
    if not seen:  # what is seen teaches nothing of trees; trees teach words, places and looks
        examples = [e for e in examples if not _is_seen(e)]
    if chosen.check:
        check(names, examples, seen=seen)
        return
    ranker, sureness = (FOLDER / name for name in FILES[chosen.of])
    trees = fit(names, examples)
    ranker.write_text(export_trees(names, trees, START), "utf-8")
    rankers = _rankers(names, examples, {frozenset({fold}) for fold in _folds(examples)})
    judged = [e for e in examples if _is_seen(e) is seen]
    ranked = [_rank_target(names, e, rankers[frozenset({_fold(e.target)})]) for e in judged]
    sureness.write_text(_judge(ranked), "utf-8")
    print(f"{ranker}: {len(trees)} trees from {len(examples)} descriptions; {sureness}")


# ---------------------------------------------------------------- features


def prepare(suite: Path, cache: Path | None) -> tuple[list[str], list[Example]]:
    """The names of the features, and the examples of the training split."""
    chosen = [t for t in open_grounding_suite(suite).targets if t.screen.split == "train"]
    screens = sorted({target.screen.name for target in chosen}, key=_hash_name)
    groups = [[t for t in chosen if t.screen.name == name] for name in screens]
    names: list[str] = []
    examples: list[Example] = []
    with ProcessPoolExecutor() as pool:
        for known, of_screen in pool.map(_prepare_screen, groups, [cache] * len(groups)):
            names = known
            examples += of_screen
    return names, examples


def _hash_name(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def _prepare_screen(
    targets: Sequence[Target], cache: Path | None
) -> tuple[list[str], list[Example]]:
    """The examples of one screen."""
    file = cache / f"{targets[0].screen.name}.pickle" if cache else None
    if file is not None and file.is_file():
        known: tuple[list[str], list[Example]] = pickle.loads(file.read_bytes())
        return known
    prepared = _examples(targets)
    if file is not None:
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_bytes(pickle.dumps(prepared))
    return prepared


def _examples(targets: Sequence[Target]) -> tuple[list[str], list[Example]]:
    """Returns the examples of a screen, composed ones, and all of them without the tree."""
    look = targets[0].screen.look(DEFAULT_IMAGE_LIMIT)
    plain = Table(Scene(look))
    queries = [query for target in targets for query in read_description(target.description)]
    read = read_elements(queries, look, read_text)
    lists = {p: Table(Scene(look, read, parts=p, shapes=True)) for p in (False, True)}
    without_tree = see_elements(replace(look, elements=None))
    seen = {p: Table(Scene(without_tree, read, parts=p, shapes=True)) for p in (False, True)}
    examples = [(t, lists[names_a_part(t.description)]) for t in targets]
    examples += [(t, plain) for t in compose_descriptions(targets[0].screen, plain)]
    examples += [
        (replace(t, kind=f"{SEEN_KIND}{t.kind}"), seen[names_a_part(t.description)])
        for t, _ in tuple(examples)
    ]
    present = [target for target in targets if target.region is not None]
    examples += _remove_targets(present, without_tree, read)
    featured = [
        (t, table, build_columns(read_description(t.description), table)) for t, table in examples
    ]
    return list(featured[0][2]), [
        _example(target, table, columns) for target, table, columns in featured if table.things
    ]


def _remove_targets(
    targets: Sequence[Target], look: Observation, read: tuple[Element, ...]
) -> list[tuple[Target, Table]]:
    """Returns the targets as absent from a look on which they were not seen.

    Nothing is meant there, though the look shows all that stands around the thing.
    """
    removed = []
    for target in targets:
        elements, lines = (
            tuple(e for e in shown if not _is_right(target, spot_in(e, e.box)))
            for shown in (look.elements or (), read)
        )
        parts = names_a_part(target.description)
        table = Table(Scene(replace(look, elements=elements), lines, parts=parts, shapes=True))
        if not any(_is_right(target, spot) for spot in _list_spots(table)):
            kind = f"{SEEN_KIND}removed {COMPOSED}"
            removed.append((replace(target, kind=kind, region=None), table))
    return removed


def _example(target: Target, table: Table, columns: dict[str, Floats]) -> Example:
    spots = _list_spots(table)
    at = np.array([(spot.x, spot.y) for spot in spots])
    right = np.array([_is_right(target, spot) for spot in spots], dtype=float)
    targets = _select_targets(target, table, right)
    pool = preselect(columns)
    rows = np.union1d(pool, np.flatnonzero(targets)).astype(int)
    matrix = np.stack([column[rows] for column in columns.values()], axis=1)
    preselected = np.isin(rows, pool).astype(float)
    return Example(
        target,
        clip_features(matrix),
        table.reach[rows],
        at[rows],
        right[rows],
        targets[rows],
        preselected,
    )


def _list_spots(table: Table) -> list[Point]:
    """Returns where the things would be clicked, in the order of the table."""
    inner = map(table.scene.inner, table.things)
    return [spot_in(thing.element, thing.box) for thing in inner]


def _is_right(target: Target, spot: Point) -> bool:
    x, y = float(np.floor(spot.x)), float(np.floor(spot.y))
    return target.region is not None and target.region.holds(Point(x, y, "screen"))


def _select_targets(target: Target, table: Table, right: Floats) -> Floats:
    """Of the things whose click is right, those in front that share most of the box."""
    if target.region is None or not right.any():
        return right
    box = target.region.box
    wide = np.minimum(table.box[:, 2], box.right) - np.maximum(table.box[:, 0], box.left)
    high = np.minimum(table.box[:, 3], box.bottom) - np.maximum(table.box[:, 1], box.top)
    common = np.maximum(wide, 0) * np.maximum(high, 0)
    share = right * common / (table.width * table.height + box.area - common)
    share *= np.where(table.front > 0.6, 1.0, 1e-6)
    return np.asarray((share >= 0.5 * share.max()) & (right > 0), dtype=float)


# ---------------------------------------------------------------- training


def fit(names: Sequence[str], examples: Sequence[Example]) -> list[dict[str, Any]]:
    """The trees, as LightGBM describes them."""
    import lightgbm

    groups = np.concatenate([np.full(len(e.matrix), row) for row, e in enumerate(examples)])
    targets = np.concatenate([e.targets for e in examples])
    data = lightgbm.Dataset(
        np.concatenate([e.matrix for e in examples]),
        targets,
        init_score=np.full(len(targets), START),
        feature_name=list(names),
    )
    settings = {**SETTINGS, "objective": _likelihood(groups, targets, len(examples))}
    trees: list[dict[str, Any]] = lightgbm.train(settings, data, ROUNDS).dump_model()["tree_info"]
    return trees


def _likelihood(groups: Ints, targets: Floats, count: int) -> Callable[..., tuple[Floats, Floats]]:
    """Gradients of the likelihood that a thing meant is drawn, where "none" scores 0.

    The things of a description follow one another, and each has at least one.
    """
    starts = np.searchsorted(groups, np.arange(count))

    def gradients(score: Floats, _: object) -> tuple[Floats, Floats]:
        most = np.maximum(np.maximum.reduceat(score, starts), 0.0)
        weight = np.exp(score - most[groups])
        total = np.add.reduceat(weight, starts) + np.exp(-most)
        chance = weight / total[groups]
        target_weight = np.add.reduceat(weight * targets, starts)
        share = np.where(targets > 0, weight / np.maximum(target_weight[groups], 1e-12), 0.0)
        return chance - share, np.maximum(chance * (1 - chance), 1e-3)

    return gradients


def _judge(ranked: Sequence[RankedTarget]) -> str:
    """The text of ``sureness.json``: trees that tell the hits of a ranker from its misses."""
    import lightgbm

    names = list(ranked[0].outcome)
    data = lightgbm.Dataset(
        np.array([list(t.outcome.values()) for t in ranked]),
        np.array([t.right for t in ranked], dtype=float),
        feature_name=[name.replace(" ", "_") for name in names],
    )
    trees = lightgbm.train(JUDGE, data, JUDGE_ROUNDS).dump_model()["tree_info"]
    return export_trees(names, trees, 0.0)


def export_trees(names: Sequence[str], trees: Sequence[dict[str, Any]], start: float) -> str:
    """The text of a file of trees: only features that some tree asks for."""
    rows = [_flat(tree["tree_structure"]) for tree in trees]
    used = sorted({f for row in rows for f in row["feature"] if f >= 0})
    place = {feature: index for index, feature in enumerate(used)}
    for row in rows:
        row["feature"] = [place.get(f, 0) for f in row["feature"]]
    content = {
        "features": [names[f] for f in used],
        "start": start,
        "depth": max(row.pop("depth") for row in rows),
        "trees": rows,
    }
    head = json.dumps({**content, "trees": []})[: -len("]}")]
    return head + "\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]}\n"


def _flat(structure: dict[str, Any]) -> dict[str, Any]:
    """A tree as lists by node; a leaf leads to itself."""
    flat: dict[str, Any] = {k: [] for k in ("feature", "threshold", "left", "right", "value")}

    def add(node: dict[str, Any]) -> tuple[int, int]:
        place = len(flat["feature"])
        leaf = "leaf_value" in node
        flat["feature"].append(-1 if leaf else node["split_feature"])
        flat["threshold"].append(0.0 if leaf else float(f"{node['threshold']:.6g}"))
        flat["value"].append(float(f"{node['leaf_value']:.5g}") if leaf else 0.0)
        flat["left"].append(place)
        flat["right"].append(place)
        if leaf:
            return place, 0
        flat["left"][place], low = add(node["left_child"])
        flat["right"][place], high = add(node["right_child"])
        return place, 1 + max(low, high)

    flat["depth"] = add(structure)[1]
    return flat


# ---------------------------------------------------------------- checking


@dataclass(frozen=True)
class RankedTarget:
    """What a ranker made of a description whose application it had not seen."""

    kind: str
    outcome: dict[str, float]
    right: bool
    is_present: bool


def check(names: Sequence[str], examples: Sequence[Example], *, seen: bool) -> None:
    """Leave each application out once, and say how well the rest knows its things.

    Args:
        names: of the features.
        examples: all that rankers learn from.
        seen: whether the figures are of elements that were seen, or reported.

    The judge of an application learned from outcomes on the others, each by a ranker that knew
    neither: a ranker for every two.
    """
    rated: list[tuple[RankedTarget, float]] = []
    folds = _folds(examples)
    rankers = _rankers(names, examples, {frozenset({a, b}) for a in folds for b in folds})
    for fold in folds:
        judged = [e for e in examples if _is_seen(e) is seen]
        others = [e for e in judged if _fold(e.target) != fold]
        mine = [e for e in judged if _fold(e.target) == fold and not _is_composed(e)]
        learned = [
            _rank_target(names, e, rankers[frozenset({fold, _fold(e.target)})]) for e in others
        ]
        judge = parse_trees(json.loads(_judge(learned)))
        ranked = [_rank_target(names, e, rankers[frozenset({fold})]) for e in mine]
        rated += [(t, judge.rate_outcome(t.outcome)) for t in ranked]
    _print_shares(rated)


def _print_shares(rated: Sequence[tuple[RankedTarget, float]]) -> None:
    present = [(t, sure) for t, sure in rated if t.is_present]
    absent = [sure for t, sure in rated if not t.is_present]
    first = sum(t.right for t, _ in present) / len(present)
    print(
        f"{len(present)} things present, {len(absent)} absent; the likeliest is right {first:.1%}"
    )
    levels = {f"{share:.0%} wrong": _level(present, share) for share in WRONG}
    for name, least in levels.items():
        print(f"at {name}: {_shares(present, absent, least)}")
    for least in LEAST:
        print(f"from {least}: {_shares(present, absent, least)}")
    level = levels[f"{WRONG[-2 if present[0][0].kind.startswith(SEEN_KIND) else 1]:.0%} wrong"]
    for kind in sorted({t.kind for t, _ in present}):
        mine = [(t, sure) for t, sure in present if t.kind == kind]
        top = sum(t.right for t, _ in mine) / len(mine)
        print(f"{kind} ({len(mine)}): likeliest {top:.1%}, {_shares(mine, absent, level)}")


def _shares(
    present: Sequence[tuple[RankedTarget, float]], absent: Sequence[float], least: float
) -> str:
    right = sum(t.right for t, sure in present if sure >= least) / len(present)
    wrong = sum(not t.right for t, sure in present if sure >= least) / len(present)
    refused = sum(sure < least for sure in absent) / len(absent)
    return f"from {least:.2f} right {right:.1%}, wrong {wrong:.1%}, absent refused {refused:.1%}"


def _level(present: Sequence[tuple[RankedTarget, float]], share: float) -> float:
    """The least sureness from which no more than a share is wrong."""
    level, wrong = 1.0, 0
    for target, sure in sorted(present, key=lambda pair: -pair[1]):
        wrong += not target.right
        if wrong > share * len(present):
            break
        level = sure
    return level


def _rankers(
    names: Sequence[str], examples: Sequence[Example], unknown: set[frozenset[str]]
) -> dict[frozenset[str], Trees]:
    """A ranker for each set of folds, which does not know them."""
    sets = sorted(unknown, key=sorted)
    with ProcessPoolExecutor(initializer=_share, initargs=(names, examples)) as pool:
        return dict(zip(sets, pool.map(_without, sets), strict=True))


_shared: tuple[Sequence[str], Sequence[Example]] = ((), ())
"""What the processes of a pool work on, handed over once."""


def _share(names: Sequence[str], examples: Sequence[Example]) -> None:
    global _shared
    _shared = (names, examples)


def _without(folds: frozenset[str]) -> Trees:
    names, examples = _shared
    others = [e for e in examples if _fold(e.target) not in folds]
    return parse_trees(json.loads(export_trees(names, fit(names, others), START)))


def _rank_target(names: Sequence[str], example: Example, trees: Trees) -> RankedTarget:
    used = [list(names).index(name) for name in trees.names]
    score = trees.scores(example.matrix[:, used].astype(float))
    order = np.argsort(-score, kind="stable")
    order = order[example.preselected[order] > 0]  # what is not preselected is not scored in a run
    own = chances_of(score[order])
    best = rank_places(own, example.at[order], example.box[order])
    columns = dict(zip(names, example.matrix[order].T, strict=True))
    outcome = build_evidence(columns, score[order], own, best)
    right = bool(example.right[order[best.rows[0]]])
    target = example.target
    return RankedTarget(target.kind, outcome, right, target.region is not None)


def _is_seen(example: Example) -> bool:
    return example.target.kind.startswith(SEEN_KIND)


def _is_composed(example: Example) -> bool:
    return example.target.kind.endswith(COMPOSED)


def _folds(examples: Sequence[Example]) -> list[str]:
    return sorted({_fold(e.target) for e in examples})


def _fold(target: Target) -> str:
    """The fold that an application is in: no application is in two."""
    kind, _, _ = target.screen.app.partition(":")
    if kind in ("libreoffice-calc", "mousepad"):
        return kind
    half = int(_hash_name(target.screen.app)[:4], 16)
    return (
        f"page {half % 3}" if kind in ("chromium", "chrome", "miniwob") else f"program {half % 2}"
    )


if __name__ == "__main__":
    main()
