"""Patterns in Qdrant Edge: in process, in a folder, no server.

A shard can be open in one process only, so it is opened for each operation, or once for several in
a `EdgeStore.session`, under a lock of the folder: runs side by side take turns. Each write is
flushed before the lock is let go.

    FOLDER/lock        who is in
    FOLDER/meta.json   schema, embedder, dimension, and which shard is the current one
    FOLDER/shard-N/    Qdrant Edge's files

Replacing everything builds another shard beside the current one and then replaces meta.json, so a
crash at any point leaves either the old content or the new.
"""

from __future__ import annotations

import builtins
import json
import os
import shutil
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from hisa.errors import StoreError
from hisa.patterns.stores.base import (
    Item,
    Meta,
    check_meta,
    check_vector,
    dense,
    from_payload,
    point_id,
    to_payload,
)
from hisa.patterns.stores.migrations import SCHEMA, migrate
from hisa.protocols import Embedder, Pattern, PatternHit

if TYPE_CHECKING:
    import qdrant_edge as edge

__all__ = ["EdgeStore"]

_PAGE = 1000


@dataclass(frozen=True)
class _Meta(Meta):
    shard: str = "shard-1"


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
        raise StoreError(
            f"pattern store {where}: {error}",
            fix=f"move {where} away and import an export: hisa patterns import FILE",
        ) from error


class _Shard:
    """An open shard with its few operations; also what migrations change."""

    def __init__(self, shard: edge.EdgeShard) -> None:
        self.raw = shard

    @classmethod
    def create(cls, folder: Path, dimension: int) -> _Shard:
        import qdrant_edge as edge

        folder.mkdir(parents=True)
        vectors = edge.EdgeVectorParams(size=dimension, distance=edge.Distance.Cosine)
        return cls(edge.EdgeShard.create(str(folder), edge.EdgeConfig(vectors=vectors)))

    @classmethod
    def load(cls, folder: Path) -> _Shard:
        import qdrant_edge as edge

        return cls(edge.EdgeShard.load(str(folder)))

    def index_keyword(self, field: str, /) -> None:
        import qdrant_edge as edge

        kind = edge.PayloadSchemaType.Keyword
        self.raw.update(edge.UpdateOperation.create_field_index(field, kind))

    def upsert(self, items: Iterable[tuple[Pattern, Sequence[float]]]) -> int:
        import qdrant_edge as edge

        waiting, count = iter(items), 0
        while page := list(islice(waiting, _PAGE)):
            points = [
                edge.Point(point_id(pattern.id), [float(x) for x in vector], to_payload(pattern))
                for pattern, vector in page
            ]
            self.raw.update(edge.UpdateOperation.upsert_points(points))
            count += len(page)
        self.raw.flush()
        return count

    def records(self, filter_: edge.Filter | None, vectors: bool) -> Iterator[edge.Record]:
        import qdrant_edge as edge

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
    import qdrant_edge as edge

    conditions: list[Any] = [
        edge.FieldCondition(key=key, match=edge.MatchValue(value))
        for key, value in wanted.items()
        if value is not None
    ]
    return edge.Filter(must=conditions) if conditions else None


