"""Runs commands with limits of time and output; does not wait for what they leave running."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from .sandbox import Wrap
from .spawning import spawn

__all__ = ["FinishedCommand", "run"]

_DRAIN_SECONDS = 0.3
"""Wait for what is still in the pipes after a command has ended; chosen by hand."""
_CHUNK = 65536  # chosen by hand
TIMED_OUT = 124
"""Exit code of a command that was killed at its time limit, the same as that of timeout(1)."""


@dataclass(frozen=True)
class FinishedCommand:
    """A finished command; ``output`` and ``error`` cut to the limit."""

    exit_code: int
    output: str
    error: str
    timed_out: bool


class _Reader(threading.Thread):
    """Keeps the first ``limit`` bytes of a stream and throws the rest away."""

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self._limit = limit
        self._buffer = bytearray()
        self.start()

    def run(self) -> None:
        """Reads to the end."""
        number = self._stream.fileno()
        while chunk := os.read(number, _CHUNK):
            room = self._limit - len(self._buffer)
            if room > 0:
                self._buffer += chunk[:room]
        self._stream.close()

    def text(self) -> str:
        """Returns the text kept so far, after a short wait for the end of the stream."""
        self.join(_DRAIN_SECONDS)
        return bytes(self._buffer).decode("utf-8", "replace")


def run(
    command: str | Sequence[str],
    *,
    timeout: float,
    limit: int,
    wrap: Wrap | None = None,
) -> FinishedCommand:
    """Runs a command in its own process group; a string goes to bash.

    Programs that it leaves running in the background go on.

    Args:
        command: a line for bash, or the words of a command.
        timeout: seconds after which the whole group is killed.
        limit: most bytes of its output that are kept, and as many of its errors.
        wrap: returns the command line to run in place of the given one, such as a sandbox with it.

    Raises:
        OSError: the command cannot be started.
    """
    words = ["bash", "-c", command] if isinstance(command, str) else list(command)
    process = spawn(
        wrap(words) if wrap else words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    output = _Reader(process.stdout, limit) if process.stdout else None
    error = _Reader(process.stderr, limit) if process.stderr else None
    timed_out = _wait(process, timeout)
    return FinishedCommand(
        exit_code=TIMED_OUT if timed_out else process.returncode,
        output=output.text() if output else "",
        error=error.text() if error else "",
        timed_out=timed_out,
    )


def _wait(process: subprocess.Popen[bytes], timeout: float) -> bool:
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    return False
