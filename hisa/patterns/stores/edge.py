"""Patterns in Qdrant Edge: in this process, in a folder, without a server.

Only one process at a time can have a shard open. So it is opened for each operation, or once for a
session of several, under a lock on the folder: runs side by side wait for each other. Each write is
flushed before the lock is released.

    FOLDER/lock             held by the process that has the shard open
    FOLDER/meta.json        schema, embedder, dimension, the shard and its number of points
    FOLDER/shard-1/         Qdrant Edge's files

The engine opens damaged files as if they held fewer points; the number in meta.json shows that some
are lost.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterable, Iterator
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
from hisa.patterns.stores.vector_store import (
    RESTORE,
    SCHEMA,
    Item,
    Meta,
    VectorStore,
    point_id,
    to_payload,
)
from hisa.protocols import Embedder, Pattern

__all__ = ["EdgeStore"]

_PAGE = 1000  # chosen by hand
_PAUSE = 0.01
"""Seconds between two tries of the lock; chosen by hand."""


@dataclass(frozen=True)
class _EdgeMeta(Meta):
    shard: str = "shard-1"
    points: int = 0
    """Least number of points in the shard; fewer are a loss. A crash may leave one more."""


_meta: TypeAdapter[_EdgeMeta] = TypeAdapter(_EdgeMeta)


def _count(shard: edge.EdgeShard) -> int:
    return int(shard.count(edge.CountRequest(exact=True)))


def _filter(fields: dict[str, str | None]) -> edge.Filter | None:
    conditions: list[Any] = [
        edge.FieldCondition(key=key, match=edge.MatchValue(value))
        for key, value in fields.items()
        if value is not None
    ]
    return edge.Filter(must=conditions) if conditions else None


class EdgeStore(VectorStore):
    """A `VectorStore` in a folder.

    Args:
        folder: created by the first write; until then the store reads as empty.
        embedder: the embedder whose vectors the store holds.
        patience: longest wait, in seconds, for another process.
    """

    def __init__(self, folder: Path, embedder: Embedder, *, patience: float = 30.0) -> None:
        self.folder = folder.expanduser()
        super().__init__(embedder, where=f"pattern store {self.folder}")
        self._patience = patience
        self._mutex = threading.RLock()
        self._lock = FileLock(self.folder / "lock", mode=PRIVATE_FILE, thread_local=False)
        self._open: edge.EdgeShard | None = None

    @contextmanager
    def session(self) -> Iterator[None]:
        """Keep the shard open, and others out, for several operations; may be nested."""
        with self._mutex, self._explain_errors():
            if self._lock.is_locked:
                yield
                return
            self._take_lock()
            try:
                yield
            finally:
                shard, self._open = self._open, None
                try:
                    if shard is not None:
                        shard.close()
                finally:
                    self._lock.release()

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        """Turn the engine's errors into a `StoreError` that names the folder.

        The engine raises bare `Exception`, and for damaged files a ``PanicException`` that it does
        not export.
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
                f"{self._where} has been in use by other processes for over {self._patience:g} s",
                fix="wait until their import is done, or --set patterns.path=FOLDER",
            ) from error
        except OSError as error:
            raise StoreError(
                f"{self._where}: {error.strerror}",
                fix="--set patterns.path=FOLDER with a folder that you can write",
            ) from error

    def close(self) -> None:
        """Do nothing: files are open only inside an operation or a session."""

    def meta(self) -> _EdgeMeta | None:
        """Returns the store's description; None while nothing was written."""
        path = self.folder / "meta.json"
        try:
            return _meta.validate_json(path.read_bytes())
        except FileNotFoundError:
            self._refuse_orphans()
            return None
        except (OSError, ValidationError) as error:
            raise StoreError(
                f"{path} cannot be read as the description of the store: {error}", fix=RESTORE
            ) from error

    def _refuse_orphans(self) -> None:
        """Distinguish a store whose description is lost from one that was never written."""
        left = [path for path in self.folder.glob("shard-*") if any(path.glob("segments/*/*"))]
        if left:
            raise StoreError(
                f"{self._where}: meta.json is missing, but {left[-1].name} is there", fix=RESTORE
            )

    def _require_meta(self) -> _EdgeMeta:
        meta = self.meta()
        assert meta is not None
        return meta

    def _describe(self, meta: _EdgeMeta) -> None:
        replace_file(self.folder / "meta.json", json.dumps(asdict(meta)).encode(), synced=True)

    def _shard(self) -> edge.EdgeShard:
        """Returns the shard, which is opened once in a session."""
        if self._open is None:
            meta = self._require_meta()
            shard = edge.EdgeShard.load(str(self.folder / meta.shard))
            count = _count(shard)
            if count < meta.points:
                shard.close()
                raise StoreError(
                    f"{self._where}: {count} of {meta.points} patterns are readable", fix=RESTORE
                )
            self._open = shard
        return self._open

    def _create(self) -> None:
        meta = _EdgeMeta(SCHEMA, self._embedder.name, self._embedder.dimension)
        folder = self.folder / meta.shard
        shutil.rmtree(folder, ignore_errors=True)  # left by a creation that was interrupted
        folder.mkdir(parents=True)
        vectors = edge.EdgeVectorParams(
            size=meta.dimension,
            distance=edge.Distance.Cosine,
            multivector_config=edge.MultiVectorConfig(edge.MultiVectorComparator.MaxSim),
            # The engine's own default reads whole files, 32 MB each, into memory at every opening.
            memory=edge.Memory.Cold,
        )
        self._open = edge.EdgeShard.create(str(folder), edge.EdgeConfig(vectors=vectors))
        for field in ("domain", "status", "scope"):
            kind = edge.PayloadSchemaType.Keyword
            self._open.update(edge.UpdateOperation.create_field_index(field, kind))
        self._open.flush()
        self._describe(meta)

    def _upsert(self, items: Iterable[Item]) -> None:
        shard, waiting = self._shard(), iter(items)
        while page := list(islice(waiting, _PAGE)):
            points = [
                edge.Point(point_id(pattern.id), rows, to_payload(pattern))
                for pattern, rows in page
            ]
            shard.update(edge.UpdateOperation.upsert_points(points))
        shard.flush()
        meta, points_now = self._require_meta(), _count(shard)
        if points_now != meta.points:
            self._describe(replace(meta, points=points_now))

    def _amend(self, pattern: Pattern) -> None:
        change = edge.UpdateOperation.set_payload([point_id(pattern.id)], to_payload(pattern))
        self._shard().update(change)
        self._shard().flush()

    def _delete(self, pattern_id: str) -> None:
        if self._payload(pattern_id) is None:
            return
        shard = self._shard()
        # Before the deletion: after a crash in between, one point too many is no loss.
        self._describe(replace(self._require_meta(), points=_count(shard) - 1))
        shard.update(edge.UpdateOperation.delete_points([point_id(pattern_id)]))
        shard.flush()

    def _payload(self, pattern_id: str) -> dict[str, Any] | None:
        records = self._shard().retrieve([point_id(pattern_id)], True, False)
        return dict(records[0].payload or {}) if records else None

    def _nearest(
        self, vector: list[float], *, limit: int, threshold: float, **fields: str | None
    ) -> list[tuple[Any, float]]:
        points = self._shard().query(
            edge.QueryRequest(
                limit=limit,
                query=edge.Query.Nearest(vector),
                filter=_filter(fields),
                with_payload=True,
                score_threshold=threshold,
            )
        )
        return [(point.payload, point.score) for point in points]

    def _scroll(self, **fields: str | None) -> Iterator[Any]:
        offset = None
        while True:
            page, offset = self._shard().scroll(
                edge.ScrollRequest(
                    offset=offset,
                    limit=_PAGE,
                    filter=_filter(fields),
                    with_payload=True,
                    with_vector=False,
                )
            )
            yield from (record.payload for record in page)
            if offset is None:
                return
