"""Workers as processes of this machine."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from hisa.errors import EnvironmentFailed
from hisa.plugins.benchmarks.bench.executors.base import WorkerLost
from hisa.plugins.benchmarks.bench.jobs import Job, JobDone, Message, message_adapter

__all__ = ["LocalExecutor", "LocalWorker"]

_LINE = 1 << 22
"""Bytes of the longest message."""


class LocalWorker:
    """One ``python -m hisa.plugins.benchmarks.bench.worker``; see `Worker`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @property
    def name(self) -> str:
        """``host:pid``."""
        return f"{socket.gethostname()}:{self.process}"

    @property
    def process(self) -> int:
        """Its process id."""
        return self._process.pid

    async def do(self, job: Job, /) -> AsyncIterator[Message]:
        """See `Worker`."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(job.model_dump_json().encode() + b"\n")
            await stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            raise WorkerLost(await self._obituary()) from None
        while True:
            message = await self._message(stdout)
            yield message
            if isinstance(message, JobDone):
                return

    async def close(self, *, patience: float = 20.0) -> None:
        """See `Worker`."""
        if self._process.returncode is not None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            # Its remaining output is read: a full pipe would keep it from ending.
            await asyncio.wait_for(self._process.communicate(), patience)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    async def _message(self, stdout: asyncio.StreamReader) -> Message:
        try:
            line = await stdout.readline()
            if line.endswith(b"\n"):
                return message_adapter.validate_json(line)
        except ValueError as error:
            self._process.kill()
            raise WorkerLost(f"worker {self.name} sent no valid message: {error}") from error
        raise WorkerLost(await self._obituary())

    async def _obituary(self) -> str:
        code = await self._process.wait()
        ending = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        return f"worker {self.name} {ending}"


class LocalExecutor:
    """Starts workers on this machine; see `hisa.plugins.benchmarks.bench.executors.base.Executor`.

    Args:
        errors: the file to which the workers' standard error is appended.
    """

    def __init__(self, errors: Path) -> None:
        self._errors = errors

    async def start_worker(self) -> LocalWorker:
        """See `Executor`."""
        try:
            with self._errors.open("ab") as errors:
                process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-m",
                    "hisa.plugins.benchmarks.bench.worker",
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=errors,
                    limit=_LINE,
                    # Ctrl-C at the terminal is for the bench, which then stops its workers.
                    start_new_session=True,
                )
        except OSError as error:
            raise EnvironmentFailed(
                f"cannot start a worker: {error.strerror}", fix="use fewer --workers"
            ) from error
        return LocalWorker(process)

    async def close(self) -> None:
        """Does nothing: the workers have been closed before."""
