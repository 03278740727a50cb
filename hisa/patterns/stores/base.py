"""What both stores share: the wider seam inside this room, meta data, payloads."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from pydantic import TypeAdapter, ValidationError

from hisa.errors import StoreError
from hisa.patterns.stores.migrations import SCHEMA
from hisa.protocols import Embedder, Pattern, PatternStore

__all__ = [
    "Item",
    "Meta",
    "VectorStore",
    "check_meta",
    "check_vector",
    "dense",
    "from_payload",
    "point_id",
    "to_payload",
]

Item = tuple[Pattern, list[float]]
"""A pattern and its unit vector."""

_NAMESPACE = uuid.UUID("5b0f7a52-8f7c-4b0e-9d39-5f2f2f3a6a11")
_pattern: TypeAdapter[Pattern] = TypeAdapter(Pattern)


class VectorStore(PatternStore, Protocol):
    """A `PatternStore` that can also be emptied out and refilled, for import and re-embedding."""

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
        """Change a stored pattern and keep its vector; one that is not there stays away."""
        ...

    def items(self) -> Iterator[Item]:
        """Everything, whatever its status and whoever embedded it."""
        ...

    def rebuild(self, items: Iterable[Item], embedder: Embedder) -> int:
        """Replace the whole content at once; a crash leaves the old one. Returns the number."""
        ...


@dataclass(frozen=True)
class Meta:
    """Who filled a store. ``schema`` is the last migration that was applied."""

    schema: int
    embedder: str
    dimension: int


def check_meta(meta: Meta, embedder: Embedder, *, where: str) -> None:
    """Refuse a store that this HiSA or this embedder cannot work with.

    Raises:
        StoreError: a newer schema, or another embedder filled it.
    """
    if meta.schema > SCHEMA:
        raise StoreError(
            f"{where} has schema {meta.schema}; this HiSA reads up to {SCHEMA}",
            fix="use the newer HiSA that wrote it, or another folder: --set patterns.path=DIR",
        )
    if meta.embedder != embedder.name:
        raise StoreError(
            f"{where} was filled by the embedder {meta.embedder!r}, not {embedder.name!r}",
            fix=f"hisa patterns reembed --embedder {embedder.name}",
        )


def check_vector(vector: Sequence[float], dimension: int) -> None:
    """Refuse a vector of another length.

    Raises:
        StoreError: with both lengths.
    """
    if len(vector) != dimension:
        raise StoreError(f"a vector of {len(vector)} numbers; this store holds {dimension}")


def dense(vector: object) -> list[float]:
    """A vector as the engines give it back.

    Raises:
        StoreError: it is not a plain list of numbers.
    """
    if not isinstance(vector, list):
        raise StoreError(f"a stored vector is damaged: {type(vector).__name__}, wanted a list")
    return [float(x) for x in vector]


def point_id(pattern_id: str) -> str:
    """Qdrant's id for a pattern; it takes only UUIDs and numbers."""
    return str(uuid.uuid5(_NAMESPACE, pattern_id))


def to_payload(pattern: Pattern) -> dict[str, Any]:
    """The pattern as plain JSON."""
    return asdict(pattern)


def from_payload(payload: Mapping[str, Any] | None) -> Pattern:
    """The pattern of a payload.

    Raises:
        StoreError: it is not one.
    """
    try:
        return _pattern.validate_python(dict(payload or {}))
    except ValidationError as error:
        raise StoreError(f"a stored pattern is damaged: {error.errors()[0]['msg']}") from error
