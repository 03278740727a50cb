"""Selects the patterns for a task, by their scope.

- ``family``, ``page``: selected if one of the pattern's conditions is near the task.
- ``application``: selected if a clause of the task is near it and nearer to no other lesson of
  the application.
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
"""Most hits that lessons of the whole application take from lessons of the task's family."""
_TIE = 0.0001
"""Cosines that differ by less are equal: lessons that share a condition, rounded by the store."""


def retrieve(
    store: VectorStore, embedder: Embedder, task: Task, *, settings: PatternSettings
) -> tuple[PatternHit, ...]:
    """Returns at most ``settings.top`` patterns of the task's domain, nearest first.

    Args:
        store: the patterns.
        embedder: the embedder that filled the store.
        task: its instruction and domain are used.
        settings: the number of patterns, and the similarity from which on one fits.

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
    """Returns the patterns nearest to an instruction, whatever their scope, nearest first.

    Args:
        store: the patterns.
        embedder: the embedder that filled the store.
        text: the instruction of a task.
        domain: only patterns of this domain; None: of all domains.
        limit: most patterns.
        threshold: least cosine similarity, -1 to 1.

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
    """Returns the best hit of each pattern over all queries.

    Of each query only the hits count whose score is within ``margin`` of its best one.
    """
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
