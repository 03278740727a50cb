"""Getters that give files: from the machine, the task, the internet, or a slide."""

from __future__ import annotations

import asyncio
import posixpath
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from hisa.plugins.benchmarks.tasks.isolated_process import read_isolated
from hisa.plugins.benchmarks.tasks.metric import Unreadable
from hisa.plugins.benchmarks.tasks.readers import slide_media
from hisa.plugins.benchmarks.tasks.setup.put_files import GuestPath
from hisa.plugins.benchmarks.tasks.step_context import StepContext
from hisa.protocols import FileRefused
from hisa.tasks.limits import MAX_RESULT
from hisa.tasks.pieces import GETTERS, Parameters

__all__ = ["CloudFile", "InSlide", "LocalFile", "Rule", "VmFile", "vm_file"]


def _to_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else value


_Names = Annotated[tuple[str, ...], BeforeValidator(_to_tuple), Field(min_length=1)]


class _Files(Parameters):
    """One file or, with ``multi``, several; ``gives`` says which of them the metric is given."""

    path: _Names
    dest: Annotated[tuple[str, ...], BeforeValidator(_to_tuple)] = ()
    multi: bool = False
    gives: tuple[int, ...] = (0,)

    @model_validator(mode="after")
    def _as_many(self) -> _Files:
        if self.dest and len(self.dest) != len(self.path):
            raise ValueError(f"{len(self.path)} paths and {len(self.dest)} names in 'dest'")
        if len(self.path) > 1 and not self.multi:
            raise ValueError("several paths need 'multi': true")
        if any(not 0 <= index < len(self.path) for index in self.gives):
            raise ValueError(f"'gives' {list(self.gives)} does not fit {len(self.path)} paths")
        return self

    def names(self) -> tuple[str, ...]:
        """Returns the name that each file gets."""
        return self.dest or tuple(posixpath.basename(path) for path in self.path)


class VmFile(_Files):
    """Files of the machine; ``time_suffix`` adds today's date to the name."""

    time_suffix: bool = False
    time_format: str = "%Y_%m_%d"

    def add_date(self, path: str) -> str:
        """Returns the path with today's date in it, if the task asks for that."""
        if not self.time_suffix or "." not in path:
            return path
        stem, _, ending = path.partition(".")
        return f"{stem}{datetime.now().strftime(self.time_format)}.{ending.partition('.')[0]}"


async def _store_files(
    context: StepContext, params: _Files, read: Callable[[str], Awaitable[bytes | None]]
) -> Path | list[Path | None] | None:
    names = [context.place(name).name for name in params.names()]
    contents = [await read(path) for path in params.path]
    folder = await asyncio.to_thread(_write_files, context.scratch, names, contents)
    pairs = enumerate(zip(names, contents, strict=True))
    paths = [
        None if data is None else folder / name for i, (name, data) in pairs if i in params.gives
    ]
    return paths[0] if len(paths) == 1 else paths


def _write_files(folder: Path, names: Sequence[str], contents: Sequence[bytes | None]) -> Path:
    """Write the files to ``folder``, or to one below it if a name is taken; return that folder.

    In some tasks the agent's file and the expected one have the same name; if one replaced the
    other, a file would be compared with itself.
    """
    files = [(name, data) for name, data in zip(names, contents, strict=True) if data is not None]
    existing = [(folder / name, data) for name, data in files if (folder / name).exists()]
    if any(path.read_bytes() != data for path, data in existing):
        folder = Path(tempfile.mkdtemp(dir=folder))
    for name, data in files:
        (folder / name).write_bytes(data)
    return folder


@GETTERS("vm_file", VmFile)
async def vm_file(context: StepContext, params: VmFile) -> Path | list[Path | None] | None:
    """Returns files of the machine; None for one that is not there."""

    async def read(path: str) -> bytes | None:
        try:
            return await context.environment.read_file(params.add_date(path), limit=MAX_RESULT)
        except FileNotFoundError:
            return None
        except FileRefused as error:
            raise Unreadable(str(error)) from error

    return await _store_files(context, params, read)


class CloudFile(_Files):
    """Files from the internet."""


@GETTERS("cloud_file", CloudFile)
async def cloud_file(context: StepContext, params: CloudFile) -> Path | list[Path | None] | None:
    """Returns files from the internet, or from the cache if they are in it."""
    return await _store_files(context, params, context.cache.get)


class LocalFile(_Files):
    """Files that came with the task."""


@GETTERS("local_file", LocalFile)
async def local_file(context: StepContext, params: LocalFile) -> Path | list[Path | None] | None:
    """Returns files that came with the task."""

    async def read(path: str) -> bytes | None:
        return await asyncio.to_thread(context.host_file(path).read_bytes)

    return await _store_files(context, params, read)


class _CachedFile(Parameters):
    path: str


@GETTERS("cache_file", _CachedFile)
async def cache_file(context: StepContext, params: _CachedFile) -> Path | None:
    """Returns a file that an earlier getter or step of this scoring kept; else None."""
    place = context.place(params.path)
    return place if place.is_file() else None


class Rule(Parameters):
    """A value that is written in the task file."""

    rules: Any


@GETTERS("rule", Rule)
async def rule(context: StepContext, params: Rule) -> Any:
    """Returns the rules unchanged."""
    return params.rules


class InSlide(Parameters):
    """A slide of a presentation, counted from 0."""

    ppt_file_path: GuestPath
    slide_index: Annotated[int, Field(ge=0)]
    dest: str


@GETTERS("background_image_in_slide", InSlide)
async def background_image(context: StepContext, params: InSlide) -> Path | None:
    """Returns the background picture of a slide; None if there is none."""
    return await _media(context, params, "image")


@GETTERS("audio_in_slide", InSlide)
async def audio(context: StepContext, params: InSlide) -> Path | None:
    """Returns the first sound of a slide; None if there is none."""
    return await _media(context, params, "audio")


async def _media(context: StepContext, params: InSlide, kind: str) -> Path | None:
    deck = await vm_file(context, VmFile(path=(params.ppt_file_path,)))
    if not isinstance(deck, Path):
        return None
    place = context.place(params.dest)
    media = await read_isolated(slide_media, deck, params.slide_index + 1, kind)
    if media is None:
        return None
    if isinstance(media, bytes):
        await asyncio.to_thread(place.write_bytes, media)
        return place
    media_path = await vm_file(context, VmFile(path=(media,), dest=(params.dest,)))
    return media_path if isinstance(media_path, Path) else None
