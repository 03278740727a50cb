"""Stores new patterns; one that says the same as an older one supersedes it (HiSA, section 3.3.3).

- Whether two patterns say the same is decided on the vectors of their lessons. The vectors for
  retrieval stand for kinds of tasks, so different lessons may share one.
- A new pattern is compared with the `CANDIDATES` older ones nearest to any of its texts.
- If the lesson has the same words as an older one, the older pattern is confirmed instead.
- A warning never supersedes a way that worked, nor the other way round: two lessons may be alike
  and yet say the opposite.
- The kinds of tasks by which the older pattern was found are kept in all cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hisa.patterns.pattern_text import retrieval_texts, same_words
from hisa.patterns.stores.vector_store import VectorStore
from hisa.patterns.vectors import cosine
from hisa.protocols import Embedder, Pattern

__all__ = ["CANDIDATES", "CONDITIONS", "StoredPattern", "remember"]

CANDIDATES = 20
"""Most older patterns whose lessons are compared; each costs an embedding."""
CONDITIONS = 8
"""Most kinds of tasks that a pattern keeps: the newest. Each is a vector in every search."""


@dataclass(frozen=True)
class StoredPattern:
    """A stored pattern, and the older ones that it superseded, closest first.

    If ``confirmed`` is True, it is an older pattern that another run has taught again.
    """

    pattern: Pattern
    superseded: tuple[Pattern, ...] = ()
    confirmed: bool = False


def remember(
    store: VectorStore, patterns: Sequence[Pattern], *, embedder: Embedder, threshold: float
) -> tuple[StoredPattern, ...]:
    """Store the patterns of one run; they do not supersede each other.

    Args:
        store: the store to put them into.
        patterns: the new patterns.
        embedder: the embedder that filled the store.
        threshold: least cosine similarity (-1 to 1) at which two lessons say the same.

    Raises:
        StoreError: the store cannot be written.
    """
    if not patterns:
        return ()
    vectors = _Vectors(embedder)
    vectors.add(
        text for pattern in patterns for text in (pattern.lesson, *retrieval_texts(pattern))
    )
    with store.session():
        older: dict[str, Pattern] = {}
        for pattern in patterns:
            older |= _find_candidates(store, pattern, vectors)
        for pattern in patterns:
            older.pop(pattern.id, None)
        return tuple(
            _store_pattern(store, pattern, older, vectors, threshold) for pattern in patterns
        )


class _Vectors:
    """The vectors of texts; each text is embedded once."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._known: dict[str, list[float]] = {}

    def add(self, texts: Iterable[str]) -> None:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, self.embedder.embed(new), strict=True) if new else ())

    def of(self, texts: Sequence[str]) -> list[list[float]]:
        self.add(texts)
        return [self._known[text] for text in texts]


def _find_candidates(store: VectorStore, pattern: Pattern, vectors: _Vectors) -> dict[str, Pattern]:
    candidates: dict[str, Pattern] = {}
    for vector in vectors.of([pattern.lesson, *retrieval_texts(pattern)]):
        hits = store.search(vector, domain=pattern.domain, limit=CANDIDATES, threshold=-1.0)
        candidates.update((hit.pattern.id, hit.pattern) for hit in hits)
    return candidates


def _store_pattern(
    store: VectorStore,
    pattern: Pattern,
    older: dict[str, Pattern],
    vectors: _Vectors,
    threshold: float,
) -> StoredPattern:
    """Store a pattern, or confirm an older one; removes the superseded ones from ``older``."""
    mine = pattern.domain, pattern.kind
    near = [old for old in older.values() if (old.domain, old.kind) == mine]
    equal = next((old for old in near if same_words(old.lesson, pattern.lesson)), None)
    if equal is not None:
        again = equal.source_run != pattern.source_run or not pattern.source_run
        confirmed_pattern = replace(
            _merge_conditions(equal, [pattern]), confirmed=equal.confirmed + again
        )
        store.put(confirmed_pattern, *vectors.of(retrieval_texts(confirmed_pattern)))
        older[confirmed_pattern.id] = confirmed_pattern
        return StoredPattern(confirmed_pattern, confirmed=True)
    same = _same(pattern, near, vectors, threshold)
    new = replace(_merge_conditions(pattern, same), embedder=vectors.embedder.name)
    for old in same:
        new = replace(
            new,
            uses=new.uses + old.uses,
            scored=new.scored + old.scored,
            wins=new.wins + old.wins,
        )
    store.put(new, *vectors.of(retrieval_texts(new)))
    for old in same:
        store.amend(replace(old, status="superseded", superseded_by=new.id))
        del older[old.id]
    return StoredPattern(new, same)


def _same(
    pattern: Pattern, older: Sequence[Pattern], vectors: _Vectors, threshold: float
) -> tuple[Pattern, ...]:
    """Returns the older patterns whose lessons are as close as ``threshold``, closest first."""
    (lesson,) = vectors.of([pattern.lesson])
    places = vectors.of([old.lesson for old in older])
    scored = [(cosine(lesson, place), old) for place, old in zip(places, older, strict=True)]
    scored.sort(key=lambda pair: -pair[0])
    return tuple(old for score, old in scored if score >= threshold)


def _merge_conditions(pattern: Pattern, others: Sequence[Pattern]) -> Pattern:
    """Returns the pattern with the kinds of tasks of the others added; its own first one stays."""
    own, more = pattern.conditions, [text for other in others for text in other.conditions]
    conditions = list(dict.fromkeys([*own, *more]))
    if len(conditions) > CONDITIONS:
        conditions = [conditions[0], *conditions[1 - CONDITIONS :]]
    return replace(
        pattern,
        condition=conditions[0] if conditions else "",
        other_conditions=tuple(conditions[1:]),
    )
