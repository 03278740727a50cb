"""Steps that run commands and start programs."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import BeforeValidator, Field

from hisa.environments.clean_commands import bash
from hisa.errors import EnvironmentFailed
from hisa.machine.patience import Deadline
from hisa.plugins.benchmarks.tasks.setup.proxy_step import add_proxy
from hisa.plugins.benchmarks.tasks.setup.put_files import GuestPath
from hisa.plugins.benchmarks.tasks.setup.scripts import expect_window
from hisa.plugins.benchmarks.tasks.step_context import StepContext
from hisa.plugins.machines.machine_apps import window_names
from hisa.protocols import CommandResult
from hisa.tasks.missing_programs import fix_for, missing_program
from hisa.tasks.pieces import SETUP, Parameters
from hisa.tasks.program_start import start
from hisa.tasks.task_context import quote_word
from hisa.tasks.windows import Named, await_window, plain_title

__all__ = [
    "Execute",
    "Launch",
    "Open",
    "Sleep",
    "VerifiedCommand",
    "end_programs",
    "ends_programs",
    "opener_of",
]

Words = str | tuple[str, ...]
_UNTIL_SECONDS = 120.0  # chosen by hand
_OPEN_SECONDS = 90.0  # chosen by hand


class Launch(Parameters):
    """A program to start and leave running."""

    command: Annotated[Words, Field(min_length=1)]
    shell: bool = False


@SETUP("launch", Launch)
async def launch(context: StepContext, params: Launch) -> None:
    """Start a program, and wait for it if it ends others."""
    if ends_programs(params.command, shell=params.shell):
        await end_programs(context, params.command)
        return
    line = await context.line(params.command, shell=params.shell)
    line = line if params.shell else add_proxy(context, line)
    await start(context, line, names=window_names(line))


class _Until(Parameters):
    returncode: int | None = None
    stdout: str | None = None
    stderr: str | None = None

    def holds(self, result: CommandResult) -> bool:
        """Whether the command need not be repeated; one condition that holds is enough."""
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


@SETUP("execute", Execute)
async def execute(context: StepContext, params: Execute) -> None:
    """Run a command.

    Its exit status does not matter, unless ``until`` names it, or the command starts an application
    whose window does not appear.
    """
    uses_output = params.until or params.stdout or params.stderr
    if not uses_output and ends_programs(params.command, shell=params.shell):
        await end_programs(context, params.command)
        return
    deadline = Deadline(_UNTIL_SECONDS)
    while True:
        result = await context.run(params.command, shell=params.shell)
        if params.until is None or params.until.holds(result):
            break
        if deadline.passed:
            raise EnvironmentFailed(
                f"{params.command!r} did not reach {params.until.model_dump(exclude_none=True)}"
                f" within {deadline.waited:.0f} s"
            )
        await context.pause(0.3)
    for name, text in ((params.stdout, result.output), (params.stderr, result.error)):
        if name:
            context.place(name).write_text(text, "utf-8")
    _expect_started(context, params, result)
    if context.phase == "prepare":
        command = params.command
        text = command if isinstance(command, str) else "\n".join((shlex.join(command), *command))
        await expect_window(context, text, result)


def _expect_started(context: StepContext, params: Execute, result: CommandResult) -> None:
    """Raise if the machine lacks the program (126, 127): before a run, not the agent's fault."""
    judged = context.phase == "prepare" or not params.shell
    missing = judged and result.exit_code in (126, 127)
    lacks = re.search(r"No module named '?(pyautogui)", result.error)
    if missing or lacks:
        raise EnvironmentFailed(
            f"{str(params.command)[:200]} cannot run: {result.error.strip()[-300:]}",
            fix=fix_for("python3-pyautogui" if lacks else missing_program(result.error)),
        )


SETUP("command", Execute)(execute)  # another name of the step


class Open(Parameters):
    """A file to open as a double click would."""

    path: GuestPath


@SETUP("open", Open)
async def open_file(context: StepContext, params: Open) -> None:
    """Open a file and wait until a window shows its name."""
    path = quote_word(params.path)
    file_test = await context.environment.execute(f"test -e {path}")
    if file_test.exit_code != 0:
        raise EnvironmentFailed(f"{params.path}: there is no such file to open")
    line = f"{await _opener(context, params.path)} {path}"
    await start(context, line, names=window_names(line))
    stem = posixpath.splitext(posixpath.basename(params.path))[0]
    await await_window(context, Named(window_name=stem or params.path), _OPEN_SECONDS)


async def _opener(context: StepContext, path: str) -> str:
    name, _, options = opener_of(path).partition(" ")
    if name and (program := await context.program(name)):
        return f"{program} {options}".strip()
    if await context.program("xdg-open"):
        return "xdg-open"
    raise EnvironmentFailed(
        f"{context.environment.name} has no program that opens {path!r}",
        fix=fix_for(name or "xdg-open"),
    )


