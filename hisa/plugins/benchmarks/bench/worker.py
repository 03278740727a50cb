"""A worker process: ``python -m hisa.plugins.benchmarks.bench.worker``.

It reads jobs as JSON, one a line, from standard input, does them one after the other, and writes
messages as JSON, one a line, to standard output. When standard input ends, the run in progress
is stopped, its environment closed, and the process ends: a worker never outlives its bench.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from typing import BinaryIO

from hisa.plugins.benchmarks.bench.jobs import Job, Message, perform

__all__ = ["serve"]


async def serve(jobs: BinaryIO, messages: BinaryIO) -> None:
    """Do jobs as they come, until the input ends."""
    reader = asyncio.StreamReader(limit=1 << 24)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), jobs)
    upcoming = asyncio.create_task(reader.readline())
    while line := await upcoming:
        upcoming = asyncio.create_task(reader.readline())
        work = asyncio.create_task(_do(Job.model_validate_json(line), messages))
        await asyncio.wait((work, upcoming), return_when=asyncio.FIRST_COMPLETED)
        if upcoming.done() and not upcoming.result():
            work.cancel()  # the bench is gone
        with contextlib.suppress(asyncio.CancelledError):
            await work


async def _do(job: Job, messages: BinaryIO) -> None:
    async for message in perform(job):
        _write(messages, message)


def _write(messages: BinaryIO, message: Message) -> None:
    messages.write(message.model_dump_json().encode() + b"\n")
    messages.flush()


def _main() -> None:
    # What a library prints must not get among the messages.
    own = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        asyncio.run(serve(sys.stdin.buffer, own))
    except BrokenPipeError:
        os._exit(0)


if __name__ == "__main__":
    _main()
