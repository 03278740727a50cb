"""The tiles of the page: a picture and a line for every run, desktop and virtual machine."""

from __future__ import annotations

import asyncio
import io
import os
import re
import time
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hisa.environments.kinds import load_kind
from hisa.errors import HisaError, UsageError
from hisa.events import Event, event_adapter
from hisa.machine import plugins
from hisa.plugins.live.server.server_context import ServerContext
from hisa.runs.read import EVENTS, IMAGES, is_running, read_manifest

__all__ = ["RunTail", "Thumbnails", "TileBoard"]

Tile = dict[str, Any]

_FRESH, _SCAN = 0.5, 3.0
"""Seconds for which what was found serves everybody; and those between looks for what is new."""
_NEWEST = 500
"""Run folders of a root that are looked at, by name: the name begins with the time."""
_KINDS = "observed|step_finished|model_called|person_acted|run_finished|run_resumed"
_TYPE, _HEAD = re.compile(f'"type":"({_KINDS})"'.encode()), 200
"""Lines with one of these types in their first bytes are parsed, and no others."""
_CHUNK, _LONGEST = 1 << 22, 1 << 24
"""Bytes read at once, and of a line that is kept while its end is not written."""
_WIDTH = 320
_PIXELS = 40_000_000
"""Pixels of the largest picture that is opened: a screen of 8K has 33 million."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


class RunTail:
    """Follows the log of a run, reading only what was added; ``tile`` is what is known of it.

    Raises:
        UsageError: the run's manifest cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        manifest = read_manifest(folder)
        self.folder = folder
        self.tile: Tile = {
            "id": folder.name, "kind": "run", "title": manifest.task.instruction[:200],
            "task": manifest.task.id[:200], "step": 0, "cost": None, "state": "running",
            "started": manifest.started_at, "hash": "",
        }  # fmt: skip
        self._offset, self._rest = 0, b""

    def update(self) -> None:
        """Takes in what was added to the log; ``tile`` is another object where it changed."""
        path = self.folder / EVENTS
        with suppress(OSError):
            if path.stat().st_size == self._offset:
                return
            with path.open("rb") as file:
                file.seek(self._offset)
                while chunk := file.read(_CHUNK):
                    self._offset += len(chunk)
                    *lines, self._rest = (self._rest + chunk).split(b"\n")
                    self._rest = self._rest if len(self._rest) < _LONGEST else b""
                    for line in lines:
                        if _TYPE.search(line, 0, _HEAD):
                            self._count(line)

    def _count(self, line: bytes) -> None:
        with suppress(ValidationError):
            if change := _change(self.tile, event_adapter.validate_json(line)):
                self.tile = {**self.tile, **change}


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


class Thumbnails:
    """Small pictures of screens by their hash, each made once; the newest ``limit`` bytes stay."""

    def __init__(self, limit: int = 8 << 20) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="thumbnails")
        self._limit, self._size = limit, 0
        self._kept: OrderedDict[str, bytes] = OrderedDict()

    async def of(self, folder: Path, sha256: str) -> bytes | None:
        """Returns a picture of a run as WebP; None where it is missing, damaged or too large.

        They are made one after the other in one thread, so never with more than one core.
        """
        return await asyncio.get_running_loop().run_in_executor(
            self._pool, self._of, folder / IMAGES / f"{sha256}.png"
        )

    def _of(self, path: Path) -> bytes | None:
        if path.stem not in self._kept:
            safe = _SHA256.fullmatch(path.stem) and not path.is_symlink()
            made = _small(path) if safe else None
            if made is None:
                return None
            self._kept[path.stem] = made
            self._size += len(made)
            while self._size > self._limit and len(self._kept) > 1:
                self._size -= len(self._kept.popitem(last=False)[1])
        self._kept.move_to_end(path.stem)
        return self._kept[path.stem]


def _small(path: Path) -> bytes | None:
    buffer = io.BytesIO()
    try:
        from PIL import Image

        with Image.open(path, formats=("PNG",)) as file:
            if file.width * file.height > _PIXELS:
                return None
            picture = file if file.mode == "RGB" else file.convert("RGB")
            # Averaging whole pixels takes a third of the time that scaling does.
            picture = picture.reduce(max(1, picture.width // _WIDTH))
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None
    picture.thumbnail((_WIDTH, picture.height))
    picture.save(buffer, "WEBP", quality=70, method=1)
    return buffer.getvalue()


class TileBoard:
    """Finds out what is at work, and what of it changed; all viewers share it."""

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._thumbnails = Thumbnails()
        self._tails: dict[str, RunTail] = {}
        self._machines: dict[str, Tile] = {}
        self._turn = asyncio.Lock()
        self._at = self._scanned = -_SCAN

    async def tiles(self) -> dict[str, Tile]:
        """Returns the tiles by id; one that did not change is the same object as before."""
        async with self._turn:
            if time.monotonic() - self._at >= _FRESH:
                await asyncio.to_thread(self._refresh)
                self._at = time.monotonic()
        return {**{name: tail.tile for name, tail in self._tails.items()}, **self._machines}

    async def picture(self, name: str, since: str) -> bytes | None:
        """Returns the tile's picture as WebP, empty where it still is ``since``; None: none."""
        tail = self._tails.get(name)
        if tail is None or tail.tile["hash"] == since != "":
            return None if tail is None else b""
        made = await self._thumbnails.of(tail.folder, tail.tile["hash"])
        if made is None:  # not in the folder: the run itself may have it
            answer, sent = await self._context.ask_run(name, {"do": "frame", "width": _WIDTH})
            made = sent if answer.get("type") == "image/webp" else None
        return made

    def _refresh(self) -> None:
        if time.monotonic() - self._scanned >= _SCAN:
            self._scanned = time.monotonic()
            for folder in self._folders():
                if folder.name not in self._tails and is_running(folder):
                    with suppress(UsageError):
                        self._tails[folder.name] = RunTail(folder)
            tiles = {name: t for name, t in _machine_tiles() if t.pop("run") not in self._tails}
            before = self._machines
            self._machines = {n: before[n] if before.get(n) == t else t for n, t in tiles.items()}
        self._tails = {name: t for name, t in self._tails.items() if is_running(t.folder)}
        for tail in self._tails.values():
            tail.update()

    def _folders(self) -> Iterator[Path]:
        for root in self._context.roots:
            with suppress(OSError):
                yield from (root / name for name in sorted(os.listdir(root))[-_NEWEST:])


def _machine_tiles() -> Iterator[tuple[str, Tile]]:
    for point in plugins.points("environments"):
        with suppress(HisaError, OSError, ValueError, KeyError):
            for up in list(load_kind(point).running()):
                state = "up" if up.run == "" else f"of run {up.run}" if up.run else "in use"
                yield up.id, {
                    "id": up.id, "kind": up.kind, "title": f"{up.kind} {up.id}", "task": "",
                    "step": None, "cost": None, "state": state, "started": up.started, "hash": "",
                    "memory": up.memory, "run": up.run,
                }  # fmt: skip
