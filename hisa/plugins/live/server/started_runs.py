"""Starts runs for the page, and takes them up again; they are stopped with the server.

Each is this file as a program, whose standard input the server holds and never writes to: its end,
by kill -9 too, is Ctrl-C for the run.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
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
_GRACE = 20.0  # seconds that a run has to end as stopped; chosen by hand
_SAID = 8_000  # characters kept of what a run says on its standard error
_Name = Annotated[str, Field(min_length=1, max_length=200)]


class _Options(BaseModel):
    model_config = ConfigDict(extra="forbid")
    model: _Name | None = None
    env: _Name | None = None
    max_steps: Annotated[int, Field(ge=1, le=10_000)] | None = None
    budget_usd: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] | None = None


class RunOrder(BaseModel):
    """A task, in words or by its file, and options of ``hisa run``."""

    model_config = ConfigDict(extra="forbid")
    task: Annotated[str, Field(min_length=2, max_length=20_000)]
    options: _Options = _Options()


class StartedRuns:
    """The runs of this server; new ones go into ``root``, ``arguments`` are those of ``hisa``."""

    def __init__(self, root: Path, arguments: Sequence[str] = ()) -> None:
        self._root, self._arguments = root, arguments
        self._processes: dict[str, Process] = {}
        self._said: dict[int, str] = {}

    async def start(self, order: RunOrder) -> str:
        """Returns the id of a new run; raises UsageError with its own words where it ends first."""
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

    def stop(self, run_id: str) -> bool:
        """Has a run end as stopped; returns whether it is of this server."""
        process = self._processes.get(run_id)
        if process is not None and process.stdin is not None:
            process.stdin.close()
        return process is not None

    async def _begin(self, root: Path, *command: str) -> str:
        if sum(process.returncode is None for process in self._processes.values()) >= _MOST:
            raise UsageError(f"{_MOST} runs of this page are at work", fix="stop one of them")
        begun = time.time()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "hisa.plugins.live.server.started_runs"),
            *(*self._arguments, *command), stdin=PIPE, stdout=DEVNULL, stderr=PIPE,
            env={**os.environ, "HISA_LIVE_ASK": "1"}, start_new_session=True,
        )  # fmt: skip
        reading = asyncio.create_task(self._listen(process))
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

    async def _listen(self, process: Process) -> None:
        while process.stderr and (chunk := await process.stderr.read(4096)):
            said = self._said.get(process.pid, "") + safe_text(
                redact(chunk.decode(errors="replace"))
            )
            self._said[process.pid] = said[-_SAID:]


def _run_of(root: Path, pid: int, begun: float) -> str:
    """Returns the run whose lock a process has taken since a time; empty where there is none."""
    for lock in (folder / LOCK for folder in list_runs(root)):
        with suppress(OSError):
            if lock.stat().st_mtime >= begun - 1 and Lock.holder(lock) == str(pid):
                return lock.parent.name
    return ""


def _end_with_input(descriptor: int) -> None:
    while os.read(descriptor, 1024):
        pass
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(_GRACE)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a server in the background ignores it
    held = os.dup(0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # nothing that the run starts takes what it holds
    threading.Thread(target=_end_with_input, args=(held,), daemon=True).start()
    from hisa.cli import main

    main(sys.argv[1:])
