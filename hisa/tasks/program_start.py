"""Starts programs, leaves them running, and verifies that they run or opened a window."""

from __future__ import annotations

import contextlib
import posixpath
import re
import secrets
import shlex
from collections.abc import Sequence

from hisa.errors import EnvironmentFailed
from hisa.machine.patience import patience
from hisa.protocols import CommandResult, Environment
from hisa.tasks.missing_programs import fix_from_output
from hisa.tasks.task_context import Context, StartedProgram

__all__ = [
    "LOOKS",
    "POLL_SECONDS",
    "check_running",
    "forget",
    "shown_windows",
    "start",
    "window_looks",
]

POLL_SECONDS = 0.2  # chosen by hand
LOOKS = 8
"""A program that is still running after this many looks has loaded its libraries and found its
display; the slower the machine, the longer each look takes."""
_WINDOW_SECONDS = 30.0
"""Longest wait for the window of a program that hands over to another and exits at once."""
_ENDED_BY_OTHERS = (129, 130, 137, 143)
"""SIGHUP, SIGINT, SIGKILL, SIGTERM: a later step ended it."""
_ENDS_OTHERS = re.compile(r"(pkill|killall)\s")
"""Programs that exit with 1 if there is nothing to kill: the agent may have closed it."""
_WRAP = (
    'mkdir -m 700 "$0" && { bash -c "$1" </dev/null '
    '> >(head -c 20000 >"$0/said"; exec cat >/dev/null) 2>&1; echo $? >"$0/exit"; }'
)
"""Keeps the beginning of the program's output, and its exit status once it exits."""


async def start(
    context: Context,
    line: str,
    *,
    watched: bool = True,
    names: Sequence[str] = (),
    must_stay: bool = False,
) -> None:
    """Starts a bash line in a session of its own, and verifies that it runs or opened a window.

    Args:
        context: the task and its machine.
        line: the bash line to start.
        watched: whether it matters that the program exits.
        names: words of its window, in lower case, if it is known to show one.
        must_stay: whether exiting with 0 is a failure too, unless a window opened.

    Raises:
        EnvironmentFailed: the program cannot be started, or exited at once.
    """
    place = f"/tmp/.hisa-started-{secrets.token_hex(6)}"
    known = await _windows(context) if watched else frozenset()
    begun = StartedProgram(line, place, known, must_stay, tuple(names))
    words = shlex.join(["setsid", "-f", "bash", "-c", _WRAP, place, line])
    result = await context.environment.execute(
        f"{words} >/dev/null 2>&1 </dev/null", timeout=patience(30.0)
    )
    if result.exit_code != 0:
        message = (result.error or result.output).strip()[:300]
        raise EnvironmentFailed(f"{line[:200]!r} cannot be started: {message}")
    if watched:
        context.started.append(begun)
        await _expect_started(context, begun)


async def _expect_started(context: Context, begun: StartedProgram) -> None:
    for _ in range(LOOKS):
        code = await _exit_of(context.environment, begun)
        if code is not None:
            await _expect_handed_over(context, begun, code)
            return
        if await _windows(context) - begun.windows:
            return
        await context.pause(POLL_SECONDS)


async def _expect_handed_over(context: Context, begun: StartedProgram, code: int) -> None:
    """Verify that a program that exited at once handed over to one that shows a window."""
    if code == 1 and _ENDS_OTHERS.match(begun.line):
        return
    if code != 0:
        raise await _dead(context.environment, begun, f"ended at once with {code}")
    if not begun.names and not begun.must_stay:
        return
    names = begun.names or tuple(filter(None, [_program(begun.line)]))
    for _ in range(window_looks()):
        windows = (await context.environment.observe()).windows
        known = {(window.id, window.title) for window in windows}
        shown = " ".join(f"{window.app} {window.title}" for window in windows).lower()
        if known - begun.windows or any(name in shown for name in names):
            return
        await context.pause(POLL_SECONDS)
    raise await _dead(context.environment, begun, "ended at once with 0 and opened no window")


def window_looks() -> int:
    """Returns how often to look for a window before giving up."""
    return round(patience(_WINDOW_SECONDS) / POLL_SECONDS)


def _program(line: str) -> str:
    """Returns the name of the program that a line starts; empty if the line cannot be split."""
    try:
        words = shlex.split(line)
    except ValueError:
        return ""
    return posixpath.basename(words[0]).lower() if words else ""


async def shown_windows(context: Context) -> str:
    """Returns applications and titles of all windows, in lower case."""
    windows = (await context.environment.observe()).windows
    return " ".join(f"{window.app} {window.title}" for window in windows).lower()


async def check_running(context: Context) -> None:
    """Verifies after a setup that no program that it started has crashed.

    Raises:
        EnvironmentFailed: one has.
    """
    for begun in context.started:
        code = await _exit_of(context.environment, begun)
        if code not in (None, 0, *_ENDED_BY_OTHERS):
            raise await _dead(context.environment, begun, f"ended with {code}")


async def forget(context: Context) -> None:
    """Removes the kept output of the programs that were started; they go on running."""
    if context.started:
        places = shlex.join(begun.place for begun in context.started)
        context.started.clear()
        with contextlib.suppress(EnvironmentFailed):
            await context.environment.execute(f"rm -rf {places}", timeout=10.0)


async def _exit_of(environment: Environment, begun: StartedProgram) -> int | None:
    """Returns the program's exit status; None while it runs."""
    result = await environment.execute(f"cat {begun.place}/exit 2>/dev/null")
    text = result.output.strip()
    return int(text) if text.isdigit() else None


async def _dead(environment: Environment, begun: StartedProgram, ending: str) -> EnvironmentFailed:
    result: CommandResult = await environment.execute(f"tail -c 500 {begun.place}/said 2>/dev/null")
    words = result.output.strip()
    because = f": {words}" if words else ""
    return EnvironmentFailed(f"{begun.line[:200]!r} {ending}{because}", fix=fix_from_output(words))


async def _windows(context: Context) -> frozenset[tuple[str, str]]:
    observation = await context.environment.observe()
    return frozenset((window.id, window.title) for window in observation.windows)
