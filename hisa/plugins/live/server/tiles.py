"""The tiles of the page: a picture and a line for every run, desktop and virtual machine."""

from __future__ import annotations

import asyncio
import io
import os
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from PIL import Image
from pydantic import ValidationError

from hisa.environments.kinds import load_kind
from hisa.errors import HisaError, UsageError
from hisa.events import Event, event_adapter
from hisa.machine import plugins
from hisa.machine.storage import is_locked
from hisa.plugins.live.server.run_feed import EventTail
from hisa.plugins.live.server.server_context import ServerContext
from hisa.runs.read import EVENTS, IMAGES, is_running, read_manifest

__all__ = ["UNREADABLE", "RunTail", "TileBoard", "small"]

Tile = dict[str, Any]

_FRESH, _SCAN = 0.4, 3.0
"""Seconds for which what was found serves everybody; and those between looks for what is new."""
_NEWEST = 500
"""Run folders of a root that are looked at, by name: the name begins with the time."""
_KINDS = "observed|step_finished|model_called|person_acted|run_finished|run_resumed"
_TYPE, _HEAD = re.compile(f'"type":"({_KINDS})"'), 200
"""Lines with one of these types in their first characters are parsed, and no others."""
_WIDTH, _PIXELS = 320, 40_000_000
"""Of a tile's picture; and of the largest one that is opened: a screen of 8K has 33 million."""
UNREADABLE = OSError, SyntaxError, ValueError, Image.DecompressionBombError
_SHA256 = re.compile(r"[0-9a-f]{64}")


class RunTail:
    """Follows the log of a run; ``tile`` is what is known of it.

    Raises:
        UsageError: the run's manifest cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        manifest = read_manifest(folder)
        self.folder = folder
        self.tile: Tile = {
            "id": folder.name,
            "kind": "run",
            "title": manifest.task.instruction[:200],
            "task": manifest.task.id[:200],
            "step": 0,
            "cost": None,
            "state": "running",
            "started": manifest.started_at,
            "hash": "",
        }
        self._log = EventTail(folder / EVENTS)

    def update(self) -> None:
        """Takes in what was added to the log."""
        while lines := self._log.read_on():
            for _, line in lines:
                with suppress(ValidationError):
                    if _TYPE.search(line, 0, _HEAD):
                        self.tile |= _change(self.tile, event_adapter.validate_json(line))


def _change(tile: Tile, event: Event) -> Tile:
    match event.type:
        case "observed":
            return {"hash": event.image}
        case "step_finished":
            return {"step": max(tile["step"], event.step)}
        case "model_called":
            return {"cost": (tile["cost"] or 0.0) + event.usd} if event.usd else {}
        case "person_acted":
            states = {"paused": "paused", "took_over": "held", "acted": tile["state"]}
            return {"state": states.get(event.did, "running")}
        case "run_finished":
            return {"state": event.exit_status}
        case _:
            return {"state": "running"}


@lru_cache(512)
def small(folder: Path, sha256: str) -> bytes:
    """A run's picture as WebP of 320 pixels at most; raises one of ``UNREADABLE``."""
    path = folder / IMAGES / f"{sha256}.png"
    if not _SHA256.fullmatch(sha256) or path.is_symlink():
        raise ValueError("not a picture of a run")
    buffer = io.BytesIO()
    with Image.open(path, formats=("PNG",)) as file:
        if file.width * file.height > _PIXELS:
            raise ValueError("too large")
        picture = file if file.mode == "RGB" else file.convert("RGB")
        # Averaging whole pixels takes a third of the time that scaling does.
        picture = picture.reduce(max(1, picture.width // _WIDTH))
    picture.thumbnail((_WIDTH, _WIDTH))
    picture.save(buffer, "WEBP", quality=70, method=1)
    return buffer.getvalue()


class TileBoard:
    """Finds out what is at work, and what of it changed; all viewers share it."""

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._pool = ThreadPoolExecutor(1)  # pictures are never made with more than one core
        self._tails, self._machines = dict[str, RunTail](), list[Tile]()
        self._turn = asyncio.Lock()
        self._at = self._scanned = -_SCAN

    async def tiles(self) -> list[Tile]:
        """Returns the tiles of runs, then those of machines without a run."""
        async with self._turn:
            if time.monotonic() - self._at >= _FRESH:
                await asyncio.to_thread(self._refresh)
                self._at = time.monotonic()
        return [*(tail.tile for tail in self._tails.values()), *self._machines]

    async def picture(self, name: str) -> bytes | None:
        """Returns the tile's picture as WebP; None where it has none."""
        if (tail := self._tails.get(name)) is None:
            return None
        loop = asyncio.get_running_loop()
        with suppress(*UNREADABLE):
            return await loop.run_in_executor(self._pool, small, tail.folder, tail.tile["hash"])
        return None

    def _refresh(self) -> None:
        if time.monotonic() - self._scanned >= _SCAN:
            self._scanned = time.monotonic()
            for folder in self._folders():
                if folder.name not in self._tails and is_running(folder):
                    with suppress(UsageError):
                        self._tails[folder.name] = RunTail(folder)
            self._machines = [t for t in _machine_tiles() if t.pop("run") not in self._tails]
        self._tails = {name: t for name, t in self._tails.items() if is_running(t.folder)}
        for tail in self._tails.values():
            tail.update()

    def _folders(self) -> Iterator[Path]:
        benches = [bench for bench in self._context.bench_folders() if is_locked(bench / "lock")]
        for root in (*self._context.roots, *(bench / "runs" for bench in benches)):
            with suppress(OSError):
                yield from (root / name for name in sorted(os.listdir(root))[-_NEWEST:])


def _machine_tiles() -> Iterator[Tile]:
    for point in plugins.points("environments"):
        with suppress(HisaError, OSError, ValueError, KeyError):
            for up in list(load_kind(point).running()):
                state = "up" if up.run == "" else f"of run {up.run}" if up.run else "in use"
                fixed = {"title": f"{up.kind} {up.id}", "task": "", "step": None, "cost": None}
                yield {**asdict(up), **fixed, "state": state, "hash": ""}
