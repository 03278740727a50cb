"""Starts programs that end when the process that started them ends, however it ends."""

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
"""Called with one line for each step of progress."""

_TELLING = ("I: ", "Get:", "Unpacking ", "Setting up ", "update-initramfs", "Collecting ")
_ALWAYS = ("Need to get ", "After this operation, ")
"""Beginnings of lines that are always reported."""

_WATCHED = 'exec 3<&0; (read -r _ <&3; kill -s {signal} -- -$$) & exec "$@" </dev/null 3<&-'
"""A watcher in the program's process group reads standard input, whose end means that this process
is gone."""


def start(
    line: Sequence[str],
    log: IO[bytes],
    folder: Path,
    *,
    signal: Literal["KILL", "TERM"],
    umask: int = -1,
) -> subprocess.Popen[bytes]:
    """Starts a program in its own process group.

    Args:
        line: the program and its arguments.
        log: gets all its output.
        folder: its working directory.
        signal: the signal that it gets when this process ends.
        umask: its umask; -1: that of this process.
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
    """Ends what `start` started, its children and its watcher.

    Args:
        process: the program.
        gently: seconds between SIGTERM and SIGKILL, in which it may clean up.
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
    """Runs a program to its end, reports progress every few seconds, and returns its output.

    Its umask is 022, not the caller's: it makes parts of systems, which other users read.

    Args:
        line: the program and its arguments.
        log: the file that gets all its output; the program runs in the file's folder.
        tell: called with a line for each step of progress.
        fix: the command that helps if it fails.

    Raises:
        EnvironmentFailed: the program failed; the message ends with its last output.
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
        raise EnvironmentFailed(f"{program} ended with {code}; its output ends:\n{end}", fix=fix)
    return text


def _follow(log: Path, process: subprocess.Popen[bytes], tell: Progress) -> None:
    """Report what the program downloads, and every few seconds its last telling line."""
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
        heard = max(heard, len(lines) - 1)  # the last line may be incomplete
        if not ended and time.monotonic() - reported_at >= 5.0:
            reported_at = time.monotonic()
            last = next((line for line in reversed(lines) if line.startswith(_TELLING)), "")
            tell(f"    {reported_at - begun:4.0f} s  {last[:80]}".rstrip())


def _signal(group: int, number: signals.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)
