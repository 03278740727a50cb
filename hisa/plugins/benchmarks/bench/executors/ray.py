"""Workers as Ray actors: on this machine, or anywhere in a cluster.

The folders of the suite and of the bench must be seen under the same paths by every node.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import socket
from collections.abc import AsyncIterator
from typing import Any

from hisa.errors import EnvironmentFailed, UsageError
from hisa.machine.parts import install_command
from hisa.plugins.benchmarks.bench.executors.base import WorkerLost
from hisa.plugins.benchmarks.bench.jobs import Job, JobDone, Message, message_adapter, perform

__all__ = ["RayExecutor", "RayWorker"]

_STARTING = 120.0
"""Seconds until an actor must be there; the first on a node starts a Python of its own."""
_CPUS = 0.01
"""CPUs that an actor asks for: so few that every node has them, unless it takes no work."""
_CALLS = 2
"""Calls that an actor answers at a time: its job, and the request to stop it."""
_HIRINGS = 5
"""Actors that are tried: a dead node still gets some until Ray knows that it is dead."""


class _Actor:
    """The actor in the cluster; it sends the same messages as a worker process."""

    def __init__(self) -> None:
        self._work: asyncio.Task[None] | None = None

    async def name(self) -> str:
        return f"{socket.gethostname()}:{os.getpid()}"

    async def do(self, job: str) -> AsyncIterator[str]:
        messages: asyncio.Queue[str | None] = asyncio.Queue()
        self._work = asyncio.create_task(self._perform(job, messages))
        while (message := await messages.get()) is not None:
            yield message
        await self._work

    async def _perform(self, job: str, messages: asyncio.Queue[str | None]) -> None:
        try:
            async for message in perform(Job.model_validate_json(job)):
                messages.put_nowait(message.model_dump_json())
        finally:
            messages.put_nowait(None)

    async def stop(self) -> None:
        """Stop the run in progress; its environment is closed on return.

        Cancelling the stream would not wait for that: Ray leaves the generator of a cancelled
        stream to be closed later.
        """
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)


class RayWorker:
    """One actor; see `hisa.plugins.benchmarks.bench.executors.base.Worker`."""

    def __init__(self, actor: Any, name: str) -> None:
        self._actor = actor
        self._name = name
        self._stream: Any = None

    @property
    def name(self) -> str:
        """``host:pid``."""
        return self._name

    async def do(self, job: Job, /) -> AsyncIterator[Message]:
        """See `Worker`."""
        ray = _ray()
        self._stream = self._actor.do.remote(job.model_dump_json())
        try:
            async for reference in self._stream:
                message = message_adapter.validate_json(await reference)
                if isinstance(message, JobDone):
                    self._stream = None
                yield message
        except ray.exceptions.RayError as error:
            self._stream = None
            first = str(error).strip().splitlines()[0]
            raise WorkerLost(f"worker {self._name}: {first}") from error

    async def close(self, *, patience: float = 20.0) -> None:
        """See `Worker`."""
        ray = _ray()
        if self._stream is not None:
            with contextlib.suppress(TimeoutError, ray.exceptions.RayError):
                await _within(self._actor.stop.remote(), patience)
        ray.kill(self._actor)


class RayExecutor:
    """Starts actors; see `hisa.plugins.benchmarks.bench.executors.base.Executor`.

    Args:
        address: the address of a cluster; empty: Ray is started on this machine.

    Raises:
        UsageError: Ray is not installed.
        EnvironmentFailed: the cluster cannot be reached.
    """

    def __init__(self, address: str = "") -> None:
        ray = _ray()
        self._own = not ray.is_initialized()
        if self._own:
            try:
                ray.init(
                    address=address or "local",
                    include_dashboard=False,
                    log_to_driver=False,
                    configure_logging=False,
                )
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise EnvironmentFailed(
                    f"no Ray at {address!r}: {error}", fix="ray start"
                ) from error
        options = {"max_restarts": 0, "max_concurrency": _CALLS, "scheduling_strategy": "SPREAD"}
        self._class: Any = ray.remote(num_cpus=_CPUS, **options)(_Actor)

    async def start_worker(self) -> RayWorker:
        """See `Executor`."""
        ray = _ray()
        for left in reversed(range(_HIRINGS)):
            actor = self._class.remote()
            try:
                return RayWorker(actor, await _within(actor.name.remote(), _STARTING))
            except (TimeoutError, ray.exceptions.RayError) as error:
                died = isinstance(error, ray.exceptions.RayActorError)
                if not (died and left):
                    raise EnvironmentFailed(
                        f"Ray started no worker: {error}", fix="ray status"
                    ) from error
        raise AssertionError("unreachable")

    async def close(self) -> None:
        """See `Executor`."""
        ray = _ray()
        if self._own:
            ray.shutdown()


def _ray() -> Any:
    """Returns the library, untyped: it need not be installed where types are checked.

    Raises:
        UsageError: it is not installed.
    """
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise UsageError("the Ray executor needs Ray", fix=install_command("ray")) from error


async def _within(reference: Any, seconds: float) -> str:
    async def answer() -> str:
        return str(await reference)

    return await asyncio.wait_for(answer(), seconds)
