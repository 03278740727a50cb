"""What every pattern store must do: subclass `StoreConformance` and say how to open one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from hisa.errors import StoreError
from hisa.patterns.stores.vector_store import VectorStore
from hisa.protocols import Embedder, Pattern
from hisa.testing.word_embedder import WordEmbedder

__all__ = ["Open", "StoreConformance", "pattern"]

Open = Callable[[Embedder], VectorStore]
"""Opens the same store again and again, as any embedder."""


def pattern(pattern_id: str = "a1", **fields: object) -> Pattern:
    base = Pattern(id=pattern_id, domain="calc", kind="success", lesson=f"lesson of {pattern_id}")
    return replace(base, **fields)  # type: ignore[arg-type]


def at(degrees: float) -> list[float]:
    """A unit vector; cosines between two of them follow from the angle."""
    angle = math.radians(degrees)
    return [math.cos(angle), math.sin(angle), 0.0, 0.0]


class StoreConformance:
    """The suite; a subclass gives the fixture ``opener``."""

    @pytest.fixture
    def opener(self) -> Open:
        raise AssertionError("the subclass says how its store is opened")

    @pytest.fixture
    def embedder(self) -> WordEmbedder:
        return WordEmbedder("words", 4)

    @pytest.fixture
    def store(self, opener: Open, embedder: WordEmbedder) -> VectorStore:
        return opener(embedder)

    def test_never_written_reads_as_empty(self, store: VectorStore) -> None:
        assert store.meta() is None
        assert store.list(status=None) == []
        assert store.get("a1") is None
        assert store.search(at(0), domain=None, limit=5, threshold=-1.0) == []
        store.delete("a1")
        store.amend(pattern())
        assert store.list(status=None) == []

    def test_put_keeps_every_field(self, store: VectorStore) -> None:
        full = Pattern(
            id="3f2a",
            domain="text_editor",
            kind="failure",
            lesson="Ünïcode 日本語 🙂 'quoted' \"text\"",
            condition="c",
            actions="a; b",
            expected="e",
            source_run="run-1",
            embedder="words",
            created_at=1234.5678,
            uses=3,
            wins=2,
            status="superseded",
            superseded_by="b2",
            scope="page",
            other_conditions=("d", "e"),
            scored=2,
            confirmed=4,
        )
        store.put(full, at(10))
        assert store.get("3f2a") == full
        assert store.list(status=None) == [full]

    def test_put_replaces_by_id(self, store: VectorStore) -> None:
        store.put(pattern("a1", lesson="old"), at(0))
        store.put(pattern("a1", lesson="new"), at(90))
        assert [entry.lesson for entry in store.list()] == ["new"]
        (hit,) = store.search(at(90), domain="calc", limit=5, threshold=0.9)
        assert hit.pattern.lesson == "new"

    def test_search_orders_by_cosine_and_cuts_at_limit_and_threshold(
        self, store: VectorStore
    ) -> None:
        for degrees in (80, 20, 50, 0, 59):
            store.put(pattern(f"p{degrees}"), at(degrees))
        hits = store.search(at(0), domain="calc", limit=10, threshold=0.5)
        assert [hit.pattern.id for hit in hits] == ["p0", "p20", "p50", "p59"]
        assert [hit.score for hit in hits] == pytest.approx(
            [math.cos(math.radians(d)) for d in (0, 20, 50, 59)], abs=1e-5
        )
        near = store.search(at(0), domain="calc", limit=2, threshold=0.5)
        assert [hit.pattern.id for hit in near] == ["p0", "p20"]

    def test_search_sees_one_domain_or_all(self, store: VectorStore) -> None:
        store.put(pattern("a1", domain="calc"), at(0))
        store.put(pattern("b1", domain="writer"), at(1))
        hits = store.search(at(0), domain="writer", limit=5, threshold=0.0)
        assert [hit.pattern.id for hit in hits] == ["b1"]
        assert len(store.search(at(0), domain=None, limit=5, threshold=0.0)) == 2
        assert store.search(at(0), domain="nowhere", limit=5, threshold=-1.0) == []

    @pytest.mark.parametrize("status", ["superseded", "removed"])
    def test_search_and_list_leave_out_inactive_patterns(
        self, store: VectorStore, status: str
    ) -> None:
        store.put(pattern("a1", status=status), at(0))
        store.put(pattern("b1"), at(1))
        assert [h.pattern.id for h in store.search(at(0), domain=None, limit=5, threshold=0)] == [
            "b1"
        ]
        assert [entry.id for entry in store.list()] == ["b1"]
        assert [entry.id for entry in store.list(status=status)] == ["a1"]
        assert len(store.list(status=None)) == 2

    def test_list_is_newest_first_by_domain(self, store: VectorStore) -> None:
        for number in range(3):
            store.put(pattern(f"p{number}", created_at=float(number)), at(number))
        store.put(pattern("other", domain="writer", created_at=9.0), at(5))
        assert [entry.id for entry in store.list()] == ["other", "p2", "p1", "p0"]
        assert [entry.id for entry in store.list(domain="calc")] == ["p2", "p1", "p0"]

    def test_amend_keeps_the_vector(self, store: VectorStore) -> None:
        store.put(pattern("a1"), at(30))
        store.amend(pattern("a1", uses=4))
        store.amend(pattern("never stored"))
        (hit,) = store.search(at(30), domain="calc", limit=5, threshold=0.99)
        assert hit.pattern.uses == 4
        assert store.get("never stored") is None

    def test_delete_is_for_good_and_again_is_harmless(self, store: VectorStore) -> None:
        store.put(pattern("a1"), at(0))
        store.delete("a1")
        store.delete("a1")
        assert store.get("a1") is None
        assert store.list(status=None) == []

    def test_a_vector_of_another_length_is_refused(self, store: VectorStore) -> None:
        store.put(pattern("a1"), at(0))
        with pytest.raises(StoreError, match="3 numbers; this store holds 4"):
            store.put(pattern("b1"), [1.0, 0.0, 0.0])
        with pytest.raises(StoreError, match="holds 4"):
            store.search([1.0], domain=None, limit=1, threshold=0.0)
        assert [entry.id for entry in store.list()] == ["a1"]

    def test_content_outlives_the_store_object_that_wrote_it(
        self, opener: Open, embedder: WordEmbedder
    ) -> None:
        first = opener(embedder)
        first.put(pattern("a1"), at(0))
        assert [entry.id for entry in opener(embedder).list()] == ["a1"]

    def test_another_embedder_is_refused_with_the_command_that_helps(
        self, opener: Open, embedder: WordEmbedder
    ) -> None:
        opener(embedder).put(pattern("a1"), at(0))
        other = opener(WordEmbedder("others", 8))
        with pytest.raises(StoreError, match="'words', not 'others'") as caught:
            other.list()
        assert "patterns.embedder=words patterns export" in caught.value.fix
        with pytest.raises(StoreError, match="'words', not 'others'"):
            other.put(pattern("b1"), [1.0] + [0.0] * 7)

    def test_the_nearest_of_several_vectors_counts(self, store: VectorStore) -> None:
        store.put(pattern("a1"), at(0), at(90))
        store.put(pattern("b1"), at(60))
        hits = store.search(at(85), domain="calc", limit=5, threshold=0.0)
        assert [hit.pattern.id for hit in hits] == ["a1", "b1"]
        assert [hit.score for hit in hits] == pytest.approx(
            [math.cos(math.radians(d)) for d in (5, 25)], abs=1e-5
        )
        store.amend(pattern("a1", uses=1))
        assert store.search(at(0), domain="calc", limit=1, threshold=0.99)[0].pattern.uses == 1
        with pytest.raises(StoreError, match="never be found"):
            store.put(pattern("c1"))

    def test_a_session_may_be_nested(self, store: VectorStore) -> None:
        with store.session(), store.session():
            store.put(pattern("a1"), at(0))
            assert len(store.list()) == 1
        assert len(store.list()) == 1

    def test_many_patterns_are_stored_together_or_not_at_all(self, store: VectorStore) -> None:
        store.put_all([(pattern(f"p{i}"), [at(i / 10)]) for i in range(1200)])
        assert len(store.list()) == 1200
        with pytest.raises(StoreError, match="holds 4"):
            store.put_all([(pattern("new"), [at(0)]), (pattern("bad"), [[1.0]])])
        assert store.get("new") is None
