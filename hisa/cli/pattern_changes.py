"""Patterns from a person, and new vectors for all of them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from hisa.errors import UsageError
from hisa.patterns.induction import new_id
from hisa.patterns.pattern_text import DOMAIN, LESSON_CHARS, clean, retrieval_texts, unbinding
from hisa.patterns.stores.base import Item
from hisa.patterns.stores.vector_store import VectorStore
from hisa.protocols import Embedder, Pattern

__all__ = ["reembed", "written"]

_BATCH = 256  # chosen by hand


def written(lesson: str, *, domain: str, condition: str, **more: Any) -> Pattern:
    """A new pattern of these texts, written by a person.

    Raises:
        UsageError: a text is too long or begins like a rule, the lesson is empty, or the domain is
            none.
    """
    for name, text in {"lesson": lesson, "condition": condition}.items():
        if len(text) > LESSON_CHARS:
            raise UsageError(f"{name}: {len(text)} characters; at most {LESSON_CHARS}")
        if unbinding(text) != text:
            raise UsageError(
                f'{name}: "MUST" marks rules, and a lesson never binds',
                fix="put rules into a file of the folder patterns.sops",
            )
    if not clean(lesson):
        raise UsageError("lesson: empty; say what to do or what to avoid")
    if not DOMAIN.fullmatch(domain):
        raise UsageError(f"domain {domain!r}: want lower-case letters, digits and _")
    return Pattern(
        id=new_id(),
        domain=domain,
        lesson=clean(lesson),
        condition=clean(condition),
        created_at=time.time(),
        **more,
    )


def reembed(store: VectorStore, embedder: Embedder) -> int:
    """Give every pattern a vector of ``embedder``, all at once; returns their number.

    Raises:
        StoreError: the store cannot be read or written.
    """
    with store.session():
        patterns = [pattern for pattern, _ in store.items()]
        return store.rebuild(_embedded(patterns, embedder), embedder)


def _embedded(patterns: Iterable[Pattern], embedder: Embedder) -> Iterator[Item]:
    """Patterns with fresh vectors, and the name of who made them."""
    waiting = iter(patterns)
    while page := list(islice(waiting, _BATCH)):
        texts = [text for pattern in page for text in retrieval_texts(pattern)]
        vectors = iter(embedder.embed(texts))
        for pattern in page:
            rows = list(islice(vectors, len(retrieval_texts(pattern))))
            yield replace(pattern, embedder=embedder.name), rows
