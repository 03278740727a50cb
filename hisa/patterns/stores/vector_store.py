"""A pattern store over one of Qdrant's engines: vectors and payloads, but no embedding."""

from __future__ import annotations

import builtins
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from hisa.errors import StoreError
from hisa.protocols import Embedder, Pattern, PatternHit, Scope

__all__ = [
    "RESTORE",
    "SCHEMA",
    "Item",
    "Meta",
    "VectorStore",
    "check_meta",
    "point_id",
    "to_payload",
]

SCHEMA = 1
"""Version of the format in which this HiSA writes stores."""
RESTORE = "hisa --set patterns.path=NEW_FOLDER patterns import EXPORT.jsonl"
"""The command that replaces a damaged store."""

Item = tuple[Pattern, list[list[float]]]
"""A pattern and its unit vectors, at least one; in a search the nearest one counts."""

_NAMESPACE = uuid.UUID("5b0f7a52-8f7c-4b0e-9d39-5f2f2f3a6a11")


@dataclass(frozen=True)
class Meta:
    """The description of a store: its format, and the embedder that filled it."""

    schema: int
    embedder: str
    dimension: int


@cache
def _pattern() -> TypeAdapter[Pattern]:
    """Build the adapter on first use: a run that finds no pattern does not need it."""
    return TypeAdapter(Pattern)


def check_meta(meta: Meta, embedder: Embedder, *, where: str) -> None:
    """Refuse a store that this HiSA or this embedder cannot use.

    Args:
        meta: the description of the store.
        embedder: the embedder to be used.
        where: the store, as error messages name it.

    Raises:
        StoreError: the store has another schema, or another embedder filled it.
    """
    if meta.schema != SCHEMA:
        raise StoreError(
            f"{where} has schema {meta.schema}; this HiSA reads {SCHEMA}",
            fix="use the HiSA that wrote it, or another folder: --set patterns.path=DIR",
        )
    if meta.embedder != embedder.name:
        raise StoreError(
            f"{where} was filled by the embedder {meta.embedder!r}, not {embedder.name!r}",
            fix=f"hisa --set patterns.embedder={meta.embedder} patterns export FILE, then "
            "hisa --set patterns.path=NEW_FOLDER patterns import FILE",
        )


def _check_vectors(vectors: Sequence[Sequence[float]], dimension: int) -> None:
    """Refuse an empty list, or vectors of another length.

    Raises:
        StoreError: the text names both lengths.
    """
    if not vectors:
        raise StoreError("a pattern without a vector could never be found")
    for vector in vectors:
        if len(vector) != dimension:
            raise StoreError(f"a vector of {len(vector)} numbers; this store holds {dimension}")


def point_id(pattern_id: str) -> str:
    """Returns the id of a pattern in Qdrant, which takes only UUIDs and numbers."""
    return str(uuid.uuid5(_NAMESPACE, pattern_id))


def to_payload(pattern: Pattern) -> dict[str, Any]:
    """Returns the pattern as plain JSON data."""
    return asdict(pattern) | {"other_conditions": list(pattern.other_conditions)}


def _from_payload(payload: Any) -> Pattern:
    """Returns the pattern of a payload.

    Raises:
        StoreError: the payload is not a pattern.
    """
    try:
        return _pattern().validate_python(dict(payload or {}))
    except ValidationError as error:
        raise StoreError(
            f"a stored pattern is damaged: {error.errors()[0]['msg']}", fix=RESTORE
        ) from error


