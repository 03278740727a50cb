"""Both engines keep the same promises.

The server engine runs against `qdrant_client`'s local mode, which answers the same calls in
process; no Qdrant server is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from qdrant_client import QdrantClient

from hisa.errors import StoreError
from hisa.patterns.stores.edge import EdgeStore
from hisa.patterns.stores.qdrant_server import ServerStore
from hisa.testing.word_embedder import WordEmbedder
from tests.patterns.conformance import Open, StoreConformance

LOCAL_MODE = "ignore:Payload indexes have no effect in the local Qdrant"


class TestEdge(StoreConformance):
    @pytest.fixture
    def opener(self, tmp_path: Path) -> Open:
        return lambda embedder: EdgeStore(tmp_path / "store", embedder)


@pytest.mark.filterwarnings(LOCAL_MODE)
class TestServer(StoreConformance):
    @pytest.fixture
    def client(self) -> Iterator[QdrantClient]:
        client = QdrantClient(":memory:")
        yield client
        client.close()

    @pytest.fixture
    def opener(self, client: QdrantClient) -> Open:
        return lambda embedder: ServerStore(client, "patterns", embedder=embedder)

    def test_collections_on_a_server_are_independent(self, client: QdrantClient) -> None:
        words = WordEmbedder("words", 4)
        first_store = ServerStore(client, "one", embedder=words)
        first_store.put_all([])
        assert ServerStore(client, "two", embedder=words).meta() is None
        assert first_store.meta() is not None


def test_a_server_that_is_not_there_is_named_with_a_way_out() -> None:
    store = ServerStore.connect("http://127.0.0.1:9", "p", embedder=WordEmbedder(), timeout=2)
    with pytest.raises(
        StoreError, match=r"Qdrant server http://127\.0\.0\.1:9: .*refused"
    ) as caught:
        store.list()
    assert "patterns.engine=edge" in caught.value.fix
    assert "patterns.url=" in caught.value.fix
    store.close()


def test_a_bad_address_is_named() -> None:
    with pytest.raises(StoreError, match=r"patterns\.url"):
        ServerStore.connect("http://127.0.0.1:port", "p", embedder=WordEmbedder())


@pytest.mark.filterwarnings(LOCAL_MODE)
def test_a_collection_of_someone_else_is_left_alone() -> None:
    from qdrant_client import models

    client = QdrantClient(":memory:")
    client.create_collection(
        "theirs", vectors_config=models.VectorParams(size=4, distance=models.Distance.COSINE)
    )
    alias = models.CreateAlias(collection_name="theirs", alias_name="p")
    client.update_collection_aliases([models.CreateAliasOperation(create_alias=alias)])
    with pytest.raises(StoreError, match="'p' was not made by HiSA"):
        ServerStore(client, "p", embedder=WordEmbedder()).list()
    client.close()
