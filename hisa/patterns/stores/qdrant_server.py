"""Patterns in a Qdrant server, through `qdrant_client`.

``COLLECTION`` is an alias of ``COLLECTION_vN``. Replacing everything fills ``COLLECTION_v(N+1)``
and then moves the alias, which the server does at once. What a store must record about itself
(schema, embedder, dimension) is a point of its own without a status, so no search or list finds it.
"""

from __future__ import annotations

import builtins
import importlib.metadata
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import islice
from typing import Any

from pydantic import TypeAdapter, ValidationError
from qdrant_client import QdrantClient, models
from qdrant_client.common.version_check import is_compatible
from qdrant_client.http.exceptions import ApiException

from hisa.errors import StoreError
from hisa.patterns.stores.base import (
    Item,
    Meta,
    check_vectors,
    dense,
    from_payload,
    point_id,
    to_payload,
)
from hisa.patterns.stores.migrations import SCHEMA, check_meta, migrate
from hisa.protocols import Embedder, Pattern, PatternHit, Scope

__all__ = ["ServerStore"]

_PAGE = 256  # chosen by hand
_META_POINT = str(uuid.UUID(int=1))
_meta: TypeAdapter[Meta] = TypeAdapter(Meta)


def _filter(**wanted: str | None) -> models.Filter:
    return models.Filter(
        must=[
            models.FieldCondition(key=key, match=models.MatchValue(value=value))
            for key, value in wanted.items()
            if value is not None
        ],
        must_not=[models.HasIdCondition(has_id=[_META_POINT])],
    )


class _Collection:
    """One physical collection; also what migrations change."""

    def __init__(self, client: QdrantClient, name: str, *, spare: str = "") -> None:
        """Name a collection; ``spare`` is a free name to rewrite it under, "" while it is new."""
        self.client = client
        self.name = name
        self._spare = spare

    def index_keyword(self, field: str, /) -> None:
        self.client.create_payload_index(
            self.name, field, field_schema=models.PayloadSchemaType.KEYWORD, wait=True
        )

    def create(self, meta: Meta) -> None:
        self.client.create_collection(
            self.name,
            vectors_config=models.VectorParams(
                size=meta.dimension,
                distance=models.Distance.COSINE,
                multivector_config=models.MultiVectorConfig(
                    comparator=models.MultiVectorComparator.MAX_SIM
                ),
            ),
        )
        migrate(self, 0)
        self.describe(meta)

    def rewrite(self, change: Callable[[dict[str, Any]], dict[str, Any]], /) -> None:
        if not self._spare:
            return
        meta = described(self.client, self.name)
        new = _Collection(self.client, self._spare)
        new.create(meta)
        new.upsert(
            (from_payload(change(to_payload(from_payload(record.payload)))), dense(record.vector))
            for record in self.records(_filter(), True)
        )
        self.name, self._spare = new.name, ""

    def describe(self, meta: Meta) -> None:
        vector = [[1.0] + [0.0] * (meta.dimension - 1)]
        self.client.upsert(
            self.name, [models.PointStruct(id=_META_POINT, vector=vector, payload=asdict(meta))]
        )

    def upsert(self, items: Iterable[tuple[Pattern, Sequence[Sequence[float]]]]) -> int:
        waiting, count = iter(items), 0
        while page := list(islice(waiting, _PAGE)):
            points = [
                models.PointStruct(
                    id=point_id(pattern.id),
                    vector=[list(vector) for vector in vectors],
                    payload=to_payload(pattern),
                )
                for pattern, vectors in page
            ]
            self.client.upsert(self.name, points, wait=True)
            count += len(page)
        return count

    def records(self, filter_: models.Filter, vectors: bool) -> Iterator[models.Record]:
        offset: Any = None
        while True:
            page, offset = self.client.scroll(
                self.name,
                scroll_filter=filter_,
                limit=_PAGE,
                offset=offset,
                with_payload=True,
                with_vectors=vectors,
            )
            yield from page
            if offset is None:
                return


def described(client: QdrantClient, name: str) -> Meta:
    """Returns what a collection records about itself: HiSA's own point in it.

    Raises:
        StoreError: it is not one of HiSA.
    """
    found = client.retrieve(name, [_META_POINT], with_payload=True)
    try:
        return _meta.validate_python(found[0].payload if found else None)
    except ValidationError as error:
        raise StoreError(
            f"collection {name!r} was not made by HiSA",
            fix="--set patterns.collection=NAME with an unused name",
        ) from error


