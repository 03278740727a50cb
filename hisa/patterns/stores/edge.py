"""Patterns in Qdrant Edge: in process, in a folder, no server.

A shard can be open in one process only, so it is opened for each operation, or once for several in
a `EdgeStore.session`, under a lock of the folder: runs side by side take turns. Each write is
flushed before the lock is let go.

    FOLDER/lock             who is in
    FOLDER/queue/           who waits
    FOLDER/meta.json        schema, embedder, dimension, the current shard and its number of points
    FOLDER/patterns.jsonl   the same patterns as plain text; see `hisa.patterns.stores.journal`
    FOLDER/shard-N/         Qdrant Edge's files

Replacing everything builds another shard beside the current one and then replaces meta.json, so a
crash at any point leaves either the old content or the new. The engine opens damaged files as if
they held fewer points; the number in meta.json tells that from a store that has few.
"""

from __future__ import annotations

import builtins
import json
import math
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import Any

import qdrant_edge as edge
from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from hisa.errors import StoreError
from hisa.machine.storage import replace_file
from hisa.patterns.stores.base import (
    Item,
    Meta,
    Vectors,
    check_vectors,
    dense,
    from_payload,
    point_id,
    to_payload,
)
from hisa.patterns.stores.filelock import folder_lock
from hisa.patterns.stores.journal import Journal
from hisa.patterns.stores.migrations import SCHEMA, check_meta, migrate
from hisa.protocols import Embedder, Pattern, PatternHit, Scope

__all__ = ["CheckReport", "EdgeStore"]

_PAGE = 1000  # chosen by hand
_REPAIR = "hisa patterns doctor --repair"


@dataclass(frozen=True)
class _Meta(Meta):
    shard: str = "shard-1"
    points: int = 0
    """At least so many are in the shard; fewer are a loss. A crash may leave one more."""


_meta: TypeAdapter[_Meta] = TypeAdapter(_Meta)


@contextmanager
def _explained(where: Path) -> Iterator[None]:
    """Give the library's own errors a name and the folder.

    It raises bare `Exception`, and on damaged files a ``PanicException`` that it does not export.
    """
    try:
        yield
    except BaseException as error:
        if type(error) is not Exception and type(error).__name__ != "PanicException":
            raise
        raise StoreError(f"pattern store {where}: {error}", fix=_REPAIR) from error


class _Shard:
    """An open shard with its few operations; also what migrations change."""

    def __init__(
        self, shard: edge.EdgeShard, folder: Path, dimension: int, *, fresh: bool = False
    ) -> None:
        self.raw = shard
        self.folder = folder
        self._dimension = dimension
        self._fresh = fresh

    @classmethod
    def create(cls, folder: Path, dimension: int) -> _Shard:
        folder.mkdir(parents=True)
        vectors = edge.EdgeVectorParams(
            size=dimension,
            distance=edge.Distance.Cosine,
            multivector_config=edge.MultiVectorConfig(edge.MultiVectorComparator.MaxSim),
            # The engine's own default reads whole files, 32 MB each, into memory at every opening.
            memory=edge.Memory.Cold,
        )
        raw = edge.EdgeShard.create(str(folder), edge.EdgeConfig(vectors=vectors))
        return cls(raw, folder, dimension, fresh=True)

    @classmethod
    def load(cls, folder: Path, dimension: int) -> _Shard:
        return cls(edge.EdgeShard.load(str(folder)), folder, dimension)

    def count(self) -> int:
        return int(self.raw.count(edge.CountRequest(exact=True)))

    def items(self) -> Iterator[Item]:
        for record in self.records(None, True):
            yield from_payload(record.payload), dense(record.vector)

    def rewrite(self, change: Callable[[dict[str, Any]], dict[str, Any]], /) -> None:
        if self._fresh:
            return
        made = [(from_payload(change(to_payload(pattern))), rows) for pattern, rows in self.items()]
        new = _Shard.create(_unused(self.folder.parent), self._dimension)
        new.upsert(made)
        self.raw.close()
        self.raw, self.folder, self._fresh = new.raw, new.folder, True

    def index_keyword(self, field: str, /) -> None:
        kind = edge.PayloadSchemaType.Keyword
        self.raw.update(edge.UpdateOperation.create_field_index(field, kind))

    def upsert(self, items: Iterable[tuple[Pattern, Sequence[Sequence[float]]]]) -> int:
        waiting, count = iter(items), 0
        while page := list(islice(waiting, _PAGE)):
            points = [
                edge.Point(point_id(pattern.id), _rows(vectors), to_payload(pattern))
                for pattern, vectors in page
            ]
            self.raw.update(edge.UpdateOperation.upsert_points(points))
            count += len(page)
        self.raw.flush()
        return count

    def records(self, filter_: edge.Filter | None, vectors: bool) -> Iterator[edge.Record]:
        offset = None
        while True:
            page, offset = self.raw.scroll(
                edge.ScrollRequest(
                    offset=offset,
                    limit=_PAGE,
                    filter=filter_,
                    with_payload=True,
                    with_vector=vectors,
                )
            )
            yield from page
            if offset is None:
                return


