"""Finds the runs that the server shows, and reads of them only what is new."""

from __future__ import annotations

import os
import re
import stat
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hisa.errors import UsageError
from hisa.events import Event, event_adapter
from hisa.plugins.live.server.server_context import ServerContext
from hisa.runs.manifest import Manifest
from hisa.runs.read import EVENTS, LOCK, MANIFEST, Run, is_running, read_manifest

__all__ = ["RunFolders", "RunMissing", "is_regular"]

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_KEPT_RUNS = 4
"""Runs whose events are held; a person looks at one or two."""
_TEXT = 4_000  # characters of an instruction in a list; chosen by hand


class RunMissing(UsageError):
    """No run of that name lies below the roots."""


class RunFolders:
    """The run folders below the roots and in benches; links are never followed.

    Args:
        context: names the roots.
    """

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._manifests: dict[Path, tuple[tuple[int, int, int], Manifest]] = {}
        self._events: OrderedDict[Path, tuple[int, list[Event]]] = OrderedDict()

    def newest(self, limit: int, before: str = "") -> list[dict[str, Any]]:
        """Records of the newest runs, those with a name before ``before`` where it is not empty."""
        places = [(e.name, root, bench) for root, bench in self._roots() for e in _folders(root)]
        records: list[dict[str, Any]] = []
        for name, root, bench in sorted(places, key=lambda place: place[0], reverse=True):
            if len(records) < limit and (not before or name < before):
                with suppress(UsageError):
                    records.append(self.record(root / name, bench))
        return records

    def find(self, run_id: str) -> tuple[Path, str]:
        """Returns the folder of a run, and the name of its bench or an empty text.

        Raises:
            RunMissing: none has exactly this id.
        """
        for root, bench in self._roots() if _ID.fullmatch(run_id) else ():
            folder = root / run_id
            if is_regular(folder / MANIFEST) and not folder.is_symlink():
                return folder, bench
        raise RunMissing(f"no run is called {run_id[:100]!r}", fix="hisa runs ls")

    def record(self, folder: Path, bench: str = "") -> dict[str, Any]:
        """Returns the run as lists show it, by its manifest.

        Raises:
            UsageError: the manifest is gone or damaged.
        """
        manifest, state = self.manifest(folder), self.state(folder)
        totals, settings = manifest.totals, manifest.settings
        limits = settings.get("run") or {}
        return {
            "id": folder.name,
            "task": manifest.task.id,
            "instruction": manifest.task.instruction[:_TEXT],
            "state": state,
            "exit_status": manifest.exit_status,
            "message": manifest.message[:_TEXT],
            "score": manifest.score,
            "step": totals.steps,
            "max_steps": limits.get("max_steps"),
            "usd": totals.usd,
            "budget_usd": limits.get("budget_usd"),
            "tokens": totals.tokens,
            "seconds": totals.seconds,
            "started": manifest.started_at,
            "environment": manifest.environment,
            "models": manifest.models,
            "bench": bench,
        }

    def state(self, folder: Path) -> str:
        """How the run ended; "running" or "unfinished" where it has not.

        Raises:
            UsageError: the manifest is gone or damaged.
        """
        ended = self.manifest(folder).exit_status
        locked = not ended and is_regular(folder / LOCK) and is_running(folder)
        return ended or ("running" if locked else "unfinished")

    def run(self, folder: Path) -> Run:
        """Returns the run as far as it is written; a line is parsed once.

        Raises:
            UsageError: the manifest is gone or damaged.
        """
        manifest, path = self.manifest(folder), folder / EVENTS
        with self._lock:
            end, events = self._events.pop(folder, (0, []))
            if is_regular(path):
                end, events = (end, events) if path.stat().st_size >= end else (0, [])
                with path.open("rb") as file:
                    file.seek(end)
                    for line in file:
                        if not line.endswith(b"\n"):
                            break
                        end += len(line)
                        with suppress(ValidationError):  # of another version, or damaged
                            events.append(event_adapter.validate_json(line))
            self._events[folder] = end, events
            while len(self._events) > _KEPT_RUNS:
                self._events.popitem(last=False)
            return Run(folder, manifest, tuple(events), running=self.state(folder) == "running")

    def manifest(self, folder: Path) -> Manifest:
        """Returns what the run is.

        Raises:
            UsageError: the manifest is gone or damaged.
        """
        path = folder / MANIFEST
        if not is_regular(path):
            raise RunMissing(f"run {folder.name!r} is gone", fix="hisa runs ls")
        about = path.stat()
        mark = about.st_ino, about.st_mtime_ns, about.st_size
        if (kept := self._manifests.get(folder)) is None or kept[0] != mark:
            kept = self._manifests[folder] = mark, read_manifest(folder)
        return kept[1]

    def _roots(self) -> Iterator[tuple[Path, str]]:
        yield from ((root, "") for root in self._context.roots)
        for place in self._context.benches:
            for bench in (place, *(place / entry.name for entry in _folders(place))):
                if is_regular(bench / "bench.json"):
                    yield bench / "runs", bench.name


def is_regular(path: Path) -> bool:
    """Whether it is a file, and no link to one."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _folders(root: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(root) as entries:
            return [e for e in entries if _ID.fullmatch(e.name) and e.is_dir(follow_symlinks=False)]
    except OSError:
        return []