class EdgeStore:
    """A `PatternStore` in a folder.

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

    # ------------------------------------------------------------ opening

    @contextmanager
    def session(self) -> Iterator[None]:
        """Keep the shard open, and others out, for several operations; may be nested."""
        with self._mutex:
            if self._depth:
                yield
                return
            with self._locked():
                self._depth += 1
                try:
                    yield
                finally:
                    self._depth -= 1
                    self._shut()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        from hisa.patterns.stores.filelock import folder_lock

        with folder_lock(self.folder, self._patience):
            yield

    def _shut(self) -> None:
        opened, self._open = self._open, None
        if opened:
            with _explained(self.folder):
                opened[0].raw.close()

    def _read_meta(self) -> _Meta | None:
        path = self.folder / "meta.json"
        try:
            return _meta.validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            raise StoreError(
                f"{path}: not readable as the store's description: {error}",
                fix=f"move {self.folder} away and import an export: hisa patterns import FILE",
            ) from error

    def _write_meta(self, meta: _Meta) -> None:
        path = self.folder / "meta.json"
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            json.dump(asdict(meta), file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(f"{path}.new", path)

    def _shard(self, *, checked: bool = True) -> _Shard | None:
        """The open shard of this session; None while the store has never been written."""
        if self._open is None:
            meta = self._read_meta()
            if meta is None:
                return None
            if checked:
                check_meta(meta, self._embedder, where=f"pattern store {self.folder}")
            with _explained(self.folder):
                shard = _Shard.load(self.folder / meta.shard)
                self._open = shard, self._migrated(shard, meta)
        elif checked:
            check_meta(self._open[1], self._embedder, where=f"pattern store {self.folder}")
        return self._open[0]

    def _migrated(self, shard: _Shard, meta: _Meta) -> _Meta:
        if meta.schema >= SCHEMA:
            return meta
        new = _meta.validate_python(asdict(meta) | {"schema": migrate(shard, meta.schema)})
        shard.raw.flush()
        self._write_meta(new)
        return new

    def _unused(self) -> str:
        taken = [
            int(path.name[6:]) for path in self.folder.glob("shard-*") if path.name[6:].isdigit()
        ]
        return f"shard-{max(taken, default=0) + 1}"

    def _create(self, embedder: Embedder) -> tuple[_Shard, _Meta]:
        """A new shard; nobody sees it before its meta data is written."""
        meta = _Meta(SCHEMA, embedder.name, embedder.dimension, self._unused())
        shard = _Shard.create(self.folder / meta.shard, meta.dimension)
        migrate(shard, 0)
        shard.raw.flush()
        return shard, meta

    def _writable(self) -> tuple[_Shard, _Meta]:
        if self._shard() is None:
            shard, meta = self._create(self._embedder)
            self._write_meta(meta)
            self._open = shard, meta
        assert self._open
        return self._open

    # ------------------------------------------------------------ the protocol

    def put(self, pattern: Pattern, vector: Sequence[float]) -> None:
        """Insert or replace by id; on disk when this returns."""
        with self.session(), _explained(self.folder):
            shard, meta = self._writable()
            check_vector(vector, meta.dimension)
            shard.upsert([(pattern, vector)])

    def amend(self, pattern: Pattern, /) -> None:
        """Change a stored pattern and keep its vector."""
        import qdrant_edge as edge

        with self.session(), _explained(self.folder):
            shard = self._shard()
            if shard and shard.raw.retrieve([point_id(pattern.id)], False, False):
                change = edge.UpdateOperation.set_payload(
                    [point_id(pattern.id)], to_payload(pattern)
                )
                shard.raw.update(change)
                shard.raw.flush()

    def search(
        self, vector: Sequence[float], *, domain: str | None, limit: int, threshold: float
    ) -> builtins.list[PatternHit]:
        """Active patterns by falling cosine similarity, at least ``threshold``."""
        import qdrant_edge as edge

        with self.session(), _explained(self.folder):
            shard = self._shard()
            if shard is None or self._open is None:
                return []
            check_vector(vector, self._open[1].dimension)
            found = shard.raw.query(
                edge.QueryRequest(
                    limit=limit,
                    query=edge.Query.Nearest([float(x) for x in vector]),
                    filter=_filter(status="active", domain=domain),
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
        import qdrant_edge as edge

        with self.session(), _explained(self.folder):
            if shard := self._shard():
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
            for record in shard.records(None, True) if shard else ():
                yield from_payload(record.payload), dense(record.vector)

    def rebuild(self, items: Iterable[Item], embedder: Embedder) -> int:
        """Replace the whole content at once by vectors of ``embedder``."""
        with self.session(), _explained(self.folder):
            shard, meta = self._create(embedder)
            try:
                count = shard.upsert(items)
            except BaseException:
                shard.raw.close()
                shutil.rmtree(self.folder / meta.shard, ignore_errors=True)
                raise
            self._shut()
            self._write_meta(meta)
            self._open, self._embedder = (shard, meta), embedder
            self._drop_others(meta.shard)
        return count

    def _drop_others(self, current: str) -> None:
        for path in self.folder.glob("shard-*"):
            if path.name != current:
                shutil.rmtree(path, ignore_errors=True)
