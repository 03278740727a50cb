"""Numbered changes of a store's layout. A released function is never edited; a new one is added."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["MIGRATIONS", "SCHEMA", "Indexed", "migrate"]


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


def _1_index_domain_and_status(store: Indexed) -> None:
    store.index_keyword("domain")
    store.index_keyword("status")


def _2_several_vectors_and_counts_of_real_uses(store: Indexed) -> None:
    # Counts were taken of every run that was advised, whether it used the pattern or had a score;
    # what they would have been cannot be told any more.
    store.rewrite(lambda payload: payload | {"uses": 0, "wins": 0})
    for field in ("domain", "status", "scope"):
        store.index_keyword(field)


MIGRATIONS: tuple[Callable[[Indexed], None], ...] = (
    _1_index_domain_and_status,
    _2_several_vectors_and_counts_of_real_uses,
)
"""The first brings schema 0 (points without indexes) to schema 1, and so on."""

SCHEMA = len(MIGRATIONS)
"""The schema this HiSA writes."""


def migrate(store: Indexed, schema: int) -> int:
    """Apply what is missing since ``schema``; returns the schema reached."""
    for change in MIGRATIONS[schema:]:
        change(store)
    return max(schema, SCHEMA)
