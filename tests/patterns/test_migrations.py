"""Stores of the first schema are brought forward, with and without rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import QdrantClient, models

from hisa.patterns.stores.base import to_payload
from hisa.patterns.stores.edge import EdgeStore
from hisa.patterns.stores.migrations import MIGRATIONS, SCHEMA, migrate
from hisa.patterns.stores.qdrant_server import ServerStore
from hisa.testing.word_embedder import WordEmbedder
from tests.patterns.conformance import at, pattern
from tests.patterns.test_stores import LOCAL_MODE

WORDS = WordEmbedder("words", 4)


class Recorder:
    def __init__(self) -> None:
        self.fields: list[str] = []
        self.rewritten = 0

    def index_keyword(self, field: str, /) -> None:
        self.fields.append(field)

    def rewrite(self, change: Callable[[dict[str, Any]], dict[str, Any]], /) -> None:
        self.rewritten += 1


def test_only_what_is_missing_is_applied() -> None:
    recorder = Recorder()
    assert migrate(recorder, SCHEMA) == SCHEMA
    assert recorder.fields == []
    assert migrate(recorder, 0) == SCHEMA
    assert recorder.fields == ["domain", "status", "domain", "status", "scope"]
    assert recorder.rewritten == 1


def test_functions_are_numbered_in_order() -> None:
    assert [int(change.__name__.split("_")[1]) for change in MIGRATIONS] == list(
        range(1, SCHEMA + 1)
    )


def edge_at_schema_0(folder: Path, rows: int, schema: int = 0, **fields: object) -> None:
    """Points without indexes, as the first layout had them."""
    import qdrant_edge as edge

    (folder / "shard-1").mkdir(parents=True)
    vectors = edge.EdgeVectorParams(size=4, distance=edge.Distance.Cosine)
    shard = edge.EdgeShard.create(str(folder / "shard-1"), edge.EdgeConfig(vectors=vectors))
    from hisa.patterns.stores.base import point_id

    for number in range(rows):
        one = pattern(f"p{number}", **fields)
        point = edge.Point(point_id(one.id), at(number), to_payload(one))
        shard.update(edge.UpdateOperation.upsert_points([point]))
    shard.flush()
    shard.close()
    meta = {"schema": schema, "embedder": "words", "dimension": 4, "shard": "shard-1"}
    (folder / "meta.json").write_text(json.dumps(meta))


@pytest.mark.parametrize("rows", [0, 3])
def test_edge_goes_from_schema_0_to_now(tmp_path: Path, rows: int) -> None:
    edge_at_schema_0(tmp_path, rows)
    store = EdgeStore(tmp_path, WORDS)
    assert len(store.search(at(0), domain="calc", limit=9, threshold=0.0)) == rows
    meta = store.meta()
    assert meta is not None
    assert meta.schema == SCHEMA
    import qdrant_edge as edge

    assert [path.name for path in tmp_path.glob("shard-*")] == ["shard-2"]
    shard = edge.EdgeShard.load(str(tmp_path / "shard-2"))
    assert set(shard.info().payload_schema) == {"domain", "status", "scope"}
    shard.close()


def test_counts_of_runs_that_were_merely_advised_are_not_taken_over(tmp_path: Path) -> None:
    edge_at_schema_0(tmp_path, 2, schema=1, uses=9, wins=7, condition="Sort a list")
    store = EdgeStore(tmp_path, WORDS)
    assert {(one.uses, one.wins, one.condition) for one in store.list()} == {(0, 0, "Sort a list")}
    store.put(pattern("new"), at(1), at(2))
    assert len(EdgeStore(tmp_path, WORDS).list()) == 3
    assert store.check().problems == ()


@pytest.mark.filterwarnings(LOCAL_MODE)
@pytest.mark.parametrize("rows", [0, 3])
def test_server_goes_from_schema_0_to_now(rows: int) -> None:
    client = QdrantClient(":memory:")
    store = ServerStore(client, "p", embedder=WORDS)
    store.rebuild(((pattern(f"p{n}"), [at(n)]) for n in range(rows)), WORDS)
    client.set_payload(
        "p_v1",
        {"schema": 0},
        points=models.Filter(
            must=[models.IsEmptyCondition(is_empty=models.PayloadField(key="status"))]
        ),
    )
    before = store.meta()
    assert before is not None
    assert before.schema == 0
    assert len(store.search(at(0), domain="calc", limit=9, threshold=0.0)) == rows
    meta = store.meta()
    assert meta is not None
    assert meta.schema == SCHEMA
    client.close()
