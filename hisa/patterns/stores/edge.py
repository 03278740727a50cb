"""Patterns in Qdrant Edge: in process, in a folder, no server.

A shard can be open in one process only, so it is opened for each operation, or once for several in
a session, under a lock of the folder: runs side by side wait for each other. Each write is flushed
before the lock is let go.

    FOLDER/lock             who is in
    FOLDER/meta.json        schema, embedder, dimension, the current shard and its number of points
    FOLDER/shard-N/         Qdrant Edge's files

The engine opens damaged files as if they held fewer points; the number in meta.json tells that from
a store that has few.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import Any

import qdrant_edge as edge
from filelock import FileLock, Timeout
from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from hisa.errors import StoreError
from hisa.machine.storage import PRIVATE_FILE, replace_file
from hisa.patterns.stores.base import (
    RESTORE,
    SCHEMA,
    Collection,
    Item,
    Meta,
    point_id,
    to_payload,
)
from hisa.patterns.stores.vector_store import VectorStore
from hisa.protocols import Embedder, Pattern

__all__ = ["EdgeStore"]

_PAGE = 1000  # chosen by hand
_PAUSE = 0.01
"""Seconds between two tries of the lock; chosen by hand."""


@dataclass(frozen=True)
class _EdgeMeta(Meta):
    shard: str = "shard-1"
    points: int = 0
    """At least so many are in the shard; fewer are a loss. A crash may leave one more."""


_meta: TypeAdapter[_EdgeMeta] = TypeAdapter(_EdgeMeta)


class _Shard:
    """A `Collection` in a folder of the store's; once published, the meta data follow it."""

    def __init__(self, raw: edge.EdgeShard, store: Path, meta: _EdgeMeta) -> None:
        self.raw, self.store, self.meta = raw, store, meta
        self.published = False

    @classmethod
    def create(cls, store: Path, meta: _EdgeMeta) -> _Shard:
        folder = store / meta.shard
        folder.mkdir(parents=True)
        vectors = edge.EdgeVectorParams(
            size=meta.dimension,
            distance=edge.Distance.Cosine,
            multivector_config=edge.MultiVectorConfig(edge.MultiVectorComparator.MaxSim),
            # The engine's own default reads whole files, 32 MB each, into memory at every opening.
            memory=edge.Memory.Cold,
        )
        raw = edge.EdgeShard.create(str(folder), edge.EdgeConfig(vectors=vectors))
        for field in ("domain", "status", "scope"):
            kind = edge.PayloadSchemaType.Keyword
            raw.update(edge.UpdateOperation.create_field_index(field, kind))
        raw.flush()
        return cls(raw, store, meta)

    @classmethod
    def load(cls, store: Path, meta: _EdgeMeta) -> _Shard:
        return cls(edge.EdgeShard.load(str(store / meta.shard)), store, meta)

    def count(self) -> int:
        return int(self.raw.count(edge.CountRequest(exact=True)))

    def publish(self, points: int) -> None:
        """Make the store's meta data name this shard and its number of points."""
        self.published = True
        self.meta = replace(self.meta, points=points)
        replace_file(self.store / "meta.json", json.dumps(asdict(self.meta)).encode(), synced=True)

    def upsert(self, items: Iterable[Item], /) -> int:
        waiting, count = iter(items), 0
        while page := list(islice(waiting, _PAGE)):
            points = [
                edge.Point(point_id(pattern.id), rows, to_payload(pattern))
                for pattern, rows in page
            ]
            self.raw.update(edge.UpdateOperation.upsert_points(points))
            count += len(page)
        self.raw.flush()
        if self.published and (points_now := self.count()) != self.meta.points:
            self.publish(points_now)
        return count

    def amend(self, pattern: Pattern, /) -> None:
        change = edge.UpdateOperation.set_payload([point_id(pattern.id)], to_payload(pattern))
        self.raw.update(change)
        self.raw.flush()

    def delete(self, pattern_id: str, /) -> None:
        if self.payload(pattern_id) is None:
            return
        self.publish(self.count() - 1)  # first: a crash after it leaves one more, no loss
        self.raw.update(edge.UpdateOperation.delete_points([point_id(pattern_id)]))
        self.raw.flush()

    def payload(self, pattern_id: str, /) -> dict[str, Any] | None:
        found = self.raw.retrieve([point_id(pattern_id)], True, False)
        return dict(found[0].payload or {}) if found else None

    def nearest(
        self, vector: Sequence[float], /, *, limit: int, threshold: float, **wanted: str | None
    ) -> list[tuple[Any, float]]:
        found = self.raw.query(
            edge.QueryRequest(
                limit=limit,
                query=edge.Query.Nearest(list(vector)),
                filter=_filter(wanted),
                with_payload=True,
                score_threshold=threshold,
            )
        )
        return [(point.payload, point.score) for point in found]

    def scroll(self, *, vectors: bool, **wanted: str | None) -> Iterator[tuple[Any, Any]]:
        offset = None
        while True:
            page, offset = self.raw.scroll(
                edge.ScrollRequest(
                    offset=offset,
                    limit=_PAGE,
                    filter=_filter(wanted),
                    with_payload=True,
                    with_vector=vectors,
                )
            )
            yield from ((record.payload, record.vector) for record in page)
            if offset is None:
                return


