"""Patterns in a Qdrant server, through `qdrant_client`.

What a store records about itself (schema, embedder, dimension) is a point of its own without a
status, so no search or list finds it.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import islice
from typing import Any

from pydantic import TypeAdapter, ValidationError
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ApiException

from hisa.errors import StoreError
from hisa.patterns.stores.vector_store import SCHEMA, Item, Meta, VectorStore, point_id, to_payload
from hisa.protocols import Embedder, Pattern

__all__ = ["ServerStore"]

_PAGE = 256  # chosen by hand
_META_POINT = str(uuid.UUID(int=1))
_meta: TypeAdapter[Meta] = TypeAdapter(Meta)


def _filter(fields: dict[str, str | None]) -> models.Filter:
    return models.Filter(
        must=[
            models.FieldCondition(key=key, match=models.MatchValue(value=value))
            for key, value in fields.items()
            if value is not None
        ],
        must_not=[models.HasIdCondition(has_id=[_META_POINT])],
    )


class ServerStore(VectorStore):
    """A `VectorStore` in a Qdrant server.

    Args:
        client: the connection.
        collection: the collection's name, or an alias of it.
        embedder: the embedder whose vectors the store holds.
        url: the server's address, for error messages.
    """

    def __init__(
        self, client: QdrantClient, collection: str, *, embedder: Embedder, url: str = ""
    ) -> None:
        super().__init__(embedder, where=f"pattern store {collection!r}")
        self._client, self._name, self._url = client, collection, url

    @classmethod
    def connect(
        cls, url: str, collection: str, *, embedder: Embedder, timeout: int = 10
    ) -> ServerStore:
        """Returns the store at an address; sends the key in QDRANT_API_KEY if it is set.

        Args:
            url: the server's address.
            collection: the collection's name, or an alias of it.
            embedder: the embedder whose vectors the store holds.
            timeout: longest wait for a response, in seconds.

        Raises:
            StoreError: ``url`` is not an address.
        """
        key = os.environ.get("QDRANT_API_KEY") or None
        try:
            # The client's own check would warn from a thread, before the first request.
            client = QdrantClient(url=url, api_key=key, timeout=timeout, check_compatibility=False)
        except ValueError as error:
            raise StoreError(
                f"patterns.url = {url!r}: {error}", fix="--set patterns.url=http://127.0.0.1:6333"
            ) from error
        return cls(client, collection, embedder=embedder, url=url)

    @contextmanager
    def session(self) -> Iterator[None]:
        """Group several operations; a server opens nothing for it and locks nobody out."""
        try:
            yield
        except (ApiException, OSError) as error:
            raise StoreError(
                f"{self._where} on the Qdrant server {self._url}: {error}",
                fix="docker compose up -d qdrant, --set patterns.url=ADDRESS of a running server, "
                "or --set patterns.engine=edge",
            ) from error

    def meta(self) -> Meta | None:
        """Returns the store's description; None while nothing was written."""
        with self.session():
            if not self._client.collection_exists(self._name):
                return None
            records = self._client.retrieve(self._name, [_META_POINT], with_payload=True)
        try:
            return _meta.validate_python(records[0].payload if records else None)
        except ValidationError as error:
            raise StoreError(
                f"collection {self._name!r} was not made by HiSA",
                fix="--set patterns.collection=NAME with an unused name",
            ) from error

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _create(self) -> None:
        meta = Meta(SCHEMA, self._embedder.name, self._embedder.dimension)
        best = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
        vectors = models.VectorParams(
            size=meta.dimension, distance=models.Distance.COSINE, multivector_config=best
        )
        self._client.create_collection(self._name, vectors_config=vectors)
        vector = [[1.0] + [0.0] * (meta.dimension - 1)]
        about = models.PointStruct(id=_META_POINT, vector=vector, payload=asdict(meta))
        self._client.upsert(self._name, [about], wait=True)
        for field in ("domain", "status", "scope"):
            kind = models.PayloadSchemaType.KEYWORD
            self._client.create_payload_index(self._name, field, field_schema=kind, wait=True)

    def _upsert(self, items: Iterable[Item]) -> None:
        waiting = iter(items)
        while page := list(islice(waiting, _PAGE)):
            points = [
                models.PointStruct(
                    id=point_id(pattern.id), vector=rows, payload=to_payload(pattern)
                )
                for pattern, rows in page
            ]
            self._client.upsert(self._name, points, wait=True)

    def _amend(self, pattern: Pattern) -> None:
        points: list[Any] = [point_id(pattern.id)]
        self._client.set_payload(self._name, to_payload(pattern), points=points, wait=True)

    def _delete(self, pattern_id: str) -> None:
        self._client.delete(self._name, [point_id(pattern_id)], wait=True)

    def _payload(self, pattern_id: str) -> dict[str, Any] | None:
        records = self._client.retrieve(self._name, [point_id(pattern_id)], with_payload=True)
        return records[0].payload if records else None

    def _nearest(
        self, vector: list[float], *, limit: int, threshold: float, **fields: str | None
    ) -> list[tuple[Any, float]]:
        response = self._client.query_points(
            self._name,
            query=[vector],
            query_filter=_filter(fields),
            limit=limit,
            score_threshold=threshold,
            with_payload=True,
        )
        return [(point.payload, point.score) for point in response.points]

    def _scroll(self, **fields: str | None) -> Iterator[Any]:
        offset: Any = None
        while True:
            page, offset = self._client.scroll(
                self._name,
                scroll_filter=_filter(fields),
                limit=_PAGE,
                offset=offset,
                with_payload=True,
                with_vectors=False,
            )
            yield from (record.payload for record in page)
            if offset is None:
                return
