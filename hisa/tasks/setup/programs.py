"""Steps that run commands and start programs."""

from __future__ import annotations

import posixpath
import re
import shlex
import time
from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field

from hisa.errors import EnvironmentFailed
from hisa.protocols import CommandResult
from hisa.tasks.context import Context
from hisa.tasks.setup.base import Parameters, step
from hisa.tasks.setup.files import GuestPath
from hisa.tasks.setup.windows import Named, await_window

__all__ = ["Execute", "Launch", "Open", "Sleep", "start"]

Words = str | tuple[str, ...]
_UNTIL_SECONDS = 120.0
_OPEN_SECONDS = 90.0
_OPENERS: Mapping[str, str] = {
    "xlsx xls ods csv tsv": "libreoffice --calc",
    "docx doc odt rtf": "libreoffice --writer",
    "pptx ppt odp": "libreoffice --impress",
    "html htm pdf svg": "google-chrome",
    "txt md json py sh log yaml yml": "gedit",
}
"""What opens a file where no desktop environment says so, by the end of its name."""


class Launch(Parameters):
    """A program to start and leave running."""

    command: Annotated[Words, Field(min_length=1)]
    shell: bool = False


async def start(context: Context, line: str) -> None:
    """Start a bash line in a session of its own, without waiting for it."""
    inner = shlex.quote(line)
    result = await context.environment.execute(
        f"setsid -f bash -c {inner} >/dev/null 2>&1 </dev/null", timeout=30.0
    )
    if result.exit_code != 0:
        said = (result.error or result.output).strip()[:300]
        raise EnvironmentFailed(f"{line[:200]!r} cannot be started: {said}")


@step("launch", Launch)
async def launch(context: Context, wanted: Launch) -> None:
    """Start a program."""
    await start(context, await context.line(wanted.command, shell=wanted.shell))


class _Until(Parameters):
    returncode: int | None = None
    stdout: str | None = None
    stderr: str | None = None

    def holds(self, result: CommandResult) -> bool:
        """Whether the command may be left; one condition that holds is enough."""
        return (
            (self.returncode is not None and result.exit_code == self.returncode)
            or (self.stdout is not None and self.stdout in result.output)
            or (self.stderr is not None and self.stderr in result.error)
        )


class Execute(Parameters):
    """A command to run and wait for; ``stdout`` and ``stderr`` name files to keep them in."""

    command: Annotated[Words, Field(min_length=1)]
    shell: bool = False
    stdout: str = ""
    stderr: str = ""
    until: Annotated[_Until | None, BeforeValidator(lambda value: value or None)] = None


@step("execute", Execute)
async def execute(context: Context, wanted: Execute) -> None:
    """Run a command. Its exit status decides nothing, unless ``until`` says so."""
    deadline = time.monotonic() + _UNTIL_SECONDS
    while True:
        result = await context.run(wanted.command, shell=wanted.shell)
        if wanted.until is None or wanted.until.holds(result):
            break
        if time.monotonic() > deadline:
            raise EnvironmentFailed(
                f"{wanted.command!r} did not reach {wanted.until.model_dump(exclude_none=True)}"
                f" within {_UNTIL_SECONDS:g} s"
            )
        await context.pause(0.3)
    for name, text in ((wanted.stdout, result.output), (wanted.stderr, result.error)):
        if name:
            context.place(name).write_text(text, "utf-8")
    _expect_started(wanted, result)


def _expect_started(wanted: Execute, result: CommandResult) -> None:
    """126 and 127 mean that the machine lacks the program: never the agent's fault."""
    missing = result.exit_code in (126, 127) and not wanted.shell
    lacks = re.search(r"No module named '?(pyautogui)", result.error)
    if missing or lacks:
        raise EnvironmentFailed(
            f"{str(wanted.command)[:200]} cannot run: {result.error.strip()[-300:]}",
            fix="use a machine that has this program",
        )


@step("command", Execute)
async def command(context: Context, wanted: Execute) -> None:
    """The same as execute, under its other name."""
    await execute(context, wanted)


class Open(Parameters):
    """A file to open as a double click would."""

    path: GuestPath


@step("open", Open)
async def open_file(context: Context, wanted: Open) -> None:
    """Open a file and wait until a window shows its name."""
    quoted = '"$HOME"/' + shlex.quote(wanted.path[2:])
    path = quoted if wanted.path.startswith("~/") else shlex.quote(wanted.path)
    there = await context.environment.execute(f"test -e {path}")
    if there.exit_code != 0:
        raise EnvironmentFailed(f"{wanted.path}: there is no such file to open")
    await start(context, f"{await _opener(context, wanted.path)} {path}")
    stem = posixpath.splitext(posixpath.basename(wanted.path))[0]
    await await_window(context, Named(window_name=stem or wanted.path), _OPEN_SECONDS)


async def _opener(context: Context, path: str) -> str:
    ending = posixpath.splitext(path)[1].lstrip(".").lower()
    for endings, line in _OPENERS.items():
        name, _, options = line.partition(" ")
        if ending in endings.split() and (found := await context.program(name)):
            return f"{found} {options}".strip()
    if await context.program("xdg-open"):
        return "xdg-open"
    raise EnvironmentFailed(f"{context.environment.name} has no program that opens {path!r}")


class Sleep(Parameters):
    """Seconds to wait."""

    seconds: Annotated[float, Field(ge=0, le=600)]


@step("sleep", Sleep)
async def sleep(context: Context, wanted: Sleep) -> None:
    """Wait."""
    await context.pause(wanted.seconds)
