"""The tiles of the page: a picture and a line for every run, desktop and virtual machine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from hisa.environments.kinds import RunningMachine, load_kind
from hisa.errors import HisaError, UsageError
from hisa.machine import plugins
from hisa.plugins.live.server.run_tail import RunTail
from hisa.plugins.live.server.server_context import ServerContext
from hisa.plugins.live.server.thumbnails import Thumbnails
from hisa.runs.read import MANIFEST, is_running

__all__ = ["TileBoard"]

_FRESH = 0.5
"""Seconds for which what was found serves everybody who asks."""
_SCAN = 5.0
"""Seconds between looks at all run folders, and at machines; new folders are seen at once."""
_NEWEST = 1_000
"""Run folders of a root that are looked at, by name: the name begins with the time."""

Tile = dict[str, Any]


class TileBoard:
    """Finds out what is at work, and what of it changed; shared by all viewers.

    Args:
        context: of the server.
    """

    def __init__(self, context: ServerContext) -> None:
        self.thumbnails = Thumbnails()
        self._context = context
        self._tails: dict[str, RunTail] = {}
        self._tiles: dict[str, Tile] = {}
        self._machines: dict[str, Tile] = {}
        self._roots: dict[Path, int] = {}
        self._names: dict[Path, frozenset[str]] = {}
        self._turn = asyncio.Lock()
        self._at = self._scanned = -_SCAN

    async def tiles(self) -> dict[str, Tile]:
        """Returns the tiles by id; one that did not change is the same object as before."""
        async with self._turn:
            if time.monotonic() - self._at >= _FRESH:
                await asyncio.to_thread(self._refresh)
                self._at = time.monotonic()
        return {**self._tiles, **self._machines}

    async def picture(self, name: str, since: str) -> bytes | None:
        """Returns the tile's picture as WebP; empty where its hash is ``since``.

        None where there is no such tile, or it has no picture.
        """
        tail = self._tails.get(name)
        if tail is None:
            return None
        wanted = tail.picture
        if wanted and wanted == since:
            return b""
        loop = asyncio.get_running_loop()
        made = await loop.run_in_executor(
            self.thumbnails.pool, self.thumbnails.of, tail.folder, wanted
        )
        if made is None:  # not written to the folder: the run itself may have it
            request = {"do": "frame", "width": 320, "since": ""}
            answer, made = await self._context.ask_run(name, request)
            made = made if answer.get("type") == "image/webp" else None
        return made

    def _refresh(self) -> None:
        due = time.monotonic() - self._scanned >= _SCAN
        for folder in self._candidates(whole=due):
            if folder.name not in self._tails and is_running(folder):
                with suppress(UsageError):
                    self._tails[folder.name] = RunTail(folder)
        for name, tail in list(self._tails.items()):
            if not is_running(tail.folder):
                del self._tails[name]
                self._tiles.pop(name, None)
            elif tail.update() or name not in self._tiles:
                self._tiles[name] = _run_tile(tail)
        if due:
            self._scanned = time.monotonic()
            self._machines = self._machine_tiles()

    def _candidates(self, *, whole: bool) -> Iterator[Path]:
        """Yields folders that may have become running ones; of those that were there, if whole."""
        for root in self._context.roots:
            try:
                changed = root.stat().st_mtime_ns
                if not whole and self._roots.get(root) == changed:
                    continue
                names = frozenset(sorted((f.name for f in root.iterdir()), reverse=True)[:_NEWEST])
            except OSError:
                continue
            known = frozenset() if whole else self._names.get(root, frozenset())
            ready = {name for name in names - known if (root / name / MANIFEST).is_file()}
            # A folder without its manifest yet is looked at again.
            self._roots[root], self._names[root] = changed, (names & known) | ready
            if len(ready) < len(names - known):
                self._roots[root] = 0
            yield from (root / name for name in ready)

    def _machine_tiles(self) -> dict[str, Tile]:
        found = {}
        for machine in _machines():
            if machine.run and machine.run in self._tails:
                continue
            tile = _machine_tile(machine)
            before = self._machines.get(machine.id)
            found[machine.id] = before if before == tile else tile
        return found


def _machines() -> Iterator[RunningMachine]:
    for point in plugins.points("environments"):
        with suppress(HisaError, OSError, ValueError, KeyError):
            yield from list(load_kind(point).running())


def _run_tile(tail: RunTail) -> Tile:
    return {
        "id": tail.id,
        "kind": "run",
        "title": tail.instruction[:200],
        "task": tail.task[:200],
        "step": tail.step,
        "cost": round(tail.usd, 4) if tail.priced else None,
        "state": tail.state,
        "started": tail.started,
        "hash": tail.picture,
    }


def _machine_tile(machine: RunningMachine) -> Tile:
    used = "in use" if machine.run is None else f"of run {machine.run}" if machine.run else "up"
    return {
        "id": machine.id,
        "kind": machine.kind,
        "title": f"{machine.kind} {machine.id}",
        "task": "",
        "step": None,
        "cost": None,
        "state": used,
        "started": machine.started,
        "memory": machine.memory,
        "hash": "",
    }
