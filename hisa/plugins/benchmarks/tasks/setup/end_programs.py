"""Commands of task files that end programs: `pkill chrome` before the browser is started anew."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Sequence

from hisa.environments.clean import bash
from hisa.machine.patience import Deadline
from hisa.plugins.benchmarks.tasks.step_context import StepContext

__all__ = ["end_programs", "ends_programs"]

_ENDERS = ("pkill", "killall")
_CHROME = ("chrome", "google-chrome", "google-chrome-stable")
_CHROMIUM = "chromium"
_GONE_SECONDS = 15.0
"""Longest wait for a browser to write its files and be gone; it takes about one second."""
_LEFT = "ps -C chrome,chromium -o stat= | grep -q '^[^Z]'"
"""Holds while a browser runs; one that nothing has waited for yet does not count."""


def ends_programs(command: str | Sequence[str], *, shell: bool = False) -> bool:
    """Whether a command, as a task file has it, is about ending programs and no more."""
    return not (shell and not isinstance(command, str)) and bool(_words(command))


async def end_programs(context: StepContext, command: str | Sequence[str]) -> int:
    """Run a command that ends programs, and wait for the browser, if that is meant, to be gone.

    Chromium goes by Chrome's name in task files, and is not ended by it. A browser that is started
    while the one before still runs would hand over to it and end. Returns the exit status, 1 where
    there was none to end.
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
    """The words of a command that only ends programs; none of any other."""
    if isinstance(command, str):
        if set(command) & set(";&|<>()$`\n"):
            return []
        try:
            command = shlex.split(command)
        except ValueError:
            return []
    words = list(command)
    return words if words and posixpath.basename(words[0]) in _ENDERS else []
