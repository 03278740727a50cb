"""A pattern store over one of Qdrant's engines: vectors and payloads, no embedding, no thresholds.

Replacing everything fills a new collection and then publishes it at once, so a crash at any point
leaves either the old content or the new.
"""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager

from hisa.patterns.stores.base import (
    Collection,
    Item,
    Meta,
    check_meta,
    check_vectors,
    dense,
    from_payload,
)
from hisa.protocols import Embedder, Pattern, PatternHit, Scope

__all__ = ["VectorStore"]


class VectorStore(ABC):
    """A store; an engine says how a collection is found, made and published.

    Every method raises `StoreError` where the store cannot be used, or was filled by another
    embedder.
    """

    def __init__(self, embedder: Embedder, *, where: str) -> None:
        """Name the embedder whose vectors it holds, and the store as errors name it."""
        self._embedder = embedder
        self._where = where

    # ------------------------------------------------------------ the engine's part

    @abstractmethod
    def session(self) -> AbstractContextManager[None]:
        """Several operations as one: what is opened stays open; may be nested."""

    @abstractmethod
    def meta(self) -> Meta | None:
        """Who filled it; None while it has never been written."""

    @abstractmethod
    def close(self) -> None:
        """Close files and connections."""

    @abstractmethod
    def _collection(self) -> Collection | None:
        """The published collection, whoever filled it; None while there is none."""

    @abstractmethod
    def _create(self, embedder: Embedder) -> Collection:
        """A new collection that nobody sees yet."""

    @abstractmethod
    def _publish(self, new: Collection) -> None:
        """Put a collection in the place of the published one, which goes."""

    @abstractmethod
    def _discard(self, new: Collection) -> None:
        """Remove a collection that was not published."""

    # ------------------------------------------------------------ what every engine does alike

    def _fitting(self) -> Collection | None:
        collection = self._collection()
        if collection is not None:
            check_meta(collection.meta, self._embedder, where=self._where)
        return collection

    def put(self, pattern: Pattern, /, *vectors: Sequence[float]) -> None:
        """Insert or replace by id, stored on return; the nearest of several vectors counts."""
        with self.session():
            collection = self._fitting()
            if collection is None:
                collection = self._create(self._embedder)
                self._publish(collection)
            check_vectors(vectors, collection.meta.dimension)
            collection.upsert([(pattern, [[float(x) for x in vector] for vector in vectors])])

    def amend(self, pattern: Pattern, /) -> None:
        """Change a stored pattern and keep its vectors; one that is not there stays away."""
        with self.session():
            collection = self._fitting()
            if collection is not None and collection.payload(pattern.id) is not None:
                collection.amend(pattern)

    def delete(self, pattern_id: str, /) -> None:
        """Remove for good."""
        with self.session():
            if collection := self._fitting():
                collection.delete(pattern_id)

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
            collection = self._fitting()
            if collection is None:
                return []
            check_vectors([vector], collection.meta.dimension)
            found = collection.nearest(
                [float(x) for x in vector],
                limit=limit,
                threshold=threshold,
                status="active",
                domain=domain,
                scope=scope,
            )
            return [PatternHit(from_payload(payload), score) for payload, score in found]

    def get(self, pattern_id: str, /) -> Pattern | None:
        """One pattern, whatever its status."""
        with self.session():
            collection = self._fitting()
            payload = collection.payload(pattern_id) if collection else None
            return None if payload is None else from_payload(payload)

    def list(
        self, *, domain: str | None = None, status: str | None = "active"
    ) -> builtins.list[Pattern]:
        """Patterns by falling ``created_at``."""
        with self.session():
            collection = self._fitting()
            if collection is None:
                return []
            rows = collection.scroll(vectors=False, status=status, domain=domain)
            patterns = [from_payload(payload) for payload, _ in rows]
        return sorted(patterns, key=lambda pattern: (-pattern.created_at, pattern.id))

    def items(self) -> Iterator[Item]:
        """Everything, whatever its status and whoever embedded it."""
        with self.session():
            if collection := self._collection():
                for payload, vectors in collection.scroll(vectors=True):
                    yield from_payload(payload), dense(vectors)

    def rebuild(self, items: Iterable[Item], embedder: Embedder) -> int:
        """Replace the whole content at once by vectors of ``embedder``; returns the number."""
        with self.session():
            new = self._create(embedder)
            try:
                count = new.upsert(items)
            except BaseException:
                self._discard(new)
                raise
            self._publish(new)
            self._embedder = embedder
        return count
