"""The context of a setup or a scoring: the task, the machine, and what the caller gives."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hisa.config import TaskSettings
from hisa.errors import EnvironmentFailed, UsageError
from hisa.protocols import Environment, Task
from hisa.screen.observation import Window
from hisa.tasks.limits import MAX_HOST_FILE

__all__ = ["Context", "Phase", "StartedProgram", "host_file", "quote_word"]

Phase = Literal["prepare", "score"]
"""In "prepare" a step that fails is a failure of the machine; in "score" the agent may be why."""


def host_file(folder: str, name: str) -> Path:
    """Returns the path of a file below the task's folder; task files are hostile input.

    A benchmark names files from its own root (``evaluation_examples/…``). If only the task's folder
    was copied, the file of that name beside the task is taken.

    Raises:
        UsageError: the file is outside the folder, missing or too large.
    """
    root = Path(folder).resolve()
    if "\0" in name or not name:
        raise UsageError(f"{name!r} is not a file name")
    path = (root / name).resolve()
    if not path.is_relative_to(root):
        raise UsageError(f"{name!r} lies outside the task's folder {root}")
    beside = root / path.name
    if not path.is_file() and name.startswith("evaluation_examples/") and beside.is_file():
        path = beside.resolve()
        if not path.is_relative_to(root):
            raise UsageError(f"{name!r} lies outside the task's folder {root}")
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    if path.stat().st_size > MAX_HOST_FILE:
        raise UsageError(f"{path}: larger than {MAX_HOST_FILE:,} bytes")
    return path


@dataclass(frozen=True)
class StartedProgram:
    """A program that was started."""

    line: str
    place: str
    """A folder of the machine for its output and its exit status."""
    windows: frozenset[tuple[str, str]]
    """Id and title of each window before it was started."""
    must_stay: bool = False
    """Whether exiting with 0 is a failure too, unless a window opened."""
    names: tuple[str, ...] = ()
    """Words of its window, in lower case, if it is known to show one."""


@dataclass
class Context:
    """One preparation or one scoring of a task.

    ``scratch`` is an empty folder of this machine, deleted afterwards.
    """

    task: Task
    environment: Environment
    scratch: Path
    phase: Phase = "prepare"
    settings: TaskSettings = field(default_factory=TaskSettings)
    """The user's settings for tasks."""
    parts: Mapping[str, Any] = field(default_factory=dict)
    """Replacements for the task format's own parts, by the format's names for them."""
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    """Waits for some seconds."""
    instruction: str = ""
    """The instruction that a setup step found; empty: the task's own."""
    started: list[StartedProgram] = field(default_factory=list)
    """Programs that setup steps started."""

    def host_file(self, name: str) -> Path:
        """Returns the path of a file that came with the task."""
        try:
            return host_file(self.task.folder, name)
        except UsageError as error:
            raise UsageError(f"task {self.task.id!r}: {error}") from error

    async def windows(self) -> tuple[Window, ...]:
        """Returns the windows that are open now.

        Raises:
            EnvironmentFailed: the machine cannot list its windows.
        """
        observation = await self.environment.observe(settle=0.2)
        if not observation.windows_known:
            raise EnvironmentFailed(
                "the machine cannot tell which windows are open",
                fix="install wmctrl and x11-utils (xprop) in the guest",
            )
        return observation.windows


def quote_word(word: str) -> str:
    """Quotes a word for bash; a leading ``~/`` becomes the home of the machine's user."""
    if word.startswith("~/"):
        return '"$HOME"/' + shlex.quote(word[2:])
    return shlex.quote(word)
