"""What both engines share: the form of a stored pattern, and what the store asks of an engine."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Protocol

from pydantic import TypeAdapter, ValidationError

from hisa.errors import StoreError
from hisa.protocols import Embedder, Pattern

__all__ = [
    "RESTORE",
    "SCHEMA",
    "Collection",
    "Item",
    "Meta",
    "Vectors",
    "check_meta",
    "check_vectors",
    "dense",
    "from_payload",
    "point_id",
    "to_payload",
]

SCHEMA = 1
"""The form in which this HiSA writes stores."""
RESTORE = "hisa --set patterns.path=NEW_FOLDER patterns import EXPORT.jsonl"
"""Mends a damaged store."""

Vectors = list[list[float]]
"""The unit vectors of one pattern, at least one; the nearest counts in a search."""

Item = tuple[Pattern, Vectors]
"""A pattern and its vectors."""

_NAMESPACE = uuid.UUID("5b0f7a52-8f7c-4b0e-9d39-5f2f2f3a6a11")


@dataclass(frozen=True)
class Meta:
    """Who filled a store, and in which form."""

    schema: int
    embedder: str
    dimension: int


class Collection(Protocol):
    """An open collection of one of Qdrant's engines.

    ``wanted`` are fields of the payload and their values; None for any.
    """

    @property
    def meta(self) -> Meta:
        """Who filled it."""
        ...

    def upsert(self, items: Iterable[Item], /) -> int:
        """Insert or replace by id, stored on return; returns how many."""
        ...

    def amend(self, pattern: Pattern, /) -> None:
        """Change a pattern that is there; its vectors stay."""
        ...

    def delete(self, pattern_id: str, /) -> None:
        """Remove a pattern, where it is there."""
        ...

    def payload(self, pattern_id: str, /) -> dict[str, Any] | None:
        """The payload of a pattern."""
        ...

    def nearest(
        self, vector: Sequence[float], /, *, limit: int, threshold: float, **wanted: str | None
    ) -> list[tuple[Any, float]]:
        """Payloads and cosines by falling cosine, from ``threshold``."""
        ...

    def scroll(self, *, vectors: bool, **wanted: str | None) -> Iterator[tuple[Any, Any]]:
        """All payloads, with their vectors or None."""
        ...


@cache
def _pattern() -> TypeAdapter[Pattern]:
    """Built when first asked for: a run that finds no pattern has no use for it."""
    return TypeAdapter(Pattern)


def check_meta(meta: Meta, embedder: Embedder, *, where: str) -> None:
    """Refuse a store that this HiSA or this embedder cannot work with.

    Raises:
        StoreError: another schema, or another embedder filled it.
    """
    if meta.schema != SCHEMA:
        raise StoreError(
            f"{where} has schema {meta.schema}; this HiSA reads {SCHEMA}",
            fix="use the HiSA that wrote it, or another folder: --set patterns.path=DIR",
        )
    if meta.embedder != embedder.name:
        raise StoreError(
            f"{where} was filled by the embedder {meta.embedder!r}, not {embedder.name!r}",
            fix=f"hisa patterns reembed --embedder {embedder.name}",
        )


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


def dense(vectors: Any) -> Vectors:
    """The list of vectors that an engine returned.

    Raises:
        StoreError: it is none.
    """
    try:
        return [[float(x) for x in row] for row in vectors]
    except (TypeError, ValueError) as error:
        raise StoreError(
            f"a stored vector is damaged: {type(vectors).__name__}, wanted lists of numbers",
            fix=RESTORE,
        ) from error


def point_id(pattern_id: str) -> str:
    """Qdrant's id for a pattern; it takes only UUIDs and numbers."""
    return str(uuid.uuid5(_NAMESPACE, pattern_id))


def to_payload(pattern: Pattern) -> dict[str, Any]:
    """The pattern as plain JSON."""
    return asdict(pattern) | {"other_conditions": list(pattern.other_conditions)}


def from_payload(payload: Any) -> Pattern:
    """The pattern of a payload.

    Raises:
        StoreError: it is not one.
    """
    try:
        return _pattern().validate_python(dict(payload or {}))
    except ValidationError as error:
        raise StoreError(
            f"a stored pattern is damaged: {error.errors()[0]['msg']}", fix=RESTORE
        ) from error
