"""Commands and files as the person who runs HiSA, for systems without a cage."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from hisa.errors import EnvironmentFailed
from hisa.protocols import COMMAND_LIMIT, CommandResult, FileRefused

__all__ = ["OwnCommands"]


class OwnCommands:
    """Runs commands in the home folder; programs that they leave open stay."""

    async def execute(
        self, command: str | Sequence[str], *, timeout: float, limit: int
    ) -> CommandResult:
        """Runs a command.

        Args:
            command: a bash line, or a program and its arguments.
            timeout: most seconds that it may run; `COMMAND_LIMIT` caps it.
            limit: most bytes of each of its outputs that are kept.
        """
        words = ["bash", "-c", command] if isinstance(command, str) else list(command)
        return await asyncio.to_thread(_run, words, min(timeout, COMMAND_LIMIT), limit)

    async def read_file(self, path: str, /, *, limit: int) -> bytes:
        """Returns the bytes of a regular file."""
        return await asyncio.to_thread(_read_file, Path(path), limit)

    async def write_file(self, path: str, data: bytes, /) -> None:
        """Writes a file, and makes its folders."""
        await asyncio.to_thread(_write_file, Path(path), data)


def _read_file(path: Path, limit: int) -> bytes:
    path = path.expanduser()
    if path.exists() and not path.is_file():
        raise FileRefused(f"{path}: not a regular file")
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except PermissionError as error:
        raise FileRefused(f"{path}: {error.strerror}") from error
    if len(data) > limit:
        raise FileRefused(f"{path}: {path.stat().st_size} bytes; at most {limit} are read")
    return data


def _write_file(path: Path, data: bytes) -> None:
    path = path.expanduser()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise EnvironmentFailed(f"screen: {path}: {error.strerror}") from error


def _run(words: Sequence[str], timeout: float, limit: int) -> CommandResult:
    # Files, not pipes: a program in the background holds a pipe open.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                cwd=Path.home(),
                start_new_session=True,
            )
        except OSError as error:
            return CommandResult(127, "", f"{words[0]}: {error.strerror}", timed_out=False)
        try:
            code, late = process.wait(timeout), False
        except subprocess.TimeoutExpired:
            code, late = 124, True
            with suppress(OSError):
                if sys.platform == "win32":
                    process.kill()
                else:
                    os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return CommandResult(code, _head(output, limit), _head(errors, limit), timed_out=late)


def _head(file: IO[bytes], limit: int) -> str:
    file.seek(0)
    return file.read(limit).decode("utf-8", "replace")
