"""Windows that the scripts and commands of a benchmark are to open."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hisa.errors import EnvironmentFailed
from hisa.plugins.machines.machine_apps import window_names
from hisa.protocols import CommandResult
from hisa.tasks.missing_programs import fix_from_output
from hisa.tasks.started import LOOKS, POLL_SECONDS, shown_windows, window_looks
from hisa.tasks.task_context import Context

__all__ = ["await_windows", "expect_window"]

_PARTS = re.compile(r"[\n;&|]+")
_BEFORE = re.compile(r"\s*(?:(?:sudo|exec|nohup|env|setsid|[A-Za-z_]\w*=\S*)\s+)*")
"""What stands before the name of a program."""


async def expect_window(context: Context, text: str, result: CommandResult) -> None:
    """See that a command that failed has opened the window of the application that it starts.

    Args:
        context: the task and its machine.
        text: lines of bash; one that starts no application with a window may end as it will.
        result: of these lines, which have ended.

    Raises:
        EnvironmentFailed: it ended with another status than 0, and there is no such window.
    """
    names = {name for one in _opened_by(text) for name in one}
    if result.exit_code == 0 or not names:
        return
    for _ in range(LOOKS):
        shown = await shown_windows(context)
        if any(name in shown for name in names):
            return
        await context.pause(POLL_SECONDS)
    words = (result.error or result.output).strip()[-300:]
    raise EnvironmentFailed(
        f"{text[:200]!r} ended with {result.exit_code} and opened no window{': ' if words else ''}"
        f"{words}",
        fix=fix_from_output(words),
    )


async def await_windows(context: Context, text: str) -> None:
    """Wait until each application that a script starts shows a window, 30 s at most.

    Published scripts end as soon as they have handed over; a run that begins then does not see what
    it is about. One whose window does not come may have been started for something else.

    Args:
        context: the task and its machine.
        text: of the script; only what it starts by lines of its own is waited for.
    """
    lines = [line for line in text.splitlines() if line[:1].isalpha()]
    awaited = set(_opened_by("\n".join(lines)))
    for _ in range(window_looks() if awaited else 0):
        shown = await shown_windows(context)
        if all(any(name in shown for name in names) for names in awaited):
            return
        await context.pause(POLL_SECONDS)


def _opened_by(text: str) -> Iterator[tuple[str, ...]]:
    """For each application that lines of bash start, words of its window."""
    for part in _PARTS.split(text):
        if names := window_names(_BEFORE.sub("", part, count=1)):
            yield names
