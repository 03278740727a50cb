"""Runs from Python: `run` where there is an event loop, `run_sync` in scripts and notebooks.

Progress goes to the logger "hisa", which says nothing until logging is configured: what a step did
and how a run ended at INFO, what broke at WARNING, every event at DEBUG.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hisa.config import Settings, load
from hisa.environments.confirm import Ask
from hisa.environments.open_environment import open_environment
from hisa.errors import ConfigError, StoreError, UsageError
from hisa.events import Abstracted, Event, Failed, ModelFailed, RunFinished, RunStarted
from hisa.models.open_models import require_models
from hisa.outcomes.endings import Result
from hisa.protocols import Environment, Model, Role, Task
from hisa.runs.log import RunLog
from hisa.tasks.named import named_task
from hisa.tasks.scorer import check_possible
from hisa.tasks.taskfile import load_task
from hisa.text.safe_text import safe_line
from hisa.tools.person import Inquire
from hisa.wiring import Listener, RunContext, open_agent

__all__ = ["RunResult", "run", "run_sync", "unless_refused"]

_LOGGER = logging.getLogger("hisa")
_LOGGER.addHandler(logging.NullHandler())  # else warnings go to standard error unasked
_WIDTH = 400
"""Characters of a logged line: three lines of a wide terminal."""


@dataclass(frozen=True)
class RunResult(Result):
    """How a run ended, and where it lies."""

    folder: Path = Path()
    """The run folder; `load_run` reads it, ``hisa runs resume`` goes on with it."""


async def run(
    task: Task | str | Path,
    *,
    settings: Settings | None = None,
    model: str | Model | Mapping[Role, Model] | None = None,
    environment: str | Environment | None = None,
    on_event: Listener | None = None,
    ask: Ask | None = None,
    inquire: Inquire | None = None,
) -> RunResult:
    """Run an agent on a task, in a new run folder.

    Cancelling it ends the run as "stopped", with a result; ``hisa runs resume`` goes on.

    Args:
        task: a task; a text as for ``hisa run``: an instruction, a task file that is there, or
            ``miniwob:NAME``; or the `Path` of a task file.
        settings: None: as on the command line, from ``hisa.toml`` and HISA_* variables.
        model: a name, as for ``--model``; or a model of your own for planner and state manager;
            or models by role.
        environment: a kind, as for ``--env``; or a started environment, which is left open.
        on_event: called with each event of the run as it is written; what it raises ends the run.
        ask: asks a person before each act, where the settings want one, and about what the maker
            of a computer-use model wants confirmed.
        inquire: asks a person what the agent wants to know; see `hisa.tools.person`.

    Returns:
        Ending, score and folder, after the run was learned from.

    Raises:
        OperatorError: the run cannot be made here; ``fix`` is the command that helps. Where
            no step was done the folder is gone again.
        Exception: a defect of HiSA or of a plug-in; the log has it.
    """
    chosen = _chosen(settings or load(), model, environment)
    asked = task if isinstance(task, Task) else _task(task, chosen.run.seed)
    check_possible(asked, chosen.tasks)
    run_context = _workshop(model, environment, on_event, ask, inquire)
    if run_context.environment is None:
        open_environment(chosen.environment)  # refuses what can be seen to be wrong
    if not run_context.models:
        require_models(chosen)
    recorded, seed = chosen.model_dump(mode="json"), chosen.run.seed
    with RunLog.create(chosen.run.folder, asked, settings=recorded, seed=seed) as log:
        with unless_refused(log):
            async with open_agent(chosen, asked, log, run_context) as agent:
                result = await agent.run(asked)
        return RunResult(**vars(result), folder=log.folder)


def _workshop(
    model: str | Model | Mapping[Role, Model] | None,
    environment: str | Environment | None,
    on_event: Listener | None,
    ask: Ask | None,
    inquire: Inquire | None,
) -> RunContext:
    return RunContext(
        environment=None
        if environment is None or isinstance(environment, str)
        else _given(environment),
        models=_own(model),
        ask=ask,
        inquire=inquire,
        listeners=[_log_event] if on_event is None else [_log_event, _Once(on_event)],
    )


def run_sync(
    task: Task | str | Path,
    *,
    settings: Settings | None = None,
    model: str | Model | Mapping[Role, Model] | None = None,
    environment: str | Environment | None = None,
    on_event: Listener | None = None,
    ask: Ask | None = None,
    inquire: Inquire | None = None,
) -> RunResult:
    """`run`, waited for, with the same arguments; Ctrl-C ends the run as "stopped".

    Where an event loop runs already, as in a notebook, the run has a thread with a loop of its own,
    and ``on_event`` and ``ask`` are called there.

    Raises:
        UsageError: a started desktop or guest where a loop runs; ``await hisa.run(…)`` there.
        OperatorError, Exception: see `run`.
    """
    work = run(
        task,
        settings=settings,
        model=model,
        environment=environment,
        on_event=on_event,
        ask=ask,
        inquire=inquire,
    )
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    from hisa.environments.guest_environment import GuestEnvironment

    given: object = environment
    if isinstance(given, GuestEnvironment):
        work.close()
        raise UsageError(
            f"run_sync cannot use {given.name} where an event loop runs: its connections "
            "belong to that loop",
            fix="await hisa.run(…)",
        )
    return _in_thread(work)


@contextmanager
def unless_refused(log: RunLog) -> Iterator[None]:
    """Remove the folder of a run that ended by wrong usage before its first step."""
    try:
        yield
    except (UsageError, ConfigError, StoreError):
        if log.manifest.totals.steps == 0:
            shutil.rmtree(log.folder, ignore_errors=True)
            with suppress(OSError):
                log.folder.parent.rmdir()  # only where it is empty
        raise


def _task(task: str | Path, seed: int) -> Task:
    return load_task(task) if isinstance(task, Path) else named_task(task, seed=seed)


def _chosen(settings: Settings, model: object, environment: object) -> Settings:
    """The settings with the names that were given instead of a model or an environment."""
    changes: dict[str, Any] = {}
    if isinstance(model, str):
        planner = settings.models.planner.model_copy(update={"model": model})
        changes["models"] = settings.models.model_copy(update={"planner": planner})
    if isinstance(environment, str):
        changes["environment"] = settings.environment.model_copy(update={"kind": environment})
    return settings.model_copy(update=changes)


def _own(model: str | Model | Mapping[Role, Model] | None) -> Mapping[Role, Model]:
    if model is None or isinstance(model, str):
        return {}
    return model if isinstance(model, Mapping) else {"planner": model}


def _given(environment: Environment) -> Callable[[], Coroutine[Any, Any, Environment]]:
    async def get() -> Environment:
        return environment

    return get


def _in_thread(work: Coroutine[Any, Any, RunResult]) -> RunResult:
    """Run it in a loop of its own; Ctrl-C here cancels it there."""
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)
    thread = threading.Thread(target=_serve, args=(loop, task), name="hisa-run", daemon=True)
    thread.start()
    with _on_ctrl_c(lambda: loop.call_soon_threadsafe(task.cancel)):
        thread.join()
    if task.cancelled():  # before the agent was there
        raise KeyboardInterrupt
    return task.result()


@contextmanager
def _on_ctrl_c(stop: Callable[[], object]) -> Iterator[None]:
    """Call it where a person presses Ctrl-C: the outer loop's own handler waits for that loop."""
    if threading.current_thread() is not threading.main_thread():
        yield  # no signal comes here
        return
    before = signal.signal(signal.SIGINT, lambda *_: stop())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _serve(loop: asyncio.AbstractEventLoop, task: asyncio.Task[RunResult]) -> None:
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(_ended(task))


async def _ended(task: asyncio.Task[RunResult]) -> None:
    await asyncio.wait([task])


class _Once:
    """A listener that is not called again once it raised, so that the run can have its end."""

    def __init__(self, listener: Listener) -> None:
        self._listener: Listener | None = listener

    def __call__(self, event: Event) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            listener(event)
            self._listener = listener


def _log_event(event: Event) -> None:
    """Tell the logger; what a model or a screen wrote steers no terminal."""
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