def _filter(**wanted: str | None) -> edge.Filter | None:
    conditions: list[Any] = [
        edge.FieldCondition(key=key, match=edge.MatchValue(value))
        for key, value in wanted.items()
        if value is not None
    ]
    return edge.Filter(must=conditions) if conditions else None


def _rows(vectors: Sequence[Sequence[float]]) -> Vectors:
    return [[float(x) for x in vector] for vector in vectors]


def _is_same(one: Pattern, other: Pattern) -> bool:
    """Whether two copies agree; the engine gives a time back that may differ in its last place."""
    close = math.isclose(one.created_at, other.created_at, rel_tol=1e-12)
    return close and replace(one, created_at=other.created_at) == other


def _unused(folder: Path) -> Path:
    """A shard's folder that no shard had, the set-aside ones included."""
    names = (path.name.partition("shard-")[2] for path in folder.glob("*shard-*"))
    taken = [int(name) for name in names if name.isdigit()]
    return folder / f"shard-{max(taken, default=0) + 1}"


@dataclass(frozen=True)
class CheckReport:
    """What `EdgeStore.check` found: every pattern that can still be read, and what is wrong."""

    patterns: tuple[Pattern, ...] = ()
    problems: tuple[str, ...] = ()


class EdgeStore:
    """A `VectorStore` in a folder.

    Args:
        folder: made on the first write; until then the store reads as empty.
        embedder: the one whose vectors it holds.
        patience: seconds to wait for another process.

    Every method raises `StoreError` where the folder cannot be used, was filled by another
    embedder, or stays in use.
    """

    def __init__(self, folder: Path, embedder: Embedder, *, patience: float = 30.0) -> None:
        self.folder = folder.expanduser()
        self._embedder = embedder
        self._patience = patience
        self._mutex = threading.RLock()
        self._depth = 0
        self._open: tuple[_Shard, _Meta] | None = None
        self._journal = Journal(self.folder)

    # ------------------------------------------------------------ opening

    @contextmanager
    def session(self) -> Iterator[None]:
        """Keep the shard open, and others out, for several operations; may be nested."""
        with self._mutex:
            if self._depth:
                yield
                return
            with folder_lock(self.folder, self._patience):
                self._depth += 1
                try:
                    yield
                finally:
                    self._depth -= 1
                    self._shut()

    def _shut(self) -> None:
        opened, self._open = self._open, None
        if opened:
            with _explained(self.folder):
                opened[0].raw.close()
            self._journal.compact(opened[1].points)

    def _read_meta(self) -> _Meta | None:
        path = self.folder / "meta.json"
        try:
            return _meta.validate_json(path.read_bytes())
        except FileNotFoundError:
            self._refuse_orphans()
            return None
        except (OSError, ValidationError) as error:
            raise StoreError(
                f"{path}: not readable as the store's description: {error}", fix=_REPAIR
            ) from error

    def _refuse_orphans(self) -> None:
        """Distinguish a store whose description is lost from one that was never written."""
        left = [path for path in self.folder.glob("shard-*") if any(path.glob("segments/*/*"))]
        journal = self._journal.path
        if journal.exists() and journal.stat().st_size:
            left.append(journal)
        if left:
            raise StoreError(
                f"pattern store {self.folder}: meta.json is gone, though {left[-1].name} is there",
                fix=_REPAIR,
            )

    def _write_meta(self, meta: _Meta) -> None:
        text = json.dumps(asdict(meta))
        replace_file(self.folder / "meta.json", text.encode(), synced=True)

    def _shard(self, *, checked: bool = True) -> _Shard | None:
        """The open shard of this session; None while the store has never been written."""
        if self._open is None:
            meta = self._read_meta()
            if meta is None:
                return None
            if checked:
                check_meta(meta, self._embedder, where=f"pattern store {self.folder}")
            with _explained(self.folder):
                shard = _Shard.load(self.folder / meta.shard, meta.dimension)
            try:
                self._refuse_losses(shard, meta)
                self._open = shard, self._migrated(shard, meta)
            except BaseException:
                shard.raw.close()
                raise
        elif checked:
            check_meta(self._open[1], self._embedder, where=f"pattern store {self.folder}")
        return self._open[0]

    def _refuse_losses(self, shard: _Shard, meta: _Meta) -> None:
        with _explained(self.folder):
            found = shard.count()
        if found < meta.points:
            raise StoreError(
                f"pattern store {self.folder}: {found} of {meta.points} patterns are readable",
                fix=_REPAIR,
            )

    def _migrated(self, shard: _Shard, meta: _Meta) -> _Meta:
        if meta.schema >= SCHEMA:
            return meta
        with _explained(self.folder):
            reached = migrate(shard, meta.schema)
            shard.raw.flush()
            self._journal.replace(pattern for pattern, _ in shard.items())
            new = replace(meta, schema=reached, shard=shard.folder.name, points=shard.count())
        self._write_meta(new)
        self._drop_others(new.shard)
        return new

    def _create(self, embedder: Embedder) -> tuple[_Shard, _Meta]:
        """A new shard; nobody sees it before its meta data is written."""
        shard = _Shard.create(_unused(self.folder), embedder.dimension)
        migrate(shard, 0)
        shard.raw.flush()
        return shard, _Meta(SCHEMA, embedder.name, embedder.dimension, shard.folder.name)

    def _writable(self) -> tuple[_Shard, _Meta]:
        if self._shard() is None:
            shard, meta = self._create(self._embedder)
            self._write_meta(meta)
            self._open = shard, meta
        assert self._open
        return self._open

    # ------------------------------------------------------------ the protocol

    def put(self, pattern: Pattern, /, *vectors: Sequence[float]) -> None:
        """Insert or replace by id; on disk when this returns."""
        with self.session(), _explained(self.folder):
            shard, meta = self._writable()
            check_vectors(vectors, meta.dimension)
            self._journal.put([pattern])
            shard.upsert([(pattern, vectors)])
            self._count(shard.count())

    def _count(self, points: int) -> None:
        """Note the number of points; the caller has a shard open."""
        assert self._open
        shard, meta = self._open
        if points != meta.points:
            meta = replace(meta, points=points)
            self._write_meta(meta)
            self._open = shard, meta

    def amend(self, pattern: Pattern, /) -> None:
        """Change a stored pattern and keep its vectors."""
        with self.session(), _explained(self.folder):
            shard = self._shard()
            if shard and shard.raw.retrieve([point_id(pattern.id)], False, False):
                change = edge.UpdateOperation.set_payload(
                    [point_id(pattern.id)], to_payload(pattern)
                )
                self._journal.put([pattern])
                shard.raw.update(change)
                shard.raw.flush()

    def search(
        self,
        vector: Sequence[float],
        *,
        domain: str | None,
        limit: int,
        threshold: float,
        scope: Scope | None = None,
    ) -> builtins.list[PatternHit]:
        """Active patterns by falling cosine similarity, from ``threshold``; of a scope or all."""
        with self.session(), _explained(self.folder):
            shard = self._shard()
            if shard is None or self._open is None:
                return []
            check_vectors([vector], self._open[1].dimension)
            found = shard.raw.query(
                edge.QueryRequest(
                    limit=limit,
                    query=edge.Query.Nearest([float(x) for x in vector]),
                    filter=_filter(status="active", domain=domain, scope=scope),
                    with_payload=True,
                    score_threshold=threshold,
                )
            )
            return [PatternHit(from_payload(point.payload), point.score) for point in found]

    def get(self, pattern_id: str, /) -> Pattern | None:
        """One pattern, whatever its status."""
        with self.session(), _explained(self.folder):
            shard = self._shard()
            found = shard.raw.retrieve([point_id(pattern_id)], True, False) if shard else []
            return from_payload(found[0].payload) if found else None

    def list(
        self, *, domain: str | None = None, status: str | None = "active"
    ) -> builtins.list[Pattern]:
        """Patterns by falling ``created_at``."""
        with self.session(), _explained(self.folder):
            shard = self._shard()
            records = shard.records(_filter(status=status, domain=domain), False) if shard else ()
            patterns = [from_payload(record.payload) for record in records]
        return sorted(patterns, key=lambda pattern: (-pattern.created_at, pattern.id))

    def delete(self, pattern_id: str, /) -> None:
        """Remove for good."""
        with self.session(), _explained(self.folder):
            shard = self._shard()
            if shard and shard.raw.retrieve([point_id(pattern_id)], False, False):
                self._count(shard.count() - 1)
                self._journal.delete(pattern_id)
                shard.raw.update(edge.UpdateOperation.delete_points([point_id(pattern_id)]))
                shard.raw.flush()

    def close(self) -> None:
        """Nothing to do: files are open only inside an operation or a session."""

    # ------------------------------------------------------------ everything at once

    def meta(self) -> Meta | None:
        """Who filled it."""
        return self._read_meta()

    def items(self) -> Iterator[Item]:
        """Everything, whatever its status and whoever embedded it."""
        with self.session(), _explained(self.folder):
            shard = self._shard(checked=False)
            yield from shard.items() if shard else ()

    def rebuild(self, items: Iterable[Item], embedder: Embedder) -> int:
        """Replace the whole content at once by vectors of ``embedder``."""
        with self.session(), _explained(self.folder):
            count = self._replaced(items, embedder)
            self._drop_others(self._writable()[1].shard)
        return count

    def _replaced(self, items: Iterable[Item], embedder: Embedder) -> int:
        shard, meta = self._create(embedder)
        try:
            count = shard.upsert(items)
            meta = replace(meta, points=shard.count())
            self._journal.replace(pattern for pattern, _ in shard.items())
        except BaseException:
            shard.raw.close()
            shutil.rmtree(shard.folder, ignore_errors=True)
            raise
        self._shut()
        self._write_meta(meta)
        self._open, self._embedder = (shard, meta), embedder
        return count

    def _drop_others(self, current: str) -> None:
        for path in self.folder.glob("shard-*"):
            if path.name != current:
                shutil.rmtree(path, ignore_errors=True)

    # ------------------------------------------------------------ damage

    def check(self) -> CheckReport:
        """Every pattern that the index or the journal still has, and what is wrong with either.

        Where both have a pattern, the journal's counts: it is written first.
        """
        with self.session():
            problems: list[str] = []
            indexed = self._indexed(problems)
            noted = self._journal.read()
            if noted.unreadable:
                lines = ", ".join(map(str, noted.unreadable[:5]))
                problems.append(
                    f"{len(noted.unreadable)} lines of {self._journal.path} are unreadable: {lines}"
                )
            for name, more in (
                ("missing from the index", noted.patterns.keys() - indexed.keys()),
                ("only in the index", indexed.keys() - noted.patterns.keys()),
                (
                    "other in the index than in the journal",
                    {
                        key
                        for key in indexed.keys() & noted.patterns.keys()
                        if not _is_same(indexed[key], noted.patterns[key])
                    },
                ),
            ):
                if more:
                    some = ", ".join(sorted(more)[:5])
                    problems.append(f"{len(more)} patterns are {name}: {some}")
        return CheckReport(tuple((indexed | noted.patterns).values()), tuple(problems))

    def _indexed(self, problems: builtins.list[str]) -> dict[str, Pattern]:
        """Returns the index's readable patterns; adds to ``problems`` if some are not."""
        found: dict[str, Pattern] = {}
        try:
            shard = self._shard(checked=False)
            with _explained(self.folder):
                for pattern, _ in shard.items() if shard else ():
                    found[pattern.id] = pattern
        except StoreError as error:
            problems.append(str(error))
            found |= self._rest()
        return found

    def _rest(self) -> dict[str, Pattern]:
        """The readable points of damaged shards; points that are no pattern are skipped."""
        found: dict[str, Pattern] = {}
        self._shut()
        for folder in sorted(self.folder.glob("shard-*")):
            try:
                with _explained(folder):
                    shard = _Shard.load(folder, self._embedder.dimension)
                    for record in shard.records(None, False):
                        pattern = from_payload(record.payload)
                        found[pattern.id] = pattern
                    shard.raw.close()
            except StoreError:
                continue
        return found

    def repair(self, items: Iterable[Item], embedder: Embedder) -> int:
        """`rebuild`, with the shards of before kept beside it under names out of use."""
        with self.session(), _explained(self.folder):
            count = self._replaced(items, embedder)
            for path in self.folder.glob("shard-*"):
                if path.name != self._writable()[1].shard:
                    path.rename(path.with_name(f"damaged-{path.name}"))
        return count
