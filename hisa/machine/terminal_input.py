"""What is typed at the terminal: thrown away, or waited for, on any system."""

from __future__ import annotations

import importlib
import select
import sys
import time
from typing import Any

__all__ = ["drop_typed", "wait_for_line"]

_POLL_SECONDS = 0.05


def drop_typed() -> None:
    """Throw away what was typed and not read yet."""
    if sys.platform == "win32":
        console: Any = importlib.import_module("msvcrt")
        while console.kbhit():
            console.getwch()
    else:
        import termios

        termios.tcflush(sys.stdin, termios.TCIFLUSH)


def wait_for_line(seconds: float) -> bool:
    """Returns whether something to read is there within some seconds."""
    ready = False
    if sys.platform == "win32":
        console: Any = importlib.import_module("msvcrt")
        end = time.monotonic() + seconds
        while not (ready := console.kbhit()) and time.monotonic() < end:
            time.sleep(_POLL_SECONDS)
    else:
        ready = bool(select.select([sys.stdin], [], [], seconds)[0])
    return ready
