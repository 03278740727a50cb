"""The one thread that starts programs, so that what it may not do they may not either.

Rules of the kernel that a thread puts on itself are inherited by what it starts, and by nothing
else: the guest itself and its X server, which are not started here, stay free of them. A program
can neither kill these two nor, by ``kill -9 -1``, whatever the desktop consists of.
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
    """As `subprocess.Popen`.

    Raises:
        OSError: it cannot be started.
    """

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(words, **options)

    return _thread.submit(start).result()


def restrain() -> None:
    """Keep this process, and what it starts elsewhere, from the signals of what is started here.

    It must be unable to gain privileges; see `hisa.plugins.desktop.guest.confinement`.
    """
    _thread.submit(signals_stay).result()


def protect(pids: Iterable[int]) -> None:
    """Keep these from the signals of whatever is started from now on.

    Raises:
        OSError: the kernel refuses it.
    """
    _thread.submit(_protect, list(pids)).result()


def _protect(pids: list[int]) -> None:
    # To signal a thread ends its whole process, and this one is bound by its own rules.
    shield([*pids, threading.get_native_id()])
