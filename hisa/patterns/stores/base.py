"""What both stores share: what is asked of them, meta data, payloads."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Protocol

from pydantic import TypeAdapter, ValidationError

from hisa.errors import StoreError
from hisa.protocols import Embedder, Pattern, PatternHit, Scope

__all__ = [
    "Indexed",
    "Item",
    "Meta",
    "VectorStore",
    "Vectors",
    "check_vectors",
    "dense",
    "from_payload",
    "point_id",
    "to_payload",
]

Vectors = list[list[float]]
"""The unit vectors of one pattern, at least one; the nearest counts in a search."""

Item = tuple[Pattern, Vectors]
"""A pattern and its vectors."""

_NAMESPACE = uuid.UUID("5b0f7a52-8f7c-4b0e-9d39-5f2f2f3a6a11")


@cache
def _pattern() -> TypeAdapter[Pattern]:
    """Built when first asked for: a run that finds no pattern has no use for it."""
    return TypeAdapter(Pattern)


class VectorStore(Protocol):
    """Vectors and payloads; knows nothing of embedding or thresholds.

    It can also be emptied out and refilled, for import and re-embedding.
    """

    def put(self, pattern: Pattern, /, *vectors: Sequence[float]) -> None:
        """Insert or replace by id; the nearest of several vectors counts in a search."""
        ...

    def search(
        self,
        vector: Sequence[float],
        *,
        domain: str | None,
        limit: int,
        threshold: float,
        scope: Scope | None = None,
    ) -> list[PatternHit]:
        """Active patterns by falling cosine similarity, from ``threshold``; of a scope or all."""
        ...

    def get(self, pattern_id: str, /) -> Pattern | None:
        """One pattern, whatever its status."""
        ...

    def list(self, *, domain: str | None = None, status: str | None = "active") -> list[Pattern]:
        """Patterns by falling ``created_at``."""
        ...

    def delete(self, pattern_id: str, /) -> None:
        """Remove for good."""
        ...

    def close(self) -> None:
        """Flush and release files."""
        ...

    def session(self) -> AbstractContextManager[None]:
        """Several operations as one: what is opened stays open, other processes wait.

        Raises:
            StoreError: the store cannot be opened.
        """
        ...

    def meta(self) -> Meta | None:
        """Who filled it; None while it has never been written."""
        ...

    def amend(self, pattern: Pattern, /) -> None:
        """Change a stored pattern and keep its vectors; one that is not there stays away."""
        ...

    def items(self) -> Iterator[Item]:
        """Everything, whatever its status and whoever embedded it."""
        ...

    def rebuild(self, items: Iterable[Item], embedder: Embedder) -> int:
        """Replace the whole content at once; a crash leaves the old one. Returns the number."""
        ...


class Indexed(Protocol):
    """What a migration may ask of a store."""

    def index_keyword(self, field: str, /) -> None:
        """Index a text field of the payload for exact matches; again is harmless."""
        ...

    def rewrite(self, change: Callable[[dict[str, Any]], dict[str, Any]], /) -> None:
        """Copy all points, their payloads changed, into a new place of today's vector layout.

        The new place has no indexes yet; a store that was just created stays as it is.
        """
        ...


@dataclass(frozen=True)
class Meta:
    """Who filled a store. ``schema`` is the last migration that was applied."""

    schema: int
    embedder: str
    dimension: int


def check_vectors(vectors: Sequence[Sequence[float]], dimension: int) -> None:
    """Refuse vectors of another length, and none at all.

    Raises:
        StoreError: with both lengths.
    """
    if not vectors:
        raise StoreError("a pattern without a vector could never be found")
    for vector in vectors:
        if len(vector) != dimension:
            raise StoreError(f"a vector of {len(vector)} numbers; this store holds {dimension}")


def dense(vectors: object) -> Vectors:
    """Vectors as the engines return them: a list of them, or one alone in older layouts.

    Raises:
        StoreError: neither of these.
    """
    rows: list[Any] = vectors if isinstance(vectors, list) else [vectors]
    rows = rows if rows and isinstance(rows[0], list) else [rows]
    try:
        return [[float(x) for x in row] for row in rows]
    except (TypeError, ValueError) as error:
        raise StoreError(
            f"a stored vector is damaged: {type(vectors).__name__}, wanted a list of numbers",
            fix="hisa patterns doctor --repair",
        ) from error


def point_id(pattern_id: str) -> str:
    """Qdrant's id for a pattern; it takes only UUIDs and numbers."""
    return str(uuid.uuid5(_NAMESPACE, pattern_id))


def to_payload(pattern: Pattern) -> dict[str, Any]:
    """The pattern as plain JSON."""
    return asdict(pattern) | {"other_conditions": list(pattern.other_conditions)}


def from_payload(payload: Mapping[str, Any] | None) -> Pattern:
    """The pattern of a payload.

    Raises:
        StoreError: it is not one.
    """
    try:
        return _pattern().validate_python(dict(payload or {}))
    except ValidationError as error:
        raise StoreError(
            f"a stored pattern is damaged: {error.errors()[0]['msg']}",
            fix="hisa patterns doctor --repair",
        ) from error
