"""The pattern store as the page reads and changes it, by the functions of ``hisa patterns``."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from typing import Any

from hisa.cli.pattern_files import export_lines, written
from hisa.cli.patterns import chain_of, find_pattern
from hisa.config import Settings
from hisa.errors import UsageError
from hisa.patterns.embedders import open_embedder
from hisa.patterns.open_memory import open_store
from hisa.patterns.pattern_text import retrieval_texts
from hisa.patterns.retrieval import search as nearest
from hisa.patterns.stores.base import VectorStore
from hisa.protocols import Embedder, Pattern

__all__ = ["PatternShelf"]

_PATIENCE = 3.0
"""Seconds to wait for a run that has the store open: a viewer sees an error rather than nothing."""
_EDITED = ("lesson", "domain", "kind", "scope", "condition", "actions", "expected")


class PatternShelf:
    """Reads and changes patterns; its functions may be called by threads.

    All raise StoreError where the store cannot be read, or a run keeps it open.

    Args:
        settings: of the store.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._embedder: Embedder | None = None

    def every(self, domain: str, everything: str) -> dict[str, Any]:
        """Returns patterns, newest first; superseded and removed ones too where asked for."""
        with self._open() as (store, _):
            found = store.list(domain=domain or None, status=None if everything else "active")
        domains = sorted({pattern.domain for pattern in found})
        return {"patterns": [asdict(pattern) for pattern in found], "domains": domains}

    def search(self, text: str, domain: str, limit: int) -> dict[str, Any]:
        """Returns the patterns nearest to a text, each with its similarity as ``score``."""
        with self._open() as (store, embedder):
            hits = nearest(
                store, embedder, text, domain=domain or None, limit=limit, threshold=-1.0
            )
        return {"patterns": [asdict(hit.pattern) | {"score": hit.score} for hit in hits]}

    def one(self, name: str) -> dict[str, Any]:
        """Returns a pattern, the chain it belongs to, oldest first, and the runs that taught it.

        Raises:
            UsageError: there is none.
        """
        with self._open() as (store, _), store.session():
            pattern = find_pattern(store, name)
            chain = chain_of(store.list(status=None), pattern)
        runs = dict.fromkeys(link.source_run for link in chain if link.source_run)
        history = [asdict(link) for link in chain]
        return {"pattern": asdict(pattern), "history": history, "source_runs": list(runs)}

    def edit(self, name: str, changes: object) -> dict[str, Any]:
        """Stores a pattern with other texts; the old one is superseded and stays in the history.

        Raises:
            UsageError: there is no such pattern, it is out of use, or a text is refused.
        """
        if not isinstance(changes, dict) or not changes or not set(changes) <= set(_EDITED):
            raise UsageError(f"a change: want an object with some of {', '.join(_EDITED)}")
        if wrong := [key for key, value in changes.items() if not isinstance(value, str)]:
            raise UsageError(f"{wrong[0]}: want a text")
        with self._open() as (store, embedder), store.session():
            old = _active(find_pattern(store, name))
            fields = {key: getattr(old, key) for key in _EDITED} | changes
            made = written(**fields)
            new = replace(
                old, **{key: getattr(made, key) for key in _EDITED}, id=made.id,
                created_at=time.time(), embedder=embedder.name,
            )  # fmt: skip
            if replace(new, id=old.id, created_at=old.created_at, embedder=old.embedder) == old:
                raise UsageError("nothing is changed")
            store.put(new, *embedder.embed(retrieval_texts(new)))
            store.amend(replace(old, status="superseded", superseded_by=new.id))
        return {"pattern": asdict(new), "superseded": old.id}

    def remove(self, name: str, purge: str) -> dict[str, Any]:
        """Takes a pattern out of use; with ``purge`` for good, not even kept in the history.

        Raises:
            UsageError: there is none.
        """
        with self._open() as (store, _), store.session():
            pattern = find_pattern(store, name)
            if purge:
                store.delete(pattern.id)
            else:
                store.amend(replace(_active(pattern), status="removed"))
        return {"id": pattern.id, "purged": bool(purge)}

    def export(self, domain: str, vectors: str) -> str:
        """Returns all patterns as ``hisa patterns import`` reads them."""
        with self._open() as (store, _):
            lines = list(export_lines(store, vectors=bool(vectors), domain=domain or None))
        return "".join(f"{line}\n" for line in lines)

    @contextmanager
    def _open(self) -> Iterator[tuple[VectorStore, Embedder]]:
        if self._embedder is None:
            self._embedder = open_embedder(self._settings.patterns.embedder)
        chosen = self._embedder
        place = self._settings.patterns
        if place.engine == "server":
            store = open_store(self._settings, chosen)
        else:
            from hisa.patterns.stores.edge import EdgeStore

            store = EdgeStore(place.path, chosen, patience=_PATIENCE)
        with closing(store):
            yield store, chosen


def _active(pattern: Pattern) -> Pattern:
    if pattern.status != "active":
        raise UsageError(f"pattern {pattern.id} is {pattern.status}: only one in use is changed")
    return pattern
