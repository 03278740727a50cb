"""Storing new patterns: what says the same as an older one supersedes it (HiSA, section 3.3.3).

Retrieval vectors stand for kinds of tasks, so several lessons of one kind share one. Whether two
patterns say the same is therefore decided on the vectors of their lessons. Candidates are the
`CANDIDATES` nearest by either text, which is every pattern of a domain that has no more of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hisa.patterns.stores.base import VectorStore
from hisa.patterns.text import retrieval_text
from hisa.patterns.vectors import cosine
from hisa.protocols import Embedder, Pattern

__all__ = ["CANDIDATES", "Stored", "remember"]

CANDIDATES = 50


@dataclass(frozen=True)
class Stored:
    """A new pattern and the older ones it superseded, closest first."""

    pattern: Pattern
    superseded: tuple[Pattern, ...] = ()


def _nearby(
    store: VectorStore, domain: str, vectors: Sequence[Sequence[float]]
) -> dict[str, Pattern]:
    found: dict[str, Pattern] = {}
    for vector in vectors:
        hits = store.search(vector, domain=domain, limit=CANDIDATES, threshold=-1.0)
        found.update((hit.pattern.id, hit.pattern) for hit in hits)
    return found


def _same(
    lesson: Sequence[float],
    older: Sequence[tuple[Pattern, Sequence[float]]],
    domain: str,
    threshold: float,
) -> tuple[Pattern, ...]:
    """Older patterns of the domain whose lessons are as close as ``threshold``, closest first."""
    scored = [
        (cosine(lesson, vector), pattern) for pattern, vector in older if pattern.domain == domain
    ]
    scored.sort(key=lambda pair: -pair[0])
    return tuple(pattern for score, pattern in scored if score >= threshold)


def remember(
    store: VectorStore, patterns: Sequence[Pattern], *, embedder: Embedder, threshold: float
) -> tuple[Stored, ...]:
    """Store patterns that belong together; they do not supersede each other.

    Args:
        store: where to.
        patterns: new ones.
        embedder: the one that filled the store.
        threshold: cosine similarity of lessons from which an older one counts as the same.

    Raises:
        StoreError: the store cannot be written.
    """
    if not patterns:
        return ()
    lessons = embedder.embed([pattern.lesson for pattern in patterns])
    places = embedder.embed([retrieval_text(pattern) for pattern in patterns])
    done: list[Stored] = []
    with store.session():
        near: dict[str, Pattern] = {}
        for pattern, *pair in zip(patterns, lessons, places, strict=True):
            near |= _nearby(store, pattern.domain, pair)
        for pattern in patterns:
            near.pop(pattern.id, None)
        vectors = embedder.embed([pattern.lesson for pattern in near.values()])
        older = dict(zip(near, zip(near.values(), vectors, strict=True), strict=True))
        for pattern, lesson, place in zip(patterns, lessons, places, strict=True):
            same = _same(lesson, list(older.values()), pattern.domain, threshold)
            new = replace(
                pattern,
                embedder=embedder.name,
                uses=sum(old.uses for old in same),
                wins=sum(old.wins for old in same),
            )
            store.put(new, place)
            for old in same:
                store.amend(replace(old, status="superseded", superseded_by=pattern.id))
                del older[old.id]
            done.append(Stored(new, same))
    return tuple(done)
