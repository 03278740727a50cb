"""One run from the terminal's side: signals, progress, questions, report and exit status."""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from hisa.agent import Result
from hisa.cli.ask import terminal_ask
from hisa.cli.desktop import Desk, opened
from hisa.cli.progress import Progress
from hisa.config import Settings
from hisa.environments.open import open_environment
from hisa.errors import (
    ConfigError,
    EnvironmentFailed,
    ModelUnavailable,
    StoreError,
    UsageError,
)
from hisa.events import RunFinished
from hisa.models.open import must_resolve
from hisa.protocols import Task
from hisa.redact import redact
from hisa.runs.log import RunLog
from hisa.runs.read import load_run
from hisa.runs.report import write_report
from hisa.safetext import safe_text
from hisa.tasks.scorer import must_be_possible
from hisa.wiring import Workshop, open_agent

__all__ = ["at_desk", "conclude", "episode", "exit_code"]


_MADE_SHOWN = 5


def exit_code(result: Result) -> int:
    """0 done; 1 the task was not done; 3 a machine or a model is unavailable."""
    match result.status:
        case "model_error" | "environment_error":
            return 3
        case "succeeded":
            return 0 if result.score is None or result.score > 0 else 1
        case _:
            return 0 if result.score else 1


def must_have_person(settings: Settings) -> None:
    """Whether somebody can answer, where somebody has to.

    Raises:
        UsageError: questions will come and standard input is no terminal.
    """
    kept = not settings.environment.throw_away
    asks = settings.run.confirm == "always" or (settings.run.confirm == "auto" and kept)
    if asks and not sys.stdin.isatty():
        guest = settings.environment.kind.startswith("guest")
        revert = ", or --set environment.remote.revert=COMMAND" if guest else ""
        raise UsageError(
            f"environment {settings.environment.kind!r} asks a person before every act, and "
            "standard input is no terminal",
            fix=f"run it in a terminal, or give --confirm never{revert}",
        )


async def guarded(settings: Settings, task: Task, log: RunLog, workshop: Workshop) -> Result:
    """Run with Ctrl-C and SIGTERM meaning "stop and keep everything"."""
    async with open_agent(settings, task, log, workshop) as agent:
        work = asyncio.create_task(agent.run(task, done=log.step))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, work.cancel)
        try:
            return await work
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)


async def at_desk(
    settings: Settings, task: Task, log: RunLog, *, desk: Desk, workshop: Workshop
) -> Result:
    """`guarded` in an environment that is ended or left up afterwards.

    Raises:
        OperatorError: a part cannot be opened; the run is written down as ended by it.
    """
    result = None
    try:
        await desk.begin()
        result = await guarded(settings, task, log, workshop)
    except (EnvironmentFailed, ModelUnavailable) as error:
        status = "environment_error" if isinstance(error, EnvironmentFailed) else "model_error"
        log.emit(RunFinished(exit_status=status, message=str(error)))
        raise
    finally:
        await desk.leave(result)
    return result


def must_be_possible_here(settings: Settings, task: Task) -> None:
    """Refuse what can be seen to be wrong without starting a machine or a run.

    Raises:
        UsageError: an unknown environment, or a task that lacks something.
        ConfigError: a setting of the environment or of a model that cannot be read.
        ModelUnavailable: a key is missing.
    """
    open_environment(settings.environment)
    must_be_possible(task)
    must_resolve(settings)


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


def episode(settings: Settings, task: Task, *, as_json: bool, report: bool) -> int:
    """Run a task in a new run folder; the exit code comes back."""
    must_have_person(settings)
    must_be_possible_here(settings, task)
    console = Console(stderr=as_json, quiet=as_json, highlight=False, soft_wrap=True)
    progress = Progress(console, settings.run.max_steps)
    with RunLog.create(
        settings.run.folder,
        task,
        settings=settings.model_dump(mode="json"),
        seed=settings.run.seed,
    ) as log:
        console.print(shown(f"run {log.id}: {task.instruction.strip()}", "bold"))
        desk = Desk(lambda: opened(settings, log, progress))
        workshop = Workshop(environment=desk.environment, ask=terminal_ask, listeners=[progress])
        with unless_refused(log):
            result = asyncio.run(at_desk(settings, task, log, desk=desk, workshop=workshop))
    return conclude(result, log, console, progress, as_json=as_json, report=report)


def told_results(log: RunLog) -> Iterator[tuple[str, str]]:
    """What the run made, what was brought home, and what was not, as lines with their labels."""
    results = log.manifest.results
    fetched = {file.path for file in results.fetched}
    lost = [path for path in results.made if path not in fetched]
    for file in results.fetched:
        yield "home", f"{log.folder / file.place} ({file.size} bytes)"
    for reason in results.missed:
        yield "MISSED", reason
    if lost:
        shown = ", ".join(lost[:_MADE_SHOWN])
        more = len(lost) - _MADE_SHOWN
        yield "made", shown + (f" and {more}{'+' * results.more} more" if more > 0 else "")
        yield "", f"on its machine alone; --fetch {shlex.quote(lost[0])} would have kept it"


def shown(text: str, style: str = "") -> Text:
    """A text of a model or a task as it is shown: without secrets, and steering no terminal."""
    return Text(safe_text(redact(text)), style=style)


def conclude(
    result: Result,
    log: RunLog,
    console: Console,
    progress: Progress,
    *,
    as_json: bool,
    report: bool,
) -> int:
    """Write the report and say how it ended and where everything is."""
    page = write_report(load_run(log.folder), log.folder / "report.html") if report else None
    summary: dict[str, Any] = {
        "run": result.run_id,
        "status": result.status,
        "message": redact(result.message),
        "score": result.score,
        "steps": result.steps,
        "models": log.manifest.models,
        "tokens_in": progress.spent.tokens_in,
        "tokens_out": progress.spent.tokens_out,
        "usd": round(progress.spent.usd, 6),
        "unpriced_calls": progress.spent.unpriced,
        "folder": str(log.folder),
        "made": log.manifest.results.made,
        "fetched": [str(log.folder / file.place) for file in log.manifest.results.fetched],
        "missed": log.manifest.results.missed,
        "report": None if page is None else str(page),
    }
    if as_json:
        click.echo(json.dumps(summary))
        return exit_code(result)
    score = "not scored" if result.score is None else f"{result.score:g}"
    style = "bold green" if exit_code(result) == 0 else "bold red"
    console.print()
    console.print(shown(f"{result.status}: {result.message}", style))
    models = ", ".join(f"{role}: {name}" for role, name in log.manifest.models.items())
    for label, value in [
        ("score", score),
        ("steps", str(result.steps)),
        ("models", models),
        ("cost", progress.summary()),
        ("run", str(log.folder)),
        *told_results(log),
        ("report", "" if page is None else str(page)),
    ]:
        if value:
            console.print(shown(f"  {label:<7} {value}"))
    if result.status not in ("succeeded", "infeasible"):
        console.print(Text(f"  go on with: hisa runs resume {result.run_id}"))
    return exit_code(result)
