"""Starts all programs in one thread, so that they inherit its restrictions.

The kernel's rules that a thread puts on itself are inherited by what it starts, and by nothing
else: the guest itself and its X server, which are not started here, stay free of them. A program
cannot kill these two, nor, by ``kill -9 -1``, the desktop's other processes.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .confinement import shield, signals_stay

__all__ = ["protect", "restrain", "spawn"]

_thread = ThreadPoolExecutor(1, "spawning")


def spawn(words: Any, **options: Any) -> subprocess.Popen[bytes]:
    """Starts a program in the restricted thread; takes the arguments of `subprocess.Popen`.

    Raises:
        OSError: the program cannot be started.
    """

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(words, **options)

    return _thread.submit(start).result()


def restrain() -> None:
    """Protects this process, and what it starts elsewhere, from signals of programs started here.

    It must be unable to gain privileges; see `hisa.plugins.desktop.guest.confinement`.
    """
    _thread.submit(signals_stay).result()


def protect(pids: Iterable[int]) -> None:
    """Protects processes from the signals of programs that are started from now on.

    Raises:
        OSError: the kernel refuses the filter.
    """
    _thread.submit(_protect, list(pids)).result()


def _protect(pids: list[int]) -> None:
    # This thread too: its own rules do not protect it, and a signal to it ends the whole process.
    shield([*pids, threading.get_native_id()])
