"""Calls something when this process is told to stop, by Ctrl-C or by SIGTERM, on any system."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["on_stop_signals"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def on_stop_signals(stop: Callable[[int], object]) -> Iterator[None]:
    """Call a function with the number of each signal, in the running event loop.

    Windows has no handlers of event loops; there an ordinary handler wakes the loop.
    """
    loop = asyncio.get_running_loop()
    before: dict[int, Any] = {}

    def wake(number: int, _: object) -> None:
        loop.call_soon_threadsafe(stop, number)

    for number in _SIGNALS:
        try:
            loop.add_signal_handler(number, stop, number)
        except NotImplementedError:
            before[number] = signal.signal(number, wake)
    try:
        yield
    finally:
        for number in _SIGNALS:
            if number in before:
                signal.signal(number, before[number])
            else:
                loop.remove_signal_handler(number)
