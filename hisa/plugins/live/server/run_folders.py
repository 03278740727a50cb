"""Finds the runs that the server shows, and reads only what is new in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from hisa.errors import UsageError
from hisa.plugins.live.server.run_feed import EventTail
from hisa.plugins.live.server.server_context import ID, ServerContext, folders, is_regular
from hisa.runs.manifest import Manifest
from hisa.runs.run_reader import EVENTS, LOCK, MANIFEST, Run, is_running, load_run, read_manifest

__all__ = ["RunFolders", "RunMissing"]


_SHA256 = re.compile(r"[0-9a-f]{64}")
_MOST = 200  # newest runs that are searched for running ones


class RunMissing(UsageError):
    """There is no run of that name below the roots."""


class RunFolders:
    """The run folders below the roots and in benches; raises a UsageError for a damaged run."""

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._newest: dict[str, _NewestLook] = {}
        self._turn = Lock()

    def newest(self, limit: int, before: str = "") -> list[dict[str, Any]]:
        """Returns records of the newest runs, newest first.

        Args:
            limit: most records.
            before: leaves out runs whose name is not before this one; empty for none.
        """
        places = [(f.name, root, bench) for root, bench in self._roots() for f in folders(root)]
        records: list[dict[str, Any]] = []
        for name, root, bench in sorted(places, key=lambda place: place[0], reverse=True):
            if len(records) < limit and (not before or name < before):
                with suppress(UsageError):
                    records.append(self.record(root / name, bench))
        return records

    def list_running(self) -> list[dict[str, Any]]:
        """Returns records of the running runs, each with the ``hash`` of its newest picture."""
        with self._turn:  # logs are followed by one thread at a time
            records = [record for record in self.newest(_MOST) if record["state"] == "running"]
            folders = {record["id"]: self.find(record["id"])[0] for record in records}
            looks = {name: self._newest.get(name) or _NewestLook(f) for name, f in folders.items()}
            self._newest = looks
            return [record | {"hash": looks[record["id"]].read_on()} for record in records]

    def find(self, run_id: str) -> tuple[Path, str]:
        """Returns the folder of a run, and its bench's name or ""; raises RunMissing."""
        for root, bench in self._roots() if ID.fullmatch(run_id) else ():
            folder = root / run_id
            if is_regular(folder / MANIFEST) and not folder.is_symlink():
                return folder, bench
        raise RunMissing(f"no run is called {run_id[:100]!r}", fix="hisa runs ls")

    def record(self, folder: Path, bench: str = "") -> dict[str, Any]:
        """Returns the record of a run that lists show, from its manifest."""
        manifest, state = self.manifest(folder), self.state(folder)
        totals, limits = manifest.totals, manifest.settings.get("run") or {}
        return {
            "id": folder.name,
            "task": manifest.task.id,
            "bench": bench,
            "state": state,
            "instruction": manifest.task.instruction[:4_000],
            "message": manifest.message[:4_000],
            "exit_status": manifest.exit_status,
            "score": manifest.score,
            "step": totals.steps,
            "max_steps": limits.get("max_steps"),
            "tokens": totals.tokens,
            "usd": totals.usd,
            "budget_usd": limits.get("budget_usd"),
            "seconds": totals.seconds,
            "started": manifest.started_at,
            "environment": manifest.environment,
            "models": manifest.models,
        }

    def state(self, folder: Path) -> str:
        """Returns the run's exit status; "running" or "unfinished" if it has not ended."""
        if ended := self.manifest(folder).exit_status:
            return ended
        return "running" if is_regular(folder / LOCK) and is_running(folder) else "unfinished"

    def run(self, folder: Path) -> Run:
        """Returns the run as far as it is written."""
        state, log = self.state(folder), folder / EVENTS
        if not is_regular(log):
            raise RunMissing(f"run {folder.name!r} is gone")
        return _run(folder, state, log.stat().st_size, (folder / MANIFEST).stat().st_mtime_ns)

    def manifest(self, folder: Path) -> Manifest:
        """Returns the manifest of the run."""
        path = folder / MANIFEST
        if not is_regular(path):
            raise RunMissing(f"run {folder.name!r} is gone")
        about = path.stat()
        return _manifest(folder, about.st_ino, about.st_mtime_ns)

    def _roots(self) -> Iterator[tuple[Path, str]]:
        yield from ((root, "") for root in self._context.roots)
        yield from ((bench / "runs", bench.name) for bench in self._context.bench_folders())


class _NewestLook:
    """Follows the log of a run for the name of its newest picture."""

    def __init__(self, folder: Path) -> None:
        self._log, self._image = EventTail(folder / EVENTS), ""

    def read_on(self) -> str:
        while lines := self._log.read_on():
            for line in (line for _, line in lines if '"observed"' in line[:200]):
                image = str(json.loads(line).get("image"))
                self._image = image if _SHA256.fullmatch(image) else self._image
        return self._image


@lru_cache(maxsize=1_000)
def _manifest(folder: Path, *_version: int) -> Manifest:
    return read_manifest(folder)


@lru_cache(maxsize=4)  # a person looks at one or two
def _run(folder: Path, *_version: object) -> Run:
    return load_run(folder)
