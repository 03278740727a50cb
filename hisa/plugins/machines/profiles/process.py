"""Starts programs that end with the process that started them, whatever ends that."""

from __future__ import annotations

import contextlib
import os
import signal as signals
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Literal

from hisa.errors import EnvironmentFailed

__all__ = ["Progress", "end_all", "run", "start"]

Progress = Callable[[str], None]
"""Is told what happens, one line each time."""

_TELLING = ("I: ", "Get:", "Unpacking ", "Setting up ", "update-initramfs", "Collecting ")
_ALWAYS = ("Need to get ", "After this operation, ")
"""Beginnings of lines that are told whenever they are said."""

_WATCHED = 'exec 3<&0; (read -r _ <&3; kill -s {signal} -- -$$) & exec "$@" </dev/null 3<&-'
"""A watcher in the program's own group reads standard input, which ends with its other end."""


def start(
    line: Sequence[str],
    log: IO[bytes],
    folder: Path,
    *,
    signal: Literal["KILL", "TERM"],
    umask: int = -1,
) -> subprocess.Popen[bytes]:
    """Start a program in a group of its own.

    Args:
        line: program and arguments.
        log: takes all that it says.
        folder: where it runs.
        signal: what it gets when this process ends.
        umask: what it does not permit for files that it makes; -1: as this process.
    """
    watched = ["sh", "-c", _WATCHED.format(signal=signal), line[0]]
    return subprocess.Popen(
        [*watched, *line],
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        cwd=folder,
        start_new_session=True,
        umask=umask,
    )


def end_all(process: subprocess.Popen[bytes], *, gently: float = 0.0) -> None:
    """End what `start` started, its children and its watcher.

    Args:
        process: the program.
        gently: seconds it is given to clean up first.
    """
    if gently and process.poll() is None:
        _signal(process.pid, signals.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(gently)
    _signal(process.pid, signals.SIGKILL)
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def run(line: Sequence[str], log: Path, tell: Progress, *, fix: str) -> str:
    """Run a program to its end and tell every few seconds how far it is; returns what it said.

    It makes parts of systems, which other users read: the caller's umask does not hold for them.

    Args:
        line: program and arguments.
        log: takes all that it says; the program runs in its folder.
        tell: called with a line for each thing that happens.
        fix: the command that helps where it fails.

    Raises:
        EnvironmentFailed: it failed; the message ends with what it said.
    """
    with log.open("wb") as output:
        process = start(line, output, log.parent, signal="TERM", umask=0o022)
    follower = threading.Thread(target=_follow, args=(log, process, tell), daemon=True)
    follower.start()
    try:
        code = process.wait()
    finally:
        end_all(process, gently=10.0)
    follower.join()
    text = log.read_text(encoding="utf-8", errors="replace")
    if code != 0:
        end = "\n".join(text.splitlines()[-15:])
        program = next(word for word in line if word != "unshare" and not word.startswith("-"))
        raise EnvironmentFailed(f"{program} ended with {code}; it said last:\n{end}", fix=fix)
    return text


def _follow(log: Path, process: subprocess.Popen[bytes], tell: Progress) -> None:
    """Tell what it downloads, and the last line that means something to a person."""
    begun = reported_at = time.monotonic()
    heard = 0
    ended = False
    while not ended:
        time.sleep(0.2)
        ended = process.poll() is not None
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        for line in lines[heard:]:
            if line.startswith(_ALWAYS):
                tell(f"    {line}")
        heard = max(heard, len(lines) - 1)  # the last may be half of one
        if not ended and time.monotonic() - reported_at >= 5.0:
            reported_at = time.monotonic()
            last = next((line for line in reversed(lines) if line.startswith(_TELLING)), "")
            tell(f"    {reported_at - begun:4.0f} s  {last[:80]}".rstrip())


def _signal(group: int, number: signals.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)
