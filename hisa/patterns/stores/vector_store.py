"""A pattern store over one of Qdrant's engines: vectors and payloads, and no embedding."""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from hisa.patterns.stores.base import Item, Meta, check_meta, check_vectors, from_payload
from hisa.protocols import Embedder, Pattern, PatternHit, Scope

__all__ = ["VectorStore"]


class VectorStore(ABC):
    """A store; an engine says how points are written and read.

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
    def _create(self) -> None:
        """Make it, for the vectors of the embedder."""

    @abstractmethod
    def _upsert(self, items: Iterable[Item]) -> None:
        """Insert or replace by id, stored on return."""

    @abstractmethod
    def _amend(self, pattern: Pattern) -> None:
        """Change a pattern that is there; its vectors stay."""

    @abstractmethod
    def _delete(self, pattern_id: str) -> None:
        """Remove a pattern, where it is there."""

    @abstractmethod
    def _payload(self, pattern_id: str) -> dict[str, Any] | None:
        """The payload of a pattern."""

    @abstractmethod
    def _nearest(
        self, vector: list[float], *, limit: int, threshold: float, **wanted: str | None
    ) -> builtins.list[tuple[Any, float]]:
        """Payloads and cosines by falling cosine; ``wanted`` are values of fields, None for any."""

    @abstractmethod
    def _scroll(self, **wanted: str | None) -> Iterator[Any]:
        """All payloads; ``wanted`` as for `_nearest`."""

    # ------------------------------------------------------------ what every engine does alike

    def _fitting(self) -> Meta | None:
        meta = self.meta()
        if meta is not None:
            check_meta(meta, self._embedder, where=self._where)
        return meta

    def put(self, pattern: Pattern, /, *vectors: Sequence[float]) -> None:
        """Insert or replace by id, stored on return; the nearest of several vectors counts."""
        self.put_all([(pattern, [[float(x) for x in vector] for vector in vectors])])

    def put_all(self, items: Sequence[Item]) -> None:
        """Insert or replace each by its id, stored on return; nothing where one does not fit."""
        with self.session():
            meta = self._fitting()
            for _, vectors in items:
                check_vectors(vectors, meta.dimension if meta else self._embedder.dimension)
            if meta is None:
                self._create()
            self._upsert(items)

    def amend(self, pattern: Pattern, /) -> None:
        """Change a stored pattern and keep its vectors; one that is not there stays away."""
        with self.session():
            if self._fitting() is not None and self._payload(pattern.id) is not None:
                self._amend(pattern)

    def delete(self, pattern_id: str, /) -> None:
        """Remove for good."""
        with self.session():
            if self._fitting() is not None:
                self._delete(pattern_id)

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
            meta = self._fitting()
            if meta is None:
                return []
            check_vectors([vector], meta.dimension)
            found = self._nearest(
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
            payload = self._payload(pattern_id) if self._fitting() else None
            return None if payload is None else from_payload(payload)

    def list(
        self, *, domain: str | None = None, status: str | None = "active"
    ) -> builtins.list[Pattern]:
        """Patterns by falling ``created_at``."""
        with self.session():
            if self._fitting() is None:
                return []
            payloads = self._scroll(status=status, domain=domain)
            patterns = [from_payload(payload) for payload in payloads]
        return sorted(patterns, key=lambda pattern: (-pattern.created_at, pattern.id))
