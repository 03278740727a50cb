"""Routes of the view "patterns", by the functions and rules of ``hisa patterns``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any, Literal, get_args

from pydantic import TypeAdapter

from hisa.errors import UsageError
from hisa.patterns.stores.vector_store import VectorStore
from hisa.plugins.live.server.json_answers import Routes, route, whole_number
from hisa.plugins.live.server.server_context import ServerContext
from hisa.protocols import Embedder, Pattern

__all__ = ["routes"]

_PATIENCE = 3.0
"""Seconds to wait for a run that has the store open, before the viewer hears of it."""
_Edited = Literal["lesson", "domain", "kind", "scope", "condition", "actions", "expected"]
_changes = TypeAdapter(dict[_Edited, str])


def routes(context: ServerContext) -> Routes:
    """Returns the routes of patterns: list and search, show, edit, remove, export."""
    shelf, place = _Shelf(context), "/api/patterns/{name}"
    return [
        route("/api/patterns", shelf.listed, "q", "domain", "all", "limit"),
        route("/api/patterns/export", shelf.exported, "domain", "vectors"),
        route(place, shelf.shown, "name"),
        route(place, shelf.edited, "name", "body", method="PATCH"),
        route(place, shelf.removed, "name", "purge", method="DELETE"),
    ]


class _Shelf:
    """Reads and changes patterns; raises StoreError where a run keeps the store open."""

    def __init__(self, context: ServerContext) -> None:
        self._settings = context.settings

    def listed(self, query: str, domain: str, everything: str, limit: str) -> dict[str, Any]:
        from hisa.patterns.retrieval import search

        count = whole_number(limit, "limit", self._settings.patterns.top, 1000)
        name, status = domain or None, None if everything else "active"
        with self._open() as store:
            if not query:
                patterns = store.list(domain=name, status=status)
                return {"patterns": [asdict(pattern) for pattern in patterns]}
            text = query[:4000]
            hits = search(store, self._embedder, text, domain=name, limit=count, threshold=-1.0)
        return {"patterns": [{**asdict(hit.pattern), "score": hit.score} for hit in hits]}

    def exported(self, domain: str, vectors: str) -> object:
        from starlette.responses import Response

        from hisa.cli.pattern_files import export_lines

        with self._open() as store:
            lines = list(export_lines(store, vectors=bool(vectors), domain=domain or None))
        return Response("".join(f"{line}\n" for line in lines), media_type="application/jsonl")

    def shown(self, name: str) -> dict[str, Any]:
        """Returns a pattern, the chain it belongs to, oldest first, and the runs behind it."""
        from hisa.cli.patterns import chain_of

        with self._one(name) as (store, pattern):
            chain = chain_of(store.list(status=None), pattern)
        runs = dict.fromkeys(link.source_run for link in chain if link.source_run)
        history = [asdict(link) for link in chain]
        return {"pattern": asdict(pattern), "history": history, "source_runs": list(runs)}

    def edited(self, name: str, body: bytes) -> dict[str, Any]:
        """Stores a pattern with other texts; the old one, superseded, keeps what was counted."""
        from hisa.cli.pattern_files import written
        from hisa.patterns.pattern_text import retrieval_texts

        changes = _changes.validate_json(body, strict=True)
        with self._one(name) as (store, old):
            before = {key: str(getattr(old, key)) for key in get_args(_Edited)}
            made = written(**{**before, **changes})
            same = all(getattr(made, key) == text for key, text in before.items())
            if same or old.status != "active":
                raise UsageError("nothing is changed" if same else f"{old.id} is {old.status}")
            new = replace(made, embedder=self._embedder.name, source_run=old.source_run)
            store.put(new, *self._embedder.embed(retrieval_texts(new)))
            store.amend(replace(old, status="superseded", superseded_by=new.id))
        return {"pattern": asdict(new), "superseded": old.id}

    def removed(self, name: str, purge: str) -> dict[str, Any]:
        """Takes a pattern out of use; with ``purge`` not even the history keeps it."""
        with self._one(name) as (store, pattern):
            if purge:
                store.delete(pattern.id)
            elif pattern.status == "active":
                store.amend(replace(pattern, status="removed"))
        return {"id": pattern.id, "purged": bool(purge)}

    @cached_property
    def _embedder(self) -> Embedder:
        from hisa.patterns.embedders import open_embedder

        return open_embedder(self._settings.patterns.embedder)

    @contextmanager
    def _one(self, name: str) -> Iterator[tuple[VectorStore, Pattern]]:
        from hisa.cli.patterns import find_pattern

        with self._open() as store, store.session():
            yield store, find_pattern(store, name)

    @contextmanager
    def _open(self) -> Iterator[VectorStore]:
        from hisa.patterns.open_memory import open_store
        from hisa.patterns.stores.edge import EdgeStore

        settings = self._settings.patterns
        store, folder = open_store(settings, self._embedder), settings.path
        if isinstance(store, EdgeStore):
            store = EdgeStore(folder, self._embedder, patience=_PATIENCE)
        with closing(store):
            yield store
