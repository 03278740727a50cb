"""Starts programs that end with the process that started them, whatever ends that."""

from __future__ import annotations

import contextlib
import os
import signal as signals
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Literal

__all__ = ["end_all", "start"]

_WATCHED = 'exec 3<&0; (read -r _ <&3; kill -s {signal} -- -$$) & exec "$@" </dev/null 3<&-'
"""A watcher in the program's own group reads standard input, which ends with its other end."""


def start(
    line: Sequence[str],
    log: IO[bytes],
    folder: Path,
    *,
    stays: bool,
    signal: Literal["KILL", "TERM"],
) -> subprocess.Popen[bytes]:
    """Start a program in a group of its own.

    Args:
        line: program and arguments.
        log: takes all that it says.
        folder: where it runs.
        stays: it goes on when this process ends.
        signal: what it gets when this process ends.
    """
    watched = [] if stays else ["sh", "-c", _WATCHED.format(signal=signal), line[0]]
    return subprocess.Popen(
        [*watched, *line],
        stdin=subprocess.DEVNULL if stays else subprocess.PIPE,
        stdout=log,
        stderr=log,
        cwd=folder,
        start_new_session=True,
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


def _signal(group: int, number: signals.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)
