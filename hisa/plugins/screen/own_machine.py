"""What a person's own machine offers beside its screen: commands, files, trees."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from hisa.config import EnvironmentSettings
from hisa.environments.transport import Transport
from hisa.errors import EnvironmentFailed
from hisa.plugins.screen.base import TreeReader
from hisa.plugins.screen.helper_process import HelperProcess
from hisa.plugins.screen.trees import DriverReader, GuestReader
from hisa.protocols import COMMAND_LIMIT, CommandResult, FileRefused

__all__ = ["Machine", "OwnCommands", "open_machine"]

_ALLOW = "--allow-commands, which runs them as you"


@dataclass
class Machine:
    """The parts of this machine that were opened."""

    reader: TreeReader | None = None
    commands: Transport | OwnCommands | None = None
    guest: Any = None
    """The guest that cages commands and reads the tree on Linux."""

    def require_commands(self) -> Transport | OwnCommands:
        """Returns what runs commands.

        Raises:
            EnvironmentFailed: none may run here.
        """
        if self.commands is None:
            raise EnvironmentFailed("screen: runs no commands and has no files", fix=_ALLOW)
        return self.commands

    async def close(self) -> None:
        """End everything."""
        if self.guest is not None:
            await self.guest.stop()
        self.reader = self.commands = self.guest = None


async def open_machine(
    machine: Machine,
    driver: HelperProcess,
    display: str,
    settings: EnvironmentSettings,
    note: Callable[[str], None],
) -> None:
    """Open what works here; what does not work is noted, and the screen works without it.

    Args:
        machine: gets the parts.
        driver: reads trees on Windows and macOS.
        display: the X display; empty: that of DISPLAY.
        settings: limits of commands, and whether they may run as the person.
        note: called with what a reader of the run should know.
    """
    if sys.platform in ("win32", "darwin"):
        _open_uncaged(machine, driver, settings, note)
    else:
        await _open_guest(machine, display or os.environ["DISPLAY"], settings, note)


def _open_uncaged(
    machine: Machine,
    driver: HelperProcess,
    settings: EnvironmentSettings,
    note: Callable[[str], None],
) -> None:
    reads = bool(find_spec("uiautomation") or find_spec("ApplicationServices"))
    machine.reader = DriverReader(driver, reads_elements=reads)
    if settings.allow_commands and shutil.which("bash"):
        machine.commands = OwnCommands()
        note("commands run as you, without a cage: they can do whatever you can")
    elif settings.allow_commands:
        note("commands do not run: there is no bash on this machine")
    else:
        note(f"commands do not run; to let them: {_ALLOW}")


async def _open_guest(
    machine: Machine, display: str, settings: EnvironmentSettings, note: Callable[[str], None]
) -> None:
    from hisa.plugins.desktop.display_guest import DisplayGuest

    machine.guest = DisplayGuest(display, limits=settings.limits, note=note)
    try:
        machine.commands = transport = await machine.guest.start()
    except EnvironmentFailed as error:
        note(f"no commands, files, windows and elements: {error}; to change that: {error.fix}")
    else:
        machine.reader = GuestReader(transport)


class OwnCommands:
    """Commands and files as the person who runs HiSA, for systems without a cage."""

    async def execute(
        self, command: str | Sequence[str], *, timeout: float, limit: int
    ) -> CommandResult:
        """Runs a command in the home folder; programs that it leaves open stay.

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


def _run(words: Sequence[str], timeout: float, limit: int) -> CommandResult:
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:  # files, not pipes: a program in the background holds a pipe open
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
            _end(process)
            code, late = 124, True
        return CommandResult(code, _head(output, limit), _head(errors, limit), timed_out=late)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process, and on macOS those that it started."""
    with suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _head(file: IO[bytes], limit: int) -> str:
    file.seek(0)
    return file.read(limit).decode("utf-8", "replace")


def _read_file(path: Path, limit: int) -> bytes:
    path = path.expanduser()
    if not path.exists():
        raise FileNotFoundError(str(path))
    if not path.is_file():
        raise FileRefused(f"{path}: not a regular file")
    if (size := path.stat().st_size) > limit:
        raise FileRefused(f"{path}: {size} bytes; at most {limit} are read")
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileRefused(f"{path}: {error.strerror}") from error


def _write_file(path: Path, data: bytes) -> None:
    path = path.expanduser()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise EnvironmentFailed(f"screen: {path}: {error.strerror}") from error
