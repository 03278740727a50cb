"""One attempt: what a worker is told, what it tells, and the run it makes in between.

The run is made of the parts that ``hisa run`` is made of, in an environment of its own.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import socket
import time
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from hisa.agent import Result
from hisa.config import Settings
from hisa.errors import DeveloperError, EnvironmentFailed, ModelUnavailable, OperatorError
from hisa.events import Event, Failed, RunFinished, StepFinished
from hisa.protocols import Environment, Task
from hisa.redact import redact
from hisa.runs.log import RunLog
from hisa.tasks.files import load_task
from hisa.wiring import Workshop, open_agent

__all__ = [
    "Job",
    "MakeEnvironment",
    "Message",
    "RunEnded",
    "RunMade",
    "StepDone",
    "find_parts",
    "message_adapter",
    "perform",
]

MakeEnvironment = Callable[[Settings, Task], AbstractAsyncContextManager[Environment]]
"""Gives an environment of its own to an attempt."""


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
    """The run folder is there."""

    type: Literal["made"] = "made"
    run: str
    host: str
    process: int


class StepDone(_Message):
    """A step of the run is complete."""

    type: Literal["step"] = "step"
    step: int


class RunEnded(_Message):
    """The attempt is over; always the last message of a job.

    ``status`` is a run's exit status, or "refused" (the task or a setting cannot be used) or
    "defect" (an error in HiSA; ``message`` holds the traceback).
    """

    type: Literal["ended"] = "ended"
    status: str
    score: float | None = None
    message: str = ""
    steps: int = 0
    seconds: float = 0.0


Message = Annotated[RunMade | StepDone | RunEnded, Field(discriminator="type")]

message_adapter: TypeAdapter[Message] = TypeAdapter(Message)
"""Reads one message."""


def find_parts(name: str) -> MakeEnvironment | None:
    """The environment maker called ``module:name``; None where there is no name.

    Raises:
        DeveloperError: there is no such callable.
    """
    if not name:
        return None
    module, _, attribute = name.partition(":")
    try:
        made = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise DeveloperError(f"environment maker {name!r}: {error}") from error
    if not callable(made):
        raise DeveloperError(f"environment maker {name!r} is not callable")
    found: MakeEnvironment = made
    return found


async def perform(job: Job) -> AsyncIterator[Message]:
    """Make the attempt; messages come as things happen, and `RunEnded` comes last.

    Cancelling ends the run as "stopped".
    """
    queue: asyncio.Queue[Message] = asyncio.Queue()
    work = asyncio.create_task(_guarded(job, queue.put_nowait))
    try:
        while True:
            message = await queue.get()
            yield message
            if isinstance(message, RunEnded):
                return
    finally:
        if not work.done():
            work.cancel()
        await asyncio.gather(work, return_exceptions=True)


async def _guarded(job: Job, tell: Callable[[Message], None]) -> None:
    """`_attempt`, with everything that can go wrong as an ending."""
    started = time.monotonic()
    try:
        ended = await _attempt(job, tell)
    except EnvironmentFailed as error:
        ended = RunEnded(status="environment_error", message=str(error))
    except ModelUnavailable as error:
        ended = RunEnded(status="model_error", message=str(error))
    except OperatorError as error:
        ended = RunEnded(status="refused", message=str(error))
    except Exception:  # noqa: BLE001 - the border of an attempt: a defect does not end the bench
        ended = RunEnded(status="defect", message=traceback.format_exc())
    except asyncio.CancelledError:
        tell(RunEnded(status="stopped", message="stopped by a person"))
        raise
    tell(ended.model_copy(update={"seconds": time.monotonic() - started}))


async def _attempt(job: Job, tell: Callable[[Message], None]) -> RunEnded:
    settings = Settings.model_validate(job.settings)
    task = load_task(job.task, seed=settings.run.seed)
    maker = find_parts(job.environment)
    watch = _Watch(tell)
    with RunLog.create(
        Path(job.runs), task, settings=settings.model_dump(mode="json"), seed=settings.run.seed
    ) as log:
        tell(RunMade(run=log.id, host=socket.gethostname(), process=os.getpid()))
        try:
            result = await _run(settings, task, log, maker=maker, watch=watch)
        except OperatorError as error:
            log.emit(RunFinished(exit_status=_status(error), message=str(error)))
            raise
    return _ended(result, watch)


async def _run(
    settings: Settings,
    task: Task,
    log: RunLog,
    *,
    maker: MakeEnvironment | None,
    watch: _Watch,
) -> Result:
    async with AsyncExitStack() as stack:
        workshop = Workshop(listeners=[watch])
        if maker is not None:

            async def enter() -> Environment:
                return await stack.enter_async_context(maker(settings, task))

            workshop = Workshop(environment=enter, listeners=[watch])
        agent = await stack.enter_async_context(open_agent(settings, task, log, workshop))
        return await agent.run(task)


def _status(error: OperatorError) -> str:
    return "model_error" if isinstance(error, ModelUnavailable) else "environment_error"


@dataclass
class _Watch:
    """Hears the events of a run."""

    tell: Callable[[Message], None]
    broke_at_the_end: str = ""
    """Why the machine could not be scored."""

    def __call__(self, event: Event) -> None:
        if isinstance(event, StepFinished):
            self.tell(StepDone(step=event.step))
        elif isinstance(event, Failed) and event.where == "conclusion":
            broke = event.kind == EnvironmentFailed.__name__
            self.broke_at_the_end = event.message if broke else ""


def _ended(result: Result, watch: _Watch) -> RunEnded:
    """How the attempt ended: a machine that broke while it was scored broke the attempt."""
    broke = watch.broke_at_the_end
    if broke and result.score is None and result.status != "stopped":
        return RunEnded(
            status="environment_error",
            message=f"could not be scored ({result.status}): {broke}",
            steps=result.steps,
        )
    return RunEnded(
        status=result.status, score=result.score, message=redact(result.message), steps=result.steps
    )
