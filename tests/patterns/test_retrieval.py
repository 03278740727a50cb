"""Thresholds on both sides: similarity for recall, number of hits, similarity of lessons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from hisa.config import PatternSettings
from hisa.patterns.dedup import remember
from hisa.patterns.retrieval import retrieve
from hisa.patterns.stores.edge import EdgeStore
from hisa.protocols import PatternHit, Scope, Task
from tests.patterns.conformance import at, pattern

TASK = Task("t", "task", domain="calc")


class Angles:
    """A text that ends in a number lies at that angle; any other at 0."""

    name = "angles"
    dimension = 4

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        return [at(float(text.rsplit(" ", 1)[-1]) if " " in text else 0.0) for text in texts]


def degrees(cosine: float) -> float:
    return math.degrees(math.acos(cosine))


def recall(folder: Path, **settings: float) -> tuple[PatternHit, ...]:
    chosen = PatternSettings.model_validate(settings)
    return retrieve(EdgeStore(folder, Angles()), Angles(), TASK, settings=chosen)


@pytest.mark.parametrize("scope", ["family", "page"])
@pytest.mark.parametrize(("cosine", "expected_count"), [(0.51, 1), (0.49, 0)])
def test_similarity_decides_on_both_sides_of_one_half(
    tmp_path: Path, scope: Scope, cosine: float, expected_count: int
) -> None:
    entry = pattern(scope=scope, condition=f"kind {degrees(cosine)}")
    EdgeStore(tmp_path, Angles()).put(entry, at(degrees(cosine)))
    assert len(recall(tmp_path)) == expected_count
    assert len(recall(tmp_path, threshold=cosine - 0.01)) == 1
    assert len(recall(tmp_path, threshold=cosine + 0.01)) == 0


def test_a_clause_recalls_the_nearest_lessons_of_the_application_alone(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path, Angles())
    for name, angle in (("near", 20), ("as near", 20), ("far", 40)):
        store.put(pattern(name, lesson=name, scope="application"), at(angle))
    assert {hit.pattern.id for hit in recall(tmp_path)} == {"near", "as near"}


@pytest.mark.parametrize("order", [1, -1])
def test_a_lesson_of_one_kind_never_supersedes_one_of_the_other(tmp_path: Path, order: int) -> None:
    store = EdgeStore(tmp_path, Angles())
    entries = [
        pattern("success", kind="success", lesson="it works 0"),
        pattern("failure", kind="failure", lesson="it fails 0"),
    ]
    for entry in entries[::order]:
        remember(store, [entry], embedder=Angles(), threshold=0.7)
    assert {entry.id for entry in store.list()} == {"success", "failure"}


@pytest.mark.parametrize(
    ("family", "wide", "expected"),
    [
        (5, 0, (5, 0)),
        (6, 0, (5, 0)),
        (4, 0, (4, 0)),
        (5, 1, (4, 1)),
        (5, 3, (3, 2)),
        (3, 3, (3, 2)),
        (1, 5, (1, 4)),
        (0, 6, (0, 5)),
    ],
)
def test_five_are_recalled_nearest_first(
    tmp_path: Path, family: int, wide: int, expected: tuple[int, int]
) -> None:
    store = EdgeStore(tmp_path, Angles())
    rows = [(pattern(f"f{n}", condition=f"kind {n}"), [at(n)]) for n in range(family)]
    rows += [(pattern(f"w{n}", scope="application"), [at(50)]) for n in range(wide)]
    store.put_all(rows)
    hits = recall(tmp_path)
    ids = [hit.pattern.id for hit in hits]
    assert ids[: expected[0]] == [f"f{n}" for n in range(expected[0])]
    assert [name[0] for name in ids[expected[0] :]] == ["w"] * expected[1]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.parametrize(("cosine", "status"), [(0.71, "superseded"), (0.69, "active")])
def test_lessons_supersede_on_one_side_of_their_threshold(
    tmp_path: Path, cosine: float, status: str
) -> None:
    store = EdgeStore(tmp_path, Angles())
    for name, angle in (("old", 0.0), ("new", degrees(cosine))):
        entry = pattern(name, lesson=f"{name} lesson {angle}", condition=f"{name} kind 10")
        remember(store, [entry], embedder=Angles(), threshold=0.7)
    old = store.get("old")
    assert old is not None
    assert old.status == status


def test_counts_of_all_that_was_superseded_are_added_up(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path, Angles())
    older = [
        pattern("a", lesson="a lesson 0", uses=5, scored=4, wins=3),
        pattern("b", lesson="b lesson 1", uses=3, scored=2, wins=1),
    ]
    remember(store, older, embedder=Angles(), threshold=0.7)
    (stored,) = remember(
        store, [pattern("c", lesson="c lesson 2")], embedder=Angles(), threshold=0.7
    )
    assert [old.id for old in stored.superseded] == ["b", "a"]
    assert (stored.pattern.uses, stored.pattern.scored, stored.pattern.wins) == (8, 6, 4)
