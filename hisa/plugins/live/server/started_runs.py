"""Starts runs for the page, each by this file as a program that ends with the server.

The server holds its standard input, without a word: its end, by kill -9 too, is Ctrl-C for the run.
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
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from hisa.errors import UsageError
from hisa.machine.patience import Deadline
from hisa.machine.storage import Lock
from hisa.runs.read import LOCK, list_runs
from hisa.text.redact import redact
from hisa.text.safe_text import safe_text

__all__ = ["RunOrder", "StartedRuns"]

_START_SECONDS, _GRACE = 60.0, 20.0  # until a run has begun, and to end as stopped
_Value = Annotated[str, Field(max_length=200)] | int | float


class RunOrder(BaseModel):
    """A task, in words or by its file, and options of ``hisa run``, which checks their values."""

    model_config = ConfigDict(extra="forbid")
    task: Annotated[str, Field(min_length=2, max_length=20_000)]
    options: dict[Literal["model", "env", "max_steps", "budget_usd"], _Value] = {}


class StartedRuns:
    """The runs of this server; new ones go into ``root``, ``arguments`` are those of ``hisa``."""

    def __init__(self, root: Path, arguments: Sequence[str] = ()) -> None:
        self._root, self._arguments = root, arguments
        self._processes: dict[str, Process] = {}
        self._said: dict[int, str] = {}
        self._readers: set[asyncio.Task[None]] = set()

    async def start(self, order: RunOrder) -> str:
        """Returns the id of a new run; raises UsageError with its own words where it ends first."""
        options = [f"--{name.replace('_', '-')}={v}" for name, v in order.options.items()]
        options += [f"--runs={self._root}", "--no-report", "--json", "--", order.task]
        return await self._begin(self._root, "run", *options)

    async def resume(self, folder: Path) -> str:
        """Goes on with a run; returns its id. Raises as `start` does."""
        command = f"--set=run.folder={folder.parent}", "runs", "resume", folder.name, "--json"
        return await self._begin(folder.parent, *command)

    def error(self, run_id: str) -> str | None:
        """Returns what a run said on standard error; None where it is not of this server."""
        process = self._processes.get(run_id)
        return safe_text(redact(self._said[process.pid])) if process else None

    def stop(self, run_id: str) -> bool:
        """Ends a run as stopped; returns whether it is of this server."""
        if (process := self._processes.get(run_id)) and process.stdin:
            process.stdin.close()
        return process is not None

    async def _begin(self, root: Path, *command: str) -> str:
        begun = time.time()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "hisa.plugins.live.server.started_runs"),
            *(*self._arguments, *command),
            stdin=PIPE,
            stdout=DEVNULL,
            stderr=PIPE,
            env={**os.environ, "HISA_LIVE_ASK": "1"},
            start_new_session=True,
        )
        self._said[process.pid], ended = "", False
        deadline = Deadline(_START_SECONDS)
        self._readers.add(reading := asyncio.create_task(self._listen(process)))
        while not ended and not deadline.passed:
            ended = process.returncode is not None
            if run_id := await asyncio.to_thread(_run_of, root, process.pid, begun):
                self._processes[run_id] = process
                return run_id
            await asyncio.sleep(0.05)
        with suppress(ProcessLookupError):
            process.kill()
        await asyncio.wait([reading], timeout=1)  # what it started may hold its end
        raise UsageError(safe_text(redact(self._said[process.pid] or "the run did not begin")))

    async def _listen(self, process: Process) -> None:
        while process.stderr and (chunk := await process.stderr.read(4096)):
            output = self._said[process.pid] + chunk.decode(errors="replace")
            self._said[process.pid] = output[-8_000:]


def _run_of(root: Path, pid: int, begun: float) -> str:
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
    signal.signal(signal.SIGINT, signal.default_int_handler)  # not so in the background
    held = os.dup(0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    threading.Thread(target=_end_with_input, args=(held,), daemon=True).start()
    from hisa.cli import main

    main(sys.argv[1:])
