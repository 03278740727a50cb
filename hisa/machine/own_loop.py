"""Runs a coroutine in a separate event loop while another loop is running."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

__all__ = ["run_in_thread"]

_Value = TypeVar("_Value")


def run_in_thread(work: Coroutine[Any, Any, _Value]) -> _Value:
    """Runs a coroutine in a thread with a separate loop; Ctrl-C in this thread cancels it.

    Raises:
        KeyboardInterrupt: the coroutine was cancelled before it returned.
    """
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)
    thread = threading.Thread(target=_serve, args=(loop, task), name="hisa-run", daemon=True)
    thread.start()
    with _on_ctrl_c(lambda: loop.call_soon_threadsafe(task.cancel)):
        thread.join()
    if task.cancelled():
        raise KeyboardInterrupt
    return task.result()


@contextmanager
def _on_ctrl_c(stop: Callable[[], object]) -> Iterator[None]:
    """Call ``stop`` on Ctrl-C: the outer loop is blocked, so its own handler cannot run."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread gets signals
        return
    before = signal.signal(signal.SIGINT, lambda *_: stop())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _serve(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(_wait_for_end(task))


async def _wait_for_end(task: asyncio.Task[Any]) -> None:
    await asyncio.wait([task])
