"""One attempt: a worker's job, the run that it makes, and the messages that it sends meanwhile.

The run has the same parts as one of ``hisa run``, in an environment of its own.
"""

from __future__ import annotations

import asyncio
import os
import pkgutil
import socket
import sys
import time
import traceback
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from hisa.agent import Agent
from hisa.config import Settings
from hisa.errors import DeveloperError
from hisa.events import Event, StepFinished
from hisa.outcomes.endings import Result, ending_of
from hisa.plugins.benchmarks.bench.attempt_records import AttemptResult
from hisa.protocols import Environment, Model, Role, Task
from hisa.runs.log import RunLog
from hisa.tasks.taskfile import load_task
from hisa.text.redact import redact

__all__ = [
    "Job",
    "JobDone",
    "MakeEnvironment",
    "Message",
    "RunEnded",
    "RunMade",
    "StepDone",
    "find_maker",
    "message_adapter",
    "perform",
]

MakeEnvironment = Callable[[Settings, Task], AbstractAsyncContextManager[Environment]]
"""Makes the environment of one attempt."""


class Job(BaseModel):
    """An attempt to make; plain data, so that it can go to another machine."""

    model_config = ConfigDict(frozen=True)
    task: str
    """Path of the task file, or the name of a page."""
    settings: dict[str, Any]
    runs: str
    """Folder in which the run folder is made."""
    environment: str = ""
    """A `MakeEnvironment`, as ``module:name``; empty: the environment of the settings."""


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True)


class RunMade(_Message):
    """The run folder exists."""

    type: Literal["made"] = "made"
    run: str
    host: str
    process: int


class StepDone(_Message):
    """A step of the run is complete."""

    type: Literal["step"] = "step"
    step: int


class RunEnded(AttemptResult):
    """The attempt has its result; the run may still be learned from."""

    type: Literal["ended"] = "ended"


class JobDone(_Message):
    """The worker is free again; always the last message of a job."""

    type: Literal["done"] = "done"


Message = Annotated[RunMade | StepDone | RunEnded | JobDone, Field(discriminator="type")]

message_adapter: TypeAdapter[Message] = TypeAdapter(Message)
"""Reads one message."""


def find_maker(name: str) -> MakeEnvironment | None:
    """Returns the environment maker called ``module:name``; None if the name is empty.

    Raises:
        DeveloperError: there is no such callable.
    """
    if not name:
        return None
    try:
        resolved = pkgutil.resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise DeveloperError(f"environment maker {name!r}: {error}") from error
    if not callable(resolved):
        raise DeveloperError(f"environment maker {name!r} is not callable")
    maker: MakeEnvironment = resolved
    return maker


async def perform(job: Job, models: Mapping[Role, Model] | None = None) -> AsyncIterator[Message]:
    """Make the attempt, and yield messages as things happen; the last is `JobDone`.

    `RunEnded` brings the result. Cancelling ends the run as "stopped".

    Args:
        job: the attempt.
        models: models of this process by role, in place of those that the settings name.
    """
    queue: asyncio.Queue[Message] = asyncio.Queue()
    work = asyncio.create_task(_make_attempt_safely(job, models or {}, queue.put_nowait))
    try:
        while True:
            message = await queue.get()
            yield message
            if isinstance(message, JobDone):
                return
    finally:
        if not work.done():
            work.cancel()
        await asyncio.gather(work, return_exceptions=True)


async def _make_attempt_safely(
    job: Job, models: Mapping[Role, Model], send: Callable[[Message], None]
) -> None:
    """Make the attempt; whatever goes wrong becomes its ending."""
    reporter = _Reporter(send)
    try:
        await _make_attempt(job, models, reporter)
    except asyncio.CancelledError:
        reporter.end(RunEnded(status="stopped", message="stopped by a person"))
        raise
    except Exception as error:  # noqa: BLE001 - the border of an attempt: a defect does not end the bench
        ending = ending_of(error)
        words = traceback.format_exc() if ending == "defect" else str(error)
        reporter.end(RunEnded(status=ending, message=redact(words)))
    send(JobDone())


class _Reporter:
    """Reports the steps of an attempt and its first ending, never a second one.

    What breaks once the result is known, such as learning from it or ending its desktop, goes to
    standard error and does not change the result.
    """

    def __init__(self, send: Callable[[Message], None]) -> None:
        self.send = send
        self._started = time.monotonic()
        self._ended = False

    def __call__(self, event: Event) -> None:
        if isinstance(event, StepFinished):
            self.send(StepDone(step=event.step))

    def result(self, result: Result) -> None:
        self.end(
            RunEnded(
                status=result.status,
                score=result.score,
                message=redact(result.message),
                steps=result.steps,
                score_state=result.score_state,
                score_detail=redact(result.score_detail),
                judged_by=result.judged_by,
                partial=result.partial,
            )
        )

    def end(self, run_end: RunEnded) -> None:
        if self._ended:
            sys.stderr.write(f"after the result: {run_end.status}: {run_end.message}\n")
            return
        self._ended = True
        self.send(run_end.model_copy(update={"seconds": time.monotonic() - self._started}))


async def _make_attempt(job: Job, models: Mapping[Role, Model], reporter: _Reporter) -> None:
    settings = Settings.model_validate(job.settings)
    task = load_task(job.task, seed=settings.run.seed)
    maker = find_maker(job.environment)
    with RunLog.create(
        Path(job.runs), task, settings=settings.model_dump(mode="json"), seed=settings.run.seed
    ) as log:
        reporter.send(RunMade(run=log.id, host=socket.gethostname(), process=os.getpid()))
        await _run(settings, task, log, models, maker=maker, reporter=reporter)


async def _run(
    settings: Settings,
    task: Task,
    log: RunLog,
    models: Mapping[Role, Model],
    *,
    maker: MakeEnvironment | None,
    reporter: _Reporter,
) -> None:
    async with AsyncExitStack() as stack:

        async def enter() -> Environment:
            assert maker is not None, "asked only if there is a maker"
            return await stack.enter_async_context(maker(settings, task))

        environment = enter if maker is not None else None
        agent = Agent(models, environment=environment, settings=settings, on_event=reporter)
        loop = await stack.enter_async_context(agent.open(task, log))
        await loop.run(task, on_result=reporter.result)
