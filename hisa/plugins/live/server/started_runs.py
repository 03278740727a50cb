"""Starts runs for the page, and takes them up again; they are stopped with the server."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from hisa.errors import UsageError
from hisa.machine.storage import Lock
from hisa.runs.read import LOCK, list_runs
from hisa.text.redact import redact
from hisa.text.safe_text import safe_text

__all__ = ["RunOrder", "StartedRuns"]

_MOST = 16  # at work at once; chosen by hand
_START_SECONDS = 60.0
_STDERR = 8_000
"""Characters kept of what a run says on its standard error."""
_ENDING_SECONDS = 0.5
_Name = Annotated[str, Field(min_length=1, max_length=200)]


class _Options(BaseModel):
    model_config = ConfigDict(extra="forbid")
    model: _Name | None = None
    env: _Name | None = None
    max_steps: Annotated[int, Field(ge=1, le=10_000)] | None = None
    budget_usd: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] | None = None


class RunOrder(BaseModel):
    """A task, in words or by its file, and the options of ``hisa run`` that a page may give."""

    model_config = ConfigDict(extra="forbid")
    task: Annotated[str, Field(min_length=2, max_length=20_000)]
    options: _Options = _Options()


class StartedRuns:
    """The runs that this server started, as processes of their own.

    Args:
        root: the folder of new runs.
        arguments: of ``hisa``, such as ``--config FILE``.
    """

    def __init__(self, root: Path, arguments: Sequence[str] = ()) -> None:
        self._root, self._arguments = root, arguments
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._said: dict[int, str] = {}
        self._readers: set[asyncio.Task[None]] = set()

    async def start(self, order: RunOrder) -> str:
        """Returns the id of a new run.

        Raises:
            UsageError: it did not begin; says why, as the run did.
        """
        named = order.options.model_dump(exclude_none=True)
        options = [f"--{name.replace('_', '-')}={value}" for name, value in named.items()]
        options += [f"--runs={self._root}", "--no-report", "--json", "--", order.task]
        return await self._begin(self._root, "run", *options)

    async def resume(self, folder: Path) -> str:
        """Goes on with a run; returns its id. Raises as `start` does."""
        root = f"--set=run.folder={folder.parent}"
        return await self._begin(folder.parent, root, "runs", "resume", folder.name, "--json")

    def error(self, run_id: str) -> str | None:
        """Returns what a run said on standard error; None where it is not of this server."""
        process = self._processes.get(run_id)
        return None if process is None else self._said.get(process.pid, "")

    async def stop(self, run_id: str | None = None) -> None:
        """Has a run, or each of them, end as stopped; waits half a second for that."""
        running = [p for name, p in self._processes.items() if run_id in (None, name)]
        for process in running:
            if process.stdin is not None:
                process.stdin.close()
        ends = [asyncio.ensure_future(process.wait()) for process in running]
        if ends:
            await asyncio.wait(ends, timeout=_ENDING_SECONDS)

    async def _begin(self, root: Path, *command: str) -> str:
        if sum(process.returncode is None for process in self._processes.values()) >= _MOST:
            raise UsageError(f"{_MOST} runs of this page are at work", fix="stop one of them")
        begun = time.time()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "hisa.plugins.live.server.child_run"),
            *(*self._arguments, *command), stdin=PIPE, stdout=DEVNULL, stderr=PIPE,
            env={**os.environ, "HISA_LIVE_ASK": "1"}, start_new_session=True,
        )  # fmt: skip
        reading = asyncio.create_task(self._read_errors(process))
        self._readers.add(reading)
        while time.time() < begun + _START_SECONDS:
            ended = process.returncode is not None
            if run_id := await asyncio.to_thread(_run_of, root, process.pid, begun):
                self._processes[run_id] = process
                return run_id
            if ended:
                await reading
                raise UsageError(self._said.get(process.pid) or "the run ended before it began")
            await asyncio.sleep(0.05)
        process.kill()
        raise UsageError(f"the run did not begin within {_START_SECONDS:.0f} seconds")

    async def _read_errors(self, process: asyncio.subprocess.Process) -> None:
        while process.stderr and (chunk := await process.stderr.read(4096)):
            text = self._said.get(process.pid, "") + safe_text(
                redact(chunk.decode(errors="replace"))
            )
            self._said[process.pid] = text[-_STDERR:]


def _run_of(root: Path, pid: int, begun: float) -> str:
    """Returns the run whose lock a process has taken since a time; empty where there is none."""
    for lock in (folder / LOCK for folder in list_runs(root)):
        with suppress(OSError):
            if lock.stat().st_mtime >= begun - 1 and Lock.holder(lock) == str(pid):
                return lock.parent.name
    return ""
