"""Environments for benches in tests: the form in memory, slow, breaking or deadly by task id."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from hisa.config import Settings
from hisa.environments.transport.base import NoResponse
from hisa.protocols import Environment, Task
from hisa.screen.observation import Observation
from hisa.testing.form import FakeEnvironment


class _SlowForm(FakeEnvironment):
    """A form that takes its time to show itself."""

    def __init__(self, seconds: float, fail_after: int | None) -> None:
        super().__init__(fail_after=fail_after)
        self._seconds = seconds

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        await asyncio.sleep(self._seconds)
        return await super().observe(elements=elements, settle=settle)


class _UnreadableForm(FakeEnvironment):
    """A form that breaks when its files are looked at."""

    async def read_file(self, path: str, /, *, limit: int | None = None) -> bytes:
        raise NoResponse("the machine is gone")


def _tries(task: Task) -> int:
    """How often this task was begun, counted in a file beside it."""
    path = Path(task.folder) / f"{task.id}.tries"
    with path.open("ab") as file:
        file.write(b".")
    return path.stat().st_size


@asynccontextmanager
async def form(settings: Settings, task: Task) -> AsyncIterator[Environment]:
    """The form.

    In its first N tries ``broken-N`` breaks, ``deadly-N`` kills its worker, ``unscored-N`` breaks
    while it is scored, and ``stuck-N`` never ends; ``slow`` takes its time.
    """
    seconds = 0.5 if task.id == "slow" else float(os.environ.get("FORM_SECONDS", "0"))
    kind, _, count = task.id.partition("-")
    first = kind in ("broken", "deadly", "unscored", "stuck") and _tries(task) <= int(count)
    if first and kind == "deadly":
        os.kill(os.getpid(), signal.SIGKILL)
    if first and kind == "unscored":
        yield _UnreadableForm()
        return
    if first and kind == "stuck":
        seconds = 3600.0
    yield _SlowForm(seconds, 3 if first and kind == "broken" else None)
