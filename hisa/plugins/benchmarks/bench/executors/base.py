"""The seam between a bench and the machines that do its work."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from hisa.errors import HisaError
from hisa.plugins.benchmarks.bench.jobs import Job, Message

__all__ = ["Executor", "Worker", "WorkerLost"]


class WorkerLost(HisaError):
    """A worker is gone; its attempt in flight is lost and nothing else is."""


class Worker(Protocol):
    """Does one job at a time."""

    @property
    def name(self) -> str:
        """``host:pid``."""
        ...

    def do(self, job: Job, /) -> AsyncIterator[Message]:
        """Make an attempt; its messages come as things happen, `JobDone` last.

        Raises:
            WorkerLost: the worker is gone; it takes no more jobs.
        """
        ...

    async def close(self, *, patience: float = 20.0) -> None:
        """End the worker: stop a run in progress; kill the worker after ``patience`` seconds."""
        ...


class Executor(Protocol):
    """Starts workers."""

    async def start_worker(self) -> Worker:
        """Returns a new worker, ready for jobs.

        Raises:
            EnvironmentFailed: no worker can be started.
        """
        ...

    async def close(self) -> None:
        """Release the machines; every worker has been closed before."""
        ...