class Sleep(Parameters):
    """Seconds to wait."""

    seconds: Annotated[float, Field(ge=0, le=600)]


@SETUP("sleep", Sleep)
async def sleep(context: StepContext, params: Sleep) -> None:
    """Wait."""
    await context.pause(params.seconds)


_OPENERS: Mapping[str, str] = {
    "xlsx xls ods csv tsv": "libreoffice --calc",
    "docx doc odt rtf": "libreoffice --writer",
    "pptx ppt odp": "libreoffice --impress",
    "html htm pdf svg": "google-chrome",
    "txt md json py sh log yaml yml": "gedit",
}
"""Commands that open a file if no desktop environment chooses one, by its extension."""


def opener_of(path: str) -> str:
    """Returns the command that opens files of that extension; empty if none is known."""
    ending = posixpath.splitext(path)[1].lstrip(".").lower()
    return next((line for ends, line in _OPENERS.items() if ending in ends.split()), "")


_ENDERS = ("pkill", "killall")
_CHROME = ("chrome", "google-chrome", "google-chrome-stable")
_CHROMIUM = "chromium"
_GONE_SECONDS = 15.0
"""Longest wait for a browser to write its files and end; it takes about one second."""
_LEFT = "ps -C chrome,chromium -o stat= | grep -q '^[^Z]'"
"""Succeeds while a browser runs; a zombie does not count."""


def ends_programs(command: str | Sequence[str], *, shell: bool = False) -> bool:
    """Whether a command of a task file only ends programs."""
    return not (shell and not isinstance(command, str)) and bool(_words(command))


async def end_programs(context: StepContext, command: str | Sequence[str]) -> int:
    """Run a command that ends programs; if it ends the browser, wait until that is gone.

    Task files call Chromium by Chrome's name, which would not end it. A browser that is started
    while the previous one still runs would hand over to it and end.

    Returns:
        The exit status; 1 if there was nothing to end.
    """
    words = _words(command)
    lines = [words]
    if names := [word for word in words[1:] if word in _CHROME]:
        lines.append([_CHROMIUM if word in names else word for word in words])
    codes = [(await context.run(line)).exit_code for line in lines]
    if names:
        deadline = Deadline(_GONE_SECONDS)
        while (await context.environment.execute(bash(_LEFT))).exit_code == 0:
            if deadline.passed:
                break
            await context.pause(0.2)
    return min(codes)


def _words(command: str | Sequence[str]) -> list[str]:
    """Returns the words of a command that only ends programs; empty for any other."""
    if isinstance(command, str):
        if set(command) & set(";&|<>()$`\n"):
            return []
        try:
            command = shlex.split(command)
        except ValueError:
            return []
    words = list(command)
    return words if words and posixpath.basename(words[0]) in _ENDERS else []


class _Verification(Parameters):
    window_exists: str | None = None
    command_success: str | None = None


class VerifiedCommand(Parameters):
    """A command, and the conditions that must all hold within some seconds afterwards."""

    command: Annotated[str | tuple[str, ...], Field(min_length=1)]
    shell: bool = False
    verification: Annotated[
        _Verification, BeforeValidator(lambda value: value or {}), Field(validate_default=True)
    ] = _Verification()
    max_wait_time: Annotated[float, Field(ge=0, le=600)] = 10
    check_interval: Annotated[float, Field(gt=0, le=60)] = 1


@SETUP("execute_with_verification", VerifiedCommand)
async def execute_verified(context: StepContext, params: VerifiedCommand) -> None:
    """Run a command, and wait until the window and the state that it should bring about are there.

    Raises:
        EnvironmentFailed: they are not there in time; the message names what is missing.
    """
    await execute(context, Execute(command=params.command, shell=params.shell))
    deadline = Deadline(params.max_wait_time)
    while lacking := await _describe_unmet(context, params.verification):
        if deadline.passed:
            waited = f"{deadline.waited:.0f} s after {str(params.command)[:200]!r}"
            raise EnvironmentFailed(f"{waited}: {lacking}")
        await context.pause(params.check_interval)


async def _describe_unmet(context: StepContext, verification: _Verification) -> str:
    """Returns the first condition that does not hold, in words; empty if all do."""
    if verification.window_exists is not None:
        titles = [plain_title(window.title) for window in await context.windows()]
        name = plain_title(verification.window_exists).lower()
        if not any(name in title.lower() for title in titles):
            return f"no window titled {verification.window_exists!r}; there are: {titles}"
    if verification.command_success is not None:
        result = await context.run(verification.command_success, shell=True)
        if result.exit_code != 0:
            message = (result.error or result.output).strip()[-200:]
            return (
                f"{verification.command_success[:200]!r} ended with {result.exit_code}: {message}"
            )
    return ""
