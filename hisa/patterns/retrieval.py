"""Selects the patterns for a task, by their scope.

- ``family``: one of its conditions is near the task.
- ``page``: the same, or the task names the page.
- ``application``: a clause of the task is near it, and nearer to no other lesson of the
  application.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from hisa.config import PatternSettings
from hisa.patterns.embedders import thresholds_of
from hisa.patterns.pattern_text import query_texts
from hisa.patterns.stores.vector_store import VectorStore
from hisa.protocols import Embedder, Pattern, PatternHit, Scope, Task

__all__ = ["WIDE", "retrieve", "search"]

WIDE = 2
"""Places among the hits that lessons of the whole application take from those of the task."""
_TIE = 0.0001
"""Cosines that differ by less are equal: lessons of one condition, and rounding in a store."""
_PAGES = 20
"""Pages looked through for one that the task names."""


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
        pages = _best(store, queries, task.domain, "page", _PAGES, -1.0)
        wide = _best(
            store, queries, task.domain, "application", settings.top, least.application, margin=_TIE
        )
    own = [*near.values()]
    own += [
        hit
        for hit in pages.values()
        if hit.score >= least.recalled or _names(task.instruction, hit.pattern)
    ]
    room = max(settings.top - len(own), min(WIDE, settings.top))
    general = _ranked(wide.values())[:room]
    return tuple(_ranked([*_ranked(own)[: settings.top - len(general)], *general]))


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
        found = _best(store, queries, domain, None, limit, threshold)
    return tuple(_ranked(found.values())[:limit])


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


def _ranked(hits: Iterable[PatternHit]) -> list[PatternHit]:
    return sorted(hits, key=lambda hit: -hit.score)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w{3,}", text.casefold()))


def _names(instruction: str, page: Pattern) -> bool:
    """Whether the instruction has every word of one of the page's names."""
    words = _words(instruction)
    return any(_words(name) and _words(name) <= words for name in page.conditions)
