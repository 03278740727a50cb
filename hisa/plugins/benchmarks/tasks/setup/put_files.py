"""Steps that put files on the machine."""

from __future__ import annotations

import asyncio
from typing import Annotated

from pydantic import Field

from hisa.plugins.benchmarks.tasks.setup.scripts import await_windows, run_traced
from hisa.plugins.benchmarks.tasks.step_context import StepContext
from hisa.tasks.pieces import SETUP, Parameters
from hisa.tasks.place_file import place
from hisa.tasks.task_context import quote_word

__all__ = ["Copy", "Download", "GuestPath", "Script", "Uploads", "put"]

GuestPath = Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^[^\x00]+$")]
"""A path on the machine; any is allowed, since the machine is thrown away."""


class _Address(Parameters):
    url: Annotated[str, Field(pattern=r"^https?://", max_length=4096)]
    path: GuestPath


class Download(Parameters):
    """Files from the internet."""

    files: tuple[_Address, ...]


@SETUP("download", Download)
async def download(context: StepContext, params: Download) -> None:
    """Put files from the internet (or the cache) on the machine."""
    for file in params.files:
        await place(context, file.path, await context.cache.get(file.url))


class Copy(Parameters):
    """A file that came with the task."""

    src: Annotated[str, Field(min_length=1, max_length=4096)]
    dest: GuestPath


@SETUP("copyfile_from_host_to_guest", Copy)
async def copy_to_guest(context: StepContext, params: Copy) -> None:
    """Put a file that came with the task on the machine."""
    await put(context, params.src, params.dest)


class _Upload(Parameters):
    local_path: Annotated[str, Field(min_length=1, max_length=4096)]
    path: GuestPath


class Uploads(Parameters):
    """Files that came with the task, named from the benchmark's folder, and their destinations."""

    files: tuple[_Upload, ...]


@SETUP("upload_file", Uploads)
async def upload_files(context: StepContext, params: Uploads) -> None:
    """Put several files that came with the task on the machine."""
    for file in params.files:
        await put(context, file.local_path, file.path)


async def put(context: StepContext, source: str, dest: str) -> None:
    """Put a file on the machine: one that came with the task, or one from the internet.

    Args:
        context: the task and its machine.
        source: path of the file in the task's folder, or its http or https address.
        dest: path on the machine.
    """
    await place(context, dest, await _content(context, source))


async def _content(context: StepContext, source: str) -> bytes:
    if source.startswith(("http://", "https://")):
        return await context.cache.get(source)
    return await asyncio.to_thread(context.host_file(source).read_bytes)


class Script(Parameters):
    """A script that came with the task."""

    src: Annotated[str, Field(min_length=1, max_length=4096)]
    dest: GuestPath = "/home/user/init.sh"
    options: tuple[str, ...] = ()


@SETUP("script_and_execute", Script)
async def script_and_execute(context: StepContext, params: Script) -> None:
    """Put a script on the machine, run it with bash, and wait for the windows that it opens."""
    data = await _content(context, params.src)
    await place(context, params.dest, data)
    await context.environment.execute(f"chmod a+x {quote_word(params.dest)}")
    text = data.decode("utf-8", errors="replace")
    words = [params.dest, *params.options]
    await run_traced(context, words, name=params.src, text=text, path=params.dest)
    await context.environment.execute(f"rm -f {quote_word(params.dest)}")
    await await_windows(context, text)