class ServerStore:
    """A `VectorStore` in a Qdrant server.

    Args:
        client: the connection.
        collection: name of the alias.
        embedder: the one whose vectors it holds.

    Every method raises `StoreError` where the server does not answer or refuses, or where another
    embedder filled the collection.
    """

    def __init__(self, client: QdrantClient, collection: str, *, embedder: Embedder) -> None:
        self._client = client
        self._url = ""
        self._fits = False
        self._alias = collection
        self._embedder = embedder

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
        store = cls(client, collection, embedder=embedder)
        store._url = url
        return store

    @contextmanager
    def session(self) -> Iterator[None]:
        """Several operations; a server needs nothing opened and keeps nobody out."""
        try:
            yield
        except (ApiException, OSError) as error:
            raise StoreError(
                f"pattern store {self._alias!r} on the Qdrant server {self._url}: {error}",
                fix="docker compose up -d qdrant, --set patterns.url=ADDRESS of one that runs, or "
                "--set patterns.engine=edge",
            ) from error

    # ------------------------------------------------------------ opening

    def _check_version(self) -> None:
        """Refuses a server that the client of Qdrant here calls incompatible with itself."""
        ours, theirs = importlib.metadata.version("qdrant-client"), self._client.info().version
        if not is_compatible(ours, theirs):
            raise StoreError(
                f"the Qdrant server {self._url} is version {theirs}, the client here {ours}: they "
                "may differ by one minor version",
                fix="docker compose up -d qdrant, which starts a server that fits",
            )

    def _physical(self) -> str | None:
        if self._url and not self._fits:
            self._check_version()
            self._fits = True
        aliases = self._client.get_aliases().aliases
        return next((a.collection_name for a in aliases if a.alias_name == self._alias), None)

    def _opened(self) -> tuple[_Collection, Meta] | None:
        """The checked, migrated collection; None while the store has never been written."""
        name = self._physical()
        if name is None:
            return None
        collection, meta = _Collection(self._client, name), described(self._client, name)
        check_meta(meta, self._embedder, where=f"pattern store {self._alias!r}")
        if meta.schema < SCHEMA:
            collection = _Collection(self._client, name, spare=self._free_name())
            meta = Meta(migrate(collection, meta.schema), meta.embedder, meta.dimension)
            collection.describe(meta)
            if collection.name != name:
                self._point_alias(collection.name, name)
                self._client.delete_collection(name)
        return collection, meta

    def _free_name(self) -> str:
        prefix = f"{self._alias}_v"
        names = [item.name for item in self._client.get_collections().collections]
        ends = [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
        return f"{prefix}{max((int(end) for end in ends if end.isdigit()), default=0) + 1}"

    def _create(self, embedder: Embedder) -> tuple[_Collection, Meta]:
        """A new physical collection; nobody sees it before the alias points at it."""
        meta = Meta(SCHEMA, embedder.name, embedder.dimension)
        collection = _Collection(self._client, self._free_name())
        collection.create(meta)
        return collection, meta

    def _point_alias(self, target: str, old: str | None) -> None:
        changes: list[models.CreateAliasOperation | models.DeleteAliasOperation] = []
        if old:
            gone = models.DeleteAlias(alias_name=self._alias)
            changes.append(models.DeleteAliasOperation(delete_alias=gone))
        new = models.CreateAlias(collection_name=target, alias_name=self._alias)
        changes.append(models.CreateAliasOperation(create_alias=new))
        self._client.update_collection_aliases(change_aliases_operations=changes)

    def _writable(self) -> tuple[_Collection, Meta]:
        opened = self._opened()
        if opened is None:
            opened = self._create(self._embedder)
            self._point_alias(opened[0].name, None)
        return opened

    # ------------------------------------------------------------ the protocol

    def put(self, pattern: Pattern, /, *vectors: Sequence[float]) -> None:
        """Insert or replace by id; stored when this returns."""
        with self.session():
            collection, meta = self._writable()
            check_vectors(vectors, meta.dimension)
            collection.upsert([(pattern, vectors)])

    def amend(self, pattern: Pattern, /) -> None:
        """Change a stored pattern and keep its vectors."""
        with self.session():
            opened = self._opened()
            if opened and self._client.retrieve(opened[0].name, [point_id(pattern.id)]):
                self._client.set_payload(
                    opened[0].name, to_payload(pattern), points=[point_id(pattern.id)], wait=True
                )

    def search(
        self,
        vector: Sequence[float],
        *,
        domain: str | None,
        limit: int,
        threshold: float,
        scope: Scope | None = None,
    ) -> builtins.list[PatternHit]:
        """Active patterns by falling cosine similarity, from ``threshold``; of a scope or all."""
        with self.session():
            opened = self._opened()
            if opened is None:
                return []
            check_vectors([vector], opened[1].dimension)
            found = self._client.query_points(
                opened[0].name,
                query=[list(vector)],
                query_filter=_filter(status="active", domain=domain, scope=scope),
                limit=limit,
                score_threshold=threshold,
                with_payload=True,
            )
            return [PatternHit(from_payload(point.payload), point.score) for point in found.points]

    def get(self, pattern_id: str, /) -> Pattern | None:
        """One pattern, whatever its status."""
        with self.session():
            opened = self._opened()
            if opened is None:
                return None
            found = self._client.retrieve(opened[0].name, [point_id(pattern_id)], with_payload=True)
            return from_payload(found[0].payload) if found else None

    def list(
        self, *, domain: str | None = None, status: str | None = "active"
    ) -> builtins.list[Pattern]:
        """Patterns by falling ``created_at``."""
        with self.session():
            opened = self._opened()
            wanted = _filter(status=status, domain=domain)
            records = opened[0].records(wanted, False) if opened else ()
            patterns = [from_payload(record.payload) for record in records]
        return sorted(patterns, key=lambda pattern: (-pattern.created_at, pattern.id))

    def delete(self, pattern_id: str, /) -> None:
        """Remove for good."""
        with self.session():
            if opened := self._opened():
                self._client.delete(opened[0].name, [point_id(pattern_id)], wait=True)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    # ------------------------------------------------------------ everything at once

    def meta(self) -> Meta | None:
        """Who filled it."""
        with self.session():
            name = self._physical()
            return described(self._client, name) if name else None

    def items(self) -> Iterator[Item]:
        """Everything, whatever its status and whoever embedded it."""
        with self.session():
            name = self._physical()
            for record in _Collection(self._client, name).records(_filter(), True) if name else ():
                yield from_payload(record.payload), dense(record.vector)

    def rebuild(self, items: Iterable[Item], embedder: Embedder) -> int:
        """Replace the whole content at once by vectors of ``embedder``."""
        with self.session():
            old = self._physical()
            collection, _ = self._create(embedder)
            try:
                count = collection.upsert(items)
            except BaseException:
                self._client.delete_collection(collection.name)
                raise
            self._point_alias(collection.name, old)
            self._embedder = embedder
            if old:
                self._client.delete_collection(old)
        return count