def _filter(wanted: dict[str, str | None]) -> edge.Filter | None:
    conditions: list[Any] = [
        edge.FieldCondition(key=key, match=edge.MatchValue(value))
        for key, value in wanted.items()
        if value is not None
    ]
    return edge.Filter(must=conditions) if conditions else None


class EdgeStore(VectorStore):
    """A `VectorStore` in a folder.

    Args:
        folder: made on the first write; until then the store reads as empty.
        embedder: the one whose vectors it holds.
        patience: seconds to wait for another process.
    """

    def __init__(self, folder: Path, embedder: Embedder, *, patience: float = 30.0) -> None:
        self.folder = folder.expanduser()
        super().__init__(embedder, where=f"pattern store {self.folder}")
        self._patience = patience
        self._mutex = threading.RLock()
        self._lock = FileLock(self.folder / "lock", mode=PRIVATE_FILE, thread_local=False)
        self._open: _Shard | None = None

    @contextmanager
    def session(self) -> Iterator[None]:
        """Keep the shard open, and others out, for several operations; may be nested."""
        with self._mutex, self._explained():
            if self._lock.is_locked:
                yield
                return
            self._take_lock()
            try:
                yield
            finally:
                try:
                    self._shut()
                finally:
                    self._lock.release()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Give the engine's own errors a name and the folder.

        It raises bare `Exception`, and on damaged files a ``PanicException`` that it does not
        export.
        """
        try:
            yield
        except BaseException as error:
            if type(error) is not Exception and type(error).__name__ != "PanicException":
                raise
            raise StoreError(f"{self._where}: {error}", fix=RESTORE) from error

    def _take_lock(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(self._patience, poll_interval=_PAUSE)
        except Timeout as error:
            raise StoreError(
                f"{self._where} is held by other processes for over {self._patience:g} s",
                fix="wait for their import or re-embedding, or --set patterns.path=FOLDER",
            ) from error
        except OSError as error:
            raise StoreError(
                f"{self._where}: {error.strerror}",
                fix="--set patterns.path=FOLDER with a folder that you can write",
            ) from error

    def _shut(self) -> None:
        shard, self._open = self._open, None
        if shard is not None:
            shard.raw.close()

    def close(self) -> None:
        """Nothing to do: files are open only inside an operation or a session."""

    def meta(self) -> _EdgeMeta | None:
        """Who filled it."""
        path = self.folder / "meta.json"
        try:
            return _meta.validate_json(path.read_bytes())
        except FileNotFoundError:
            self._refuse_orphans()
            return None
        except (OSError, ValidationError) as error:
            raise StoreError(
                f"{path}: not readable as the store's description: {error}", fix=RESTORE
            ) from error

    def _refuse_orphans(self) -> None:
        """Distinguish a store whose description is lost from one that was never written."""
        left = [path for path in self.folder.glob("shard-*") if any(path.glob("segments/*/*"))]
        if left:
            raise StoreError(
                f"{self._where}: meta.json is gone, though {left[-1].name} is there", fix=RESTORE
            )

    def _collection(self) -> Collection | None:
        if self._open is None:
            meta = self.meta()
            if meta is None:
                return None
            shard = _Shard.load(self.folder, meta)
            found = shard.count()
            if found < meta.points:
                shard.raw.close()
                raise StoreError(
                    f"{self._where}: {found} of {meta.points} patterns are readable", fix=RESTORE
                )
            shard.published, self._open = True, shard
        return self._open

    def _create(self, embedder: Embedder) -> Collection:
        names = (path.name.partition("shard-")[2] for path in self.folder.glob("shard-*"))
        number = max((int(name) for name in names if name.isdigit()), default=0) + 1
        meta = _EdgeMeta(SCHEMA, embedder.name, embedder.dimension, f"shard-{number}")
        return _Shard.create(self.folder, meta)

    def _publish(self, new: Collection) -> None:
        assert isinstance(new, _Shard)
        self._shut()
        new.publish(new.count())
        self._open = new
        for folder in self.folder.glob("shard-*"):
            if folder.name != new.meta.shard:
                shutil.rmtree(folder, ignore_errors=True)

    def _discard(self, new: Collection) -> None:
        assert isinstance(new, _Shard)
        new.raw.close()
        shutil.rmtree(self.folder / new.meta.shard, ignore_errors=True)
