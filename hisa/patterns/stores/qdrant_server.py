"""Patterns in a Qdrant server, through `qdrant_client`.

``COLLECTION`` is an alias of ``COLLECTION_vN``. A new collection is filled and then the alias
moved, which the server does at once. What a store records about itself (schema, embedder,
dimension) is a point of its own without a status, so no search or list finds it.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import islice
from typing import Any

from pydantic import TypeAdapter, ValidationError
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ApiException

from hisa.errors import StoreError
from hisa.patterns.stores.base import SCHEMA, Collection, Item, Meta, point_id, to_payload
from hisa.patterns.stores.vector_store import VectorStore
from hisa.protocols import Embedder, Pattern

__all__ = ["ServerStore"]

_PAGE = 256  # chosen by hand
_META_POINT = str(uuid.UUID(int=1))
_meta: TypeAdapter[Meta] = TypeAdapter(Meta)


def _filter(wanted: dict[str, str | None]) -> models.Filter:
    return models.Filter(
        must=[
            models.FieldCondition(key=key, match=models.MatchValue(value=value))
            for key, value in wanted.items()
            if value is not None
        ],
        must_not=[models.HasIdCondition(has_id=[_META_POINT])],
    )


class _ServerCollection:
    """A `Collection` on the server, under its own name."""

    def __init__(self, client: QdrantClient, name: str, meta: Meta) -> None:
        self._client, self.name, self.meta = client, name, meta

    @classmethod
    def create(cls, client: QdrantClient, name: str, meta: Meta) -> _ServerCollection:
        best = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
        vectors = models.VectorParams(
            size=meta.dimension, distance=models.Distance.COSINE, multivector_config=best
        )
        client.create_collection(name, vectors_config=vectors)
        for field in ("domain", "status", "scope"):
            kind = models.PayloadSchemaType.KEYWORD
            client.create_payload_index(name, field, field_schema=kind, wait=True)
        vector = [[1.0] + [0.0] * (meta.dimension - 1)]
        about = models.PointStruct(id=_META_POINT, vector=vector, payload=asdict(meta))
        client.upsert(name, [about])
        return cls(client, name, meta)

    @classmethod
    def open(cls, client: QdrantClient, name: str) -> _ServerCollection:
        found = client.retrieve(name, [_META_POINT], with_payload=True)
        try:
            meta = _meta.validate_python(found[0].payload if found else None)
        except ValidationError as error:
            raise StoreError(
                f"collection {name!r} was not made by HiSA",
                fix="--set patterns.collection=NAME with an unused name",
            ) from error
        return cls(client, name, meta)

    def upsert(self, items: Iterable[Item], /) -> int:
        waiting, count = iter(items), 0
        while page := list(islice(waiting, _PAGE)):
            points = [
                models.PointStruct(id=point_id(one.id), vector=rows, payload=to_payload(one))
                for one, rows in page
            ]
            self._client.upsert(self.name, points, wait=True)
            count += len(page)
        return count

    def amend(self, pattern: Pattern, /) -> None:
        points: list[Any] = [point_id(pattern.id)]
        self._client.set_payload(self.name, to_payload(pattern), points=points, wait=True)

    def delete(self, pattern_id: str, /) -> None:
        self._client.delete(self.name, [point_id(pattern_id)], wait=True)

    def payload(self, pattern_id: str, /) -> dict[str, Any] | None:
        found = self._client.retrieve(self.name, [point_id(pattern_id)], with_payload=True)
        return found[0].payload if found else None

    def nearest(
        self, vector: Sequence[float], /, *, limit: int, threshold: float, **wanted: str | None
    ) -> list[tuple[Any, float]]:
        found = self._client.query_points(
            self.name,
            query=[list(vector)],
            query_filter=_filter(wanted),
            limit=limit,
            score_threshold=threshold,
            with_payload=True,
        )
        return [(point.payload, point.score) for point in found.points]

    def scroll(self, *, vectors: bool, **wanted: str | None) -> Iterator[tuple[Any, Any]]:
        offset: Any = None
        while True:
            page, offset = self._client.scroll(
                self.name,
                scroll_filter=_filter(wanted),
                limit=_PAGE,
                offset=offset,
                with_payload=True,
                with_vectors=vectors,
            )
            yield from ((record.payload, record.vector) for record in page)
            if offset is None:
                return


class ServerStore(VectorStore):
    """A `VectorStore` in a Qdrant server.

    Args:
        client: the connection.
        collection: name of the alias.
        embedder: the one whose vectors it holds.
        url: the server's address as printed in errors.
    """

    def __init__(
        self, client: QdrantClient, collection: str, *, embedder: Embedder, url: str = ""
    ) -> None:
        super().__init__(embedder, where=f"pattern store {collection!r}")
        self._client, self._alias, self._url = client, collection, url

    @classmethod
    def connect(
        cls, url: str, collection: str, *, embedder: Embedder, timeout: int = 10
    ) -> ServerStore:
        """A store at ``url``; QDRANT_API_KEY is sent where it is set.

        Raises:
            StoreError: not an address.
        """
        key = os.environ.get("QDRANT_API_KEY") or None
        try:
            # Its own check warns from a thread, before anything is asked of the server.
            client = QdrantClient(url=url, api_key=key, timeout=timeout, check_compatibility=False)
        except ValueError as error:
            raise StoreError(
                f"patterns.url = {url!r}: {error}", fix="--set patterns.url=http://127.0.0.1:6333"
            ) from error
        return cls(client, collection, embedder=embedder, url=url)

    @contextmanager
    def session(self) -> Iterator[None]:
        """Several operations; a server needs nothing opened and keeps nobody out."""
        try:
            yield
        except (ApiException, OSError) as error:
            raise StoreError(
                f"{self._where} on the Qdrant server {self._url}: {error}",
                fix="docker compose up -d qdrant, --set patterns.url=ADDRESS of one that runs, or "
                "--set patterns.engine=edge",
            ) from error

    def meta(self) -> Meta | None:
        """Who filled it."""
        with self.session():
            collection = self._collection()
            return collection.meta if collection else None

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _published(self) -> str | None:
        """The name of the collection that the alias names."""
        aliases = self._client.get_aliases().aliases
        return next((a.collection_name for a in aliases if a.alias_name == self._alias), None)

    def _collection(self) -> Collection | None:
        name = self._published()
        return None if name is None else _ServerCollection.open(self._client, name)

    def _create(self, embedder: Embedder) -> Collection:
        prefix = f"{self._alias}_v"
        names = [item.name for item in self._client.get_collections().collections]
        ends = [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
        number = max((int(end) for end in ends if end.isdigit()), default=0) + 1
        meta = Meta(SCHEMA, embedder.name, embedder.dimension)
        return _ServerCollection.create(self._client, f"{prefix}{number}", meta)

    def _publish(self, new: Collection) -> None:
        assert isinstance(new, _ServerCollection)
        old = self._published()
        changes: list[models.CreateAliasOperation | models.DeleteAliasOperation] = []
        if old:
            gone = models.DeleteAlias(alias_name=self._alias)
            changes.append(models.DeleteAliasOperation(delete_alias=gone))
        alias = models.CreateAlias(collection_name=new.name, alias_name=self._alias)
        changes.append(models.CreateAliasOperation(create_alias=alias))
        self._client.update_collection_aliases(change_aliases_operations=changes)
        if old:
            self._client.delete_collection(old)

    def _discard(self, new: Collection) -> None:
        assert isinstance(new, _ServerCollection)
        self._client.delete_collection(new.name)
