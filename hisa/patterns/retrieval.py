"""Selects the patterns for a task, by their scope.

- ``family``, ``page``: one of its conditions is near the task.
- ``application``: a clause of the task is near it, and nearer to no other lesson of the
  application.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from hisa.config import PatternSettings
from hisa.patterns.embedders import thresholds_of
from hisa.patterns.pattern_text import query_texts
from hisa.patterns.stores.vector_store import VectorStore
from hisa.protocols import Embedder, PatternHit, Scope, Task

__all__ = ["WIDE", "retrieve", "search"]

WIDE = 2
"""Places among the hits that lessons of the whole application take from those of the task."""
_TIE = 0.0001
"""Cosines that differ by less are equal: lessons of one condition, and rounding in a store."""


def retrieve(
    store: VectorStore, embedder: Embedder, task: Task, *, settings: PatternSettings
) -> tuple[PatternHit, ...]:
    """At most ``settings.top`` patterns of the task's domain, nearest first.

    Raises:
        StoreError: the store cannot be read.
    """
    if store.meta() is None:
        return ()
    queries = embedder.embed(query_texts(task.instruction))
    least = thresholds_of(embedder.name, settings)
    with store.session():
        near = _best(store, queries, task.domain, "family", settings.top, least.recalled)
        near |= _best(store, queries, task.domain, "page", settings.top, least.recalled)
        wide = _best(
            store, queries, task.domain, "application", settings.top, least.application, margin=_TIE
        )
    room = max(settings.top - len(near), min(WIDE, settings.top))
    general = _rank_hits(wide.values())[:room]
    own = _rank_hits(near.values())[: settings.top - len(general)]
    return tuple(_rank_hits([*own, *general]))


def search(
    store: VectorStore,
    embedder: Embedder,
    text: str,
    *,
    domain: str | None,
    limit: int,
    threshold: float,
) -> tuple[PatternHit, ...]:
    """The patterns nearest to a task with that instruction, whatever their scope.

    Raises:
        StoreError: the store cannot be read.
    """
    queries = embedder.embed(query_texts(text))
    with store.session():
        hits_by_id = _best(store, queries, domain, None, limit, threshold)
    return tuple(_rank_hits(hits_by_id.values())[:limit])


def _best(
    store: VectorStore,
    queries: Sequence[Sequence[float]],
    domain: str | None,
    scope: Scope | None,
    limit: int,
    threshold: float,
    margin: float = math.inf,
) -> dict[str, PatternHit]:
    """Hits by pattern, each at its nearest query; of a query those within a margin of its best."""
    best: dict[str, PatternHit] = {}
    for vector in queries:
        hits = store.search(vector, domain=domain, scope=scope, limit=limit, threshold=threshold)
        for hit in (near for near in hits if hits[0].score - near.score <= margin):
            known = best.get(hit.pattern.id)
            if known is None or known.score < hit.score:
                best[hit.pattern.id] = hit
    return best


def _rank_hits(hits: Iterable[PatternHit]) -> list[PatternHit]:
    return sorted(hits, key=lambda hit: -hit.score)