class VectorStore(ABC):
    """A store of patterns; a subclass writes and reads the points of its engine.

    Every method raises `StoreError` if the store cannot be used, or was filled by another
    embedder.
    """

    def __init__(self, embedder: Embedder, *, where: str) -> None:
        """Keep the embedder whose vectors the store holds, and the store's name in errors."""
        self._embedder = embedder
        self._where = where

    # ------------------------------------------------------------ the engine's part

    @abstractmethod
    def session(self) -> AbstractContextManager[None]:
        """Group several operations: what is opened stays open; may be nested."""

    @abstractmethod
    def meta(self) -> Meta | None:
        """Returns the store's description; None while nothing was written."""

    @abstractmethod
    def close(self) -> None:
        """Close files and connections."""

    @abstractmethod
    def _create(self) -> None:
        """Create the store, for the vectors of the embedder."""

    @abstractmethod
    def _upsert(self, items: Iterable[Item]) -> None:
        """Insert patterns, or replace those with the same id; they are on disk on return."""

    @abstractmethod
    def _amend(self, pattern: Pattern) -> None:
        """Change the payload of a stored pattern and keep its vectors."""

    @abstractmethod
    def _delete(self, pattern_id: str) -> None:
        """Remove a pattern if it is stored."""

    @abstractmethod
    def _payload(self, pattern_id: str) -> dict[str, Any] | None:
        """Returns the payload of a pattern; None if it is not stored."""

    @abstractmethod
    def _nearest(
        self, vector: list[float], *, limit: int, threshold: float, **fields: str | None
    ) -> builtins.list[tuple[Any, float]]:
        """Returns payloads and cosines, highest cosine first.

        ``fields`` are the values that fields of the payload must have; None allows any value.
        """

    @abstractmethod
    def _scroll(self, **fields: str | None) -> Iterator[Any]:
        """Yields all payloads; ``fields`` as in `_nearest`."""

    # ------------------------------------------------------------ what every engine does alike

    def _fitting(self) -> Meta | None:
        meta = self.meta()
        if meta is not None:
            check_meta(meta, self._embedder, where=self._where)
        return meta

    def put(self, pattern: Pattern, /, *vectors: Sequence[float]) -> None:
        """Insert a pattern, or replace the one with its id; it is on disk on return.

        In a search the nearest of its vectors counts.
        """
        self.put_all([(pattern, [[float(x) for x in vector] for vector in vectors])])

    def put_all(self, items: Sequence[Item]) -> None:
        """Insert or replace patterns by id, on disk on return; none if a vector does not fit."""
        with self.session():
            meta = self._fitting()
            for _, vectors in items:
                _check_vectors(vectors, meta.dimension if meta else self._embedder.dimension)
            if meta is None:
                self._create()
            self._upsert(items)

    def amend(self, pattern: Pattern, /) -> None:
        """Change a stored pattern and keep its vectors; does nothing if it is not stored."""
        with self.session():
            if self._fitting() is not None and self._payload(pattern.id) is not None:
                self._amend(pattern)

    def delete(self, pattern_id: str, /) -> None:
        """Remove a pattern for good."""
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
        """Returns the active patterns nearest to a vector, nearest first.

        Args:
            vector: a unit vector.
            domain: only patterns of this domain; None: of all domains.
            limit: most patterns.
            threshold: least cosine similarity, -1 to 1.
            scope: only patterns of this scope; None: of all scopes.
        """
        with self.session():
            meta = self._fitting()
            if meta is None:
                return []
            _check_vectors([vector], meta.dimension)
            scored_payloads = self._nearest(
                [float(x) for x in vector],
                limit=limit,
                threshold=threshold,
                status="active",
                domain=domain,
                scope=scope,
            )
            return [PatternHit(_from_payload(payload), score) for payload, score in scored_payloads]

    def get(self, pattern_id: str, /) -> Pattern | None:
        """Returns a pattern, whatever its status; None if it is not stored."""
        with self.session():
            payload = self._payload(pattern_id) if self._fitting() else None
            return None if payload is None else _from_payload(payload)

    def list(
        self, *, domain: str | None = None, status: str | None = "active"
    ) -> builtins.list[Pattern]:
        """Returns patterns, the newest first; None for a filter allows any value."""
        with self.session():
            if self._fitting() is None:
                return []
            payloads = self._scroll(status=status, domain=domain)
            patterns = [_from_payload(payload) for payload in payloads]
        return sorted(patterns, key=lambda pattern: (-pattern.created_at, pattern.id))
