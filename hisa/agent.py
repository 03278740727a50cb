"""The Python API: `Agent`, composed from names or objects, with `run` and `run_sync` on top.

::

    agent = hisa.Agent(model="gpt-5", tools=[lookup_price], environment="desktop")
    result = agent.run_sync("Order the cheapest lamp.")

Progress goes to the logger "hisa", which is silent until logging is configured: step lines and the
end of a run at INFO, failures at WARNING, every event at DEBUG.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from hisa.config import Settings, load
from hisa.environments.confirmation import Ask
from hisa.environments.open_environment import open_environment
from hisa.errors import ConfigError, StoreError, UsageError
from hisa.events import Abstracted, Event, Failed, ModelFailed, RunFinished, RunStarted
from hisa.hooks import Hook
from hisa.loop import Loop
from hisa.machine.own_loop import run_in_thread
from hisa.models.open_models import require_models
from hisa.outcomes.endings import Result
from hisa.protocols import (
    Environment,
    Grounder,
    Planner,
    Progress,
    StateManager,
    Task,
)
from hisa.runs.log import RunLog
from hisa.runs.resume import ResumePoint
from hisa.state.base import Memory
from hisa.tasks.named_task import named_task
from hisa.tasks.scorer import check_possible
from hisa.tasks.taskfile import load_task
from hisa.text.safe_text import safe_line
from hisa.tools.base import BaseTool
from hisa.tools.person import Inquire
from hisa.wiring import Listener, RunParts, open_loop
from hisa.wiring.agent_parts import (
    AgentModel,
    chosen_settings,
    own_models,
    own_tools,
    require_list,
    require_part,
)

__all__ = ["Agent", "RunResult", "run", "run_sync", "unless_refused"]

_LOGGER = logging.getLogger("hisa")
_LOGGER.addHandler(logging.NullHandler())  # else warnings go to standard error unasked
_WIDTH = 400
"""Characters of a logged line: three lines of a wide terminal."""


@dataclass(frozen=True)
class RunResult(Result):
    """How a run ended, and its folder."""

    folder: Path = Path()
    """The run folder; `load_run` reads it, ``hisa runs resume`` continues it."""


class Agent:
    """Does tasks on a computer. Every part has a default, and may be a name or an object.

    Args:
        model: a name, as for ``--model``; a `hisa.protocols.Model`; an async function from a
            `hisa.protocols.ModelRequest` to text; or these by role (planner, state, grounder,
            judge).
        tools: functions, whose signature and docstring models read; `hisa.tools.base.Tool` objects;
            or names of installed tools, as in ``tools.allow``. The built-in ones are always there.
        planner: a `hisa.protocols.Planner`, or a kind, as in ``planner.kind``.
        grounder: a `hisa.protocols.Grounder`, or a kind, as in ``grounder.kind``.
        state: a `hisa.protocols.StateManager`, or "abstracted" or "raw", as in ``state.steps``.
        environment: a started `hisa.protocols.Environment`, which is left open; a kind, as for
            ``--env``; or an async function that returns a started one, called once for each run.
        memory: a `hisa.state.base.Memory`; "off"; or the folder or the URL of a pattern database.
        hooks: `hisa.hooks.Hook` objects; they come before all others, in this order.
        settings: the settings; None: as on the command line, from ``hisa.toml`` and HISA_*
            variables.
        ask: asks a person before each action, if the settings want it, and about what the maker of
            a computer-use model wants confirmed.
        inquire: asks a person what the agent wants to know; see `hisa.tools.person`.
        on_event: called with each event of a run as it is written; an exception in it ends the
            run.
        progress: called with a role and the progress of its model's reply.

    Raises:
        UsageError: an argument has none of these types; the error names it and what it may be.
    """

    def __init__(
        self,
        model: AgentModel | Mapping[Any, AgentModel] | None = None,
        *,
        tools: Sequence[Callable[..., Any] | BaseTool | str] = (),
        planner: Planner | str | None = None,
        grounder: Grounder | str | None = None,
        state: StateManager | str | None = None,
        environment: Environment | Callable[[], Awaitable[Environment]] | str | None = None,
        memory: Memory | str | Path | None = None,
        hooks: Sequence[Hook] = (),
        settings: Settings | None = None,
        ask: Ask | None = None,
        inquire: Inquire | None = None,
        on_event: Listener | None = None,
        progress: Progress | None = None,
    ) -> None:
        objects = {
            "planner": planner,
            "grounder": grounder,
            "state": state,
            "environment": environment,
            "memory": memory,
        }
        for name, value in objects.items():
            require_part(name, value)
        require_list("hooks", hooks, "hisa.hooks.Hook objects")
        require_list("tools", tools, "functions, tools and names of installed tools")
        for number, hook in enumerate(hooks):
            if not isinstance(hook, Hook):
                raise UsageError(f"hooks[{number}] = {hook!r} is not a hisa.hooks.Hook")
        names = {k: str(v) for k, v in objects.items() if isinstance(v, str | Path)}
        own_kit, allowed = own_tools(tools)
        models, model_names = own_models(model)
        self.settings = chosen_settings(settings or load(), names, model=model_names, allow=allowed)
        self._parts = RunParts(
            environment=_opener(environment),
            models=models,
            planner=None if isinstance(planner, str) else planner,
            grounder=None if isinstance(grounder, str) else grounder,
            state=None if isinstance(state, str) else state,
            memory=None if isinstance(memory, str | Path) else memory,
            tools=own_kit,
            hooks=tuple(hooks),
            ask=ask,
            inquire=inquire,
            listeners=[_log_event] if on_event is None else [_log_event, _Once(on_event)],
            progress=progress,
        )
        self._environment = environment

    async def run(self, task: Task | str | Path) -> RunResult:
        """Do a task in a new run folder.

        Cancelling it ends the run as "stopped", with a result; ``hisa runs resume`` continues it.

        Args:
            task: a task; a text as for ``hisa run``: an instruction, an existing task file, or the
                name of a benchmark's task; or the `Path` of a task file.

        Returns:
            The exit status, score and folder, once HiSA has learned from the run.

        Raises:
            OperatorError: the run is not possible here; ``fix`` is the command that helps. If no
                step was done, the folder is removed.
            Exception: a defect of HiSA or of a plug-in; the log has it.
        """
        return await self._run(task, ())

    def run_sync(self, task: Task | str | Path) -> RunResult:
        """`run`, but blocking; Ctrl-C ends the run as "stopped".

        If an event loop is already running, as in a notebook, the run gets a thread with its own
        loop, and ``on_event``, ``ask`` and hooks are called there.

        Raises:
            UsageError: the environment is a started desktop or guest and an event loop is running;
                use ``await agent.run(…)``.
            OperatorError, Exception: see `run`.
        """
        work = self.run(task)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(work)
        if self._holds_connections():
            work.close()
            raise UsageError(
                "run_sync cannot use a started guest while an event loop is running: its "
                "connections belong to that loop",
                fix="await agent.run(…)",
            )
        return run_in_thread(work)

    async def stream(self, task: Task | str | Path) -> AsyncGenerator[Event, None]:
        """Do a task, and yield each event of the run as it is written.

        Leaving the loop early ends the run as "stopped".

        Raises:
            OperatorError, Exception: see `run`.
        """
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        work = asyncio.create_task(self._run(task, [events.put_nowait]))
        work.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            await work
        finally:
            if not work.done():
                work.cancel()
                await asyncio.wait([work])

    @asynccontextmanager
    async def open(
        self,
        task: Task,
        log: RunLog,
        *,
        so_far: ResumePoint | None = None,
        listeners: Sequence[Listener] = (),
    ) -> AsyncIterator[Loop]:
        """Open the loop of one run, and close it at the end; for callers that keep the log.

        Args:
            task: named in the log's first event.
            log: an open run log.
            so_far: the checkpoint of a resumed run.
            listeners: called with each event, after the agent's own.

        Raises:
            OperatorError: a part cannot be opened, with the command that fixes it. The log has the
                error, and an end.
        """
        parts = replace(self._parts, listeners=[*self._parts.listeners, *listeners])
        if so_far is not None:
            parts = replace(
                parts,
                events=so_far.events,
                calls=so_far.calls,
                decisions=so_far.decisions,
                ended=so_far.end_outcome,
            )
        async with open_loop(self.settings, task, log, parts) as loop:
            yield loop

    async def _run(self, task: Task | str | Path, listeners: Sequence[Listener]) -> RunResult:
        settings, seed = self.settings, self.settings.run.seed
        chosen = task if isinstance(task, Task) else _task(task, seed)
        check_possible(chosen, settings.tasks)
        if self._parts.environment is None:
            open_environment(settings.environment)  # refuses wrong settings early
        if not self._parts.models:
            require_models(settings.models, settings.planner)
        recorded = settings.model_dump(mode="json")
        with RunLog.create(settings.run.folder, chosen, settings=recorded, seed=seed) as log:
            with unless_refused(log):
                async with self.open(chosen, log, listeners=listeners) as loop:
                    result = await loop.run(chosen)
            return RunResult(**vars(result), folder=log.folder)

    def _holds_connections(self) -> bool:
        from hisa.environments.guest_environment import GuestEnvironment

        return isinstance(self._environment, GuestEnvironment)


async def run(task: Task | str | Path, **parts: Any) -> RunResult:
    """Run an agent on a task; see `Agent` for its ``parts`` and `Agent.run` for the rest."""
    return await Agent(**parts).run(task)


def run_sync(task: Task | str | Path, **parts: Any) -> RunResult:
    """`run`, but blocking; see `Agent.run_sync`."""
    return Agent(**parts).run_sync(task)


@contextmanager
def unless_refused(log: RunLog) -> Iterator[None]:
    """Remove the run folder if wrong usage or settings ended the run before its first step."""
    try:
        yield
    except (UsageError, ConfigError, StoreError):
        if log.manifest.totals.steps == 0:
            shutil.rmtree(log.folder, ignore_errors=True)
            with suppress(OSError):
                log.folder.parent.rmdir()  # succeeds only if it is empty
        raise


def _task(task: str | Path, seed: int) -> Task:
    if isinstance(task, Path):
        return load_task(task)
    if not isinstance(task, str):
        raise UsageError(
            f"task={task!r} is not allowed; it may be a hisa.Task, a text as for `hisa run`, or "
            "the Path of a task file"
        )
    return named_task(task, seed=seed)


def _opener(
    environment: Environment | Callable[[], Awaitable[Environment]] | str | None,
) -> Callable[[], Awaitable[Environment]] | None:
    """Returns a function that opens the machine of a run; None: the settings name it."""
    if environment is None or isinstance(environment, str):
        return None
    if not hasattr(environment, "observe"):
        return environment

    async def open_environment() -> Environment:
        return cast(Environment, environment)

    return open_environment


class _Once:
    """A listener that is not called again after it raised, so that the run can record its end."""

    def __init__(self, listener: Listener) -> None:
        self._listener: Listener | None = listener

    def __call__(self, event: Event) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            listener(event)
            self._listener = listener


def _log_event(event: Event) -> None:
    """Log an event; text of a model or a screen cannot steer the terminal."""
    match event:
        case RunStarted():
            _LOGGER.info("run: %s", safe_line(event.instruction, _WIDTH))
        case Abstracted():
            _LOGGER.info("%s", safe_line(event.line, _WIDTH))
        case RunFinished():
            _LOGGER.info("%s: %s", event.exit_status, safe_line(event.message, _WIDTH))
        case ModelFailed() | Failed():
            _LOGGER.warning("%s: %s", event.kind, safe_line(event.message, _WIDTH))
        case _:
            pass
    if _LOGGER.isEnabledFor(logging.DEBUG):
        _LOGGER.debug("%s", safe_line(event.model_dump_json(), _WIDTH))
