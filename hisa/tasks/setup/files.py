"""Steps that put files on the machine."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from hisa.errors import EnvironmentFailed
from hisa.protocols import CommandResult
from hisa.tasks.context import Context
from hisa.tasks.setup.base import Parameters, step

__all__ = ["Copy", "Download", "GuestPath", "Script", "put", "put_and_run"]

GuestPath = Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^[^\x00]+$")]
"""A path on the machine; the machine is thrown away, so any will do."""
_SCRIPT_SECONDS = 600.0


class _Address(Parameters):
    url: Annotated[str, Field(pattern=r"^https?://", max_length=4096)]
    path: GuestPath


class Download(Parameters):
    """Files from the internet."""

    files: tuple[_Address, ...]


@step("download", Download)
async def download(context: Context, wanted: Download) -> None:
    """Put files from the internet (or the cache) on the machine."""
    for file in wanted.files:
        await context.environment.write_file(file.path, await context.cache.get(file.url))


class Copy(Parameters):
    """A file that came with the task."""

    src: Annotated[str, Field(min_length=1, max_length=4096)]
    dest: GuestPath


@step("copyfile_from_host_to_guest", Copy)
async def copy_to_guest(context: Context, wanted: Copy) -> None:
    """Put a file that came with the task on the machine."""
    await put(context, wanted.src, wanted.dest)


async def put(context: Context, source: str, dest: str) -> None:
    """Put a file on the machine: one of the task's own, or one from an address."""
    if source.startswith(("http://", "https://")):
        data = await context.cache.get(source)
    else:
        data = context.host_file(source).read_bytes()
    await context.environment.write_file(dest, data)


async def put_and_run(
    context: Context, source: str, dest: str, options: Sequence[str] = ()
) -> CommandResult:
    """Put a script on the machine and run it with bash.

    Raises:
        EnvironmentFailed: it does not end, or the machine is gone.
    """
    await put(context, source, dest)
    words = shlex.join(["/bin/bash", dest, *options])
    line = f"chmod a+x {shlex.quote(dest)} && {words}"
    result = await context.environment.execute(line, timeout=_SCRIPT_SECONDS)
    if result.timed_out:
        raise EnvironmentFailed(f"{source}: did not end within {_SCRIPT_SECONDS:g} s")
    return result


class Script(Parameters):
    """A script that came with the task."""

    src: Annotated[str, Field(min_length=1, max_length=4096)]
    dest: GuestPath = "/home/user/init.sh"
    options: tuple[str, ...] = ()


@step("script_and_execute", Script)
async def script_and_execute(context: Context, wanted: Script) -> None:
    """Put a script on the machine, run it with bash, and take it away."""
    result = await put_and_run(context, wanted.src, wanted.dest, wanted.options)
    await context.environment.execute(f"rm -f {shlex.quote(wanted.dest)}")
    if result.exit_code in (126, 127):
        said = (result.error or result.output).strip()[-500:]
        raise EnvironmentFailed(f"{wanted.src}: ended with {result.exit_code}: {said}")


class _Downloaded(Parameters):
    url: Annotated[str, Field(pattern=r"^https?://", max_length=4096)]
    path: GuestPath = "/home/user/init.sh"
    options: tuple[str, ...] = ()


@step("download_and_execute", _Downloaded)
async def download_and_execute(context: Context, wanted: _Downloaded) -> None:
    """The same with a script from the internet."""
    script = Script(src=wanted.url, dest=wanted.path, options=wanted.options)
    await script_and_execute(context, script)


class _Uploaded(Parameters):
    path: Annotated[str, Field(min_length=1, max_length=4096)]
    dest: GuestPath = "/home/user/init.sh"
    options: tuple[str, ...] = ()


@step("upload_and_execute", _Uploaded)
async def upload_and_execute(context: Context, wanted: _Uploaded) -> None:
    """The same under the names of another version."""
    script = Script(src=wanted.path, dest=wanted.dest, options=wanted.options)
    await script_and_execute(context, script)
