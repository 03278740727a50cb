"""Private desktops for benches in tests; the one of the task ``outside`` is killed by the host."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from hisa.config import Settings
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.desktop.runtime.state import Handle
from hisa.plugins.desktop.runtime.watchdog import children, first_inside
from hisa.protocols import CommandResult, Environment, Task

__all__ = ["desktop"]


class _KilledDesktop(DesktopEnvironment):
    """Its guest is killed from outside while the agent's command runs."""

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        if "milk" not in str(command):
            return await super().execute(command, timeout=timeout, limit=limit)
        running = asyncio.create_task(super().execute(command, timeout=timeout, limit=limit))
        await asyncio.sleep(0.5)
        first = first_inside(children(Handle.from_json(self.handle).pid)[0])
        os.kill(children(first or 0)[0], signal.SIGKILL)
        return await running


@asynccontextmanager
async def desktop(settings: Settings, task: Task) -> AsyncIterator[Environment]:
    """A desktop with the limits of the settings."""
    kind = _KilledDesktop if task.id == "outside" else DesktopEnvironment
    async with kind(limits=settings.environment.limits) as environment:
        yield environment
