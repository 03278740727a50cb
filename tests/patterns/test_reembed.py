"""New vectors for every pattern: all of them, or none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from hisa.cli.patterns import reembed
from hisa.errors import ModelUnavailable
from hisa.patterns.stores.edge import EdgeStore
from hisa.testing.word_embedder import WordEmbedder
from tests.patterns.conformance import pattern

WORDS = WordEmbedder()


class Gone(WordEmbedder):
    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        raise ModelUnavailable("gone")


def filled(folder: Path) -> EdgeStore:
    store = EdgeStore(folder, WORDS)
    rows = [
        pattern("a1", lesson="save the file", embedder="words", uses=2, scored=1, wins=1),
        pattern("b1", lesson="sort a list", embedder="words", domain="writer"),
        pattern("c1", embedder="words", status="superseded", superseded_by="a1"),
    ]
    store.rebuild([(row, WORDS.embed([row.lesson])) for row in rows], WORDS)
    return store


def test_an_embedder_that_breaks_midway_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    store = filled(tmp_path)
    before = store.list(status=None)
    with pytest.raises(ModelUnavailable):
        reembed(store, Gone("others"))
    assert store.list(status=None) == before
    assert [path.name for path in tmp_path.glob("shard-*")] == ["shard-1"]


def test_reembedding_lets_another_embedder_in(tmp_path: Path) -> None:
    filled(tmp_path)
    other = WordEmbedder("others", 64)
    store = EdgeStore(tmp_path, other)
    assert reembed(store, other) == 3
    assert {one.embedder for one in store.list(status=None)} == {"others"}
    (hit,) = store.search(other.embed(["save the file"])[0], domain="calc", limit=1, threshold=0.9)
    assert hit.pattern.uses == 2
