"""One run from the terminal's side: signals, progress, questions, report and exit status."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from hisa.agent import Agent, unless_refused
from hisa.cli.ask import inquirer, person
from hisa.cli.progress import Progress
from hisa.cli.run_desktop import RunDesktop, open_desktop, open_fresh
from hisa.conclusion import is_learned_from
from hisa.config import EnvironmentSettings, RunSettings, Settings
from hisa.environments.open_environment import open_environment
from hisa.errors import OperatorError, UsageError, with_fix
from hisa.events import Event
from hisa.machine.stop_signals import on_stop_signals
from hisa.models.open_models import require_models
from hisa.models.spending import Totals
from hisa.outcomes.endings import FINAL, Result
from hisa.protocols import Task
from hisa.runs import wording
from hisa.runs.log import RunLog
from hisa.runs.manifest import ResultsRecord
from hisa.runs.report import write_report
from hisa.runs.resume import ResumePoint
from hisa.runs.run_reader import Run, command_on, load_run
from hisa.tasks.scorer import check_possible
from hisa.text.redact import redact
from hisa.text.safe_text import safe_text
from hisa.wiring import end_of_opening

__all__ = [
    "RunOutput",
    "check_possible_here",
    "episode",
    "exit_code",
    "require_person",
    "result_lines",
    "run_in_desktop",
    "run_task",
    "score_line",
    "spent_fields",
    "style_text",
]


_MADE_SHOWN = 5  # chosen by hand
_FIRST = ("guidance", "observed")  # a refused run reaches neither


def exit_code(result: Result | Run, missed: Sequence[str] = ()) -> int:
    """Returns 0 if the task was done, 1 if not, 3 if a machine, model or check was unavailable.

    Args:
        result: how the run ended.
        missed: files that should have been fetched and were not; with any, the task was not done.
    """
    if result.success:
        return int(bool(missed))
    broken = result.status in ("model_error", "environment_error")
    return 3 if broken or result.score_state == "score_failed" else 1


def require_person(settings: EnvironmentSettings, run: RunSettings) -> None:
    """Refuse to start if a person has to answer questions and cannot.

    Raises:
        UsageError: the run will ask, standard input is no terminal, and HISA_LIVE_ASK does not
            say that questions are answered elsewhere.
    """
    is_permanent = not settings.throw_away
    asks_person = run.confirm == "always" or (run.confirm == "auto" and is_permanent)
    if asks_person and not sys.stdin.isatty() and os.environ.get("HISA_LIVE_ASK") != "1":
        guest = settings.family == "guest"
        revert = ", or --set environment.remote.revert=COMMAND" if guest else ""
        raise UsageError(
            f"environment {settings.kind!r} asks a person before every action, and "
            "standard input is no terminal",
            fix=f"run it in a terminal, or give --confirm never{revert}",
        )


async def run_with_signals(
    agent: Agent,
    task: Task,
    log: RunLog,
    *,
    so_far: ResumePoint | None = None,
    on_result: Callable[[Result], object] = lambda _: None,
) -> Result:
    """Run a task; Ctrl-C and SIGTERM stop it and keep everything.

    Args:
        agent: opened here, for this run alone.
        task: what to do.
        log: the run's log.
        so_far: the checkpoint of a resumed run.
        on_result: called with the result as soon as it is known, before learning.
    """
    async with agent.open(task, log, so_far=so_far) as opened:
        gc.freeze()  # what is loaded now stays; collecting it again took 30 ms each time
        ended = so_far.end_outcome if so_far else None
        run = opened.run(task, end_outcome=ended, on_result=on_result)
        work = asyncio.create_task(run)
        with on_stop_signals(lambda _: work.cancel()):
            return await work


async def run_in_desktop(
    agent: Agent,
    task: Task,
    *,
    desktop: RunDesktop,
    output: RunOutput,
    so_far: ResumePoint | None = None,
) -> Result:
    """`run_with_signals` in an environment that is ended or left up afterwards.

    An error after the result is reported, and does not change the result.

    Args:
        agent: uses the environment of ``desktop``.
        task: what to do.
        desktop: opens the environment, and decides whether it is left up.
        output: prints the result; has the run's log.
        so_far: the checkpoint of a resumed run.

    Raises:
        OperatorError: a part cannot be opened, or the log cannot be written.
        Exception: a defect of HiSA, with a note that says so.
    """
    try:
        try:
            with end_of_opening(output.log):
                await desktop.begin()
            return await run_with_signals(
                agent, task, output.log, so_far=so_far, on_result=output.give
            )
        finally:
            output.say_left_up(await desktop.leave(output.result))
    except OperatorError as error:
        if output.result is None:
            raise
        output.warn(with_fix(error))
        return output.result
    except Exception as error:
        error.add_note(
            f"This is a defect of HiSA or of a plug-in, not of the task. The whole run is kept in "
            f"{output.log.folder}; resume it with: {command_on(output.log.folder)}"
        )
        raise


def check_possible_here(settings: Settings, task: Task) -> None:
    """Refuse what is wrong before a machine or a run is started.

    Raises:
        UsageError: the environment is unknown, or the task lacks something.
        ConfigError: a setting of the environment or of a model cannot be read.
        ModelUnavailable: a key is missing.
    """
    open_environment(settings.environment)
    check_possible(task, settings.tasks)
    require_models(settings.models, settings.planner)


def episode(settings: Settings, task: Task, *, as_json: bool, report: bool) -> int:
    """Run a task in a new run folder; returns the exit code.

    Args:
        settings: the effective settings; checked here.
        task: what to do.
        as_json: print the result as one line of JSON, and no progress.
        report: write ``report.html`` at the end.
    """
    require_person(settings.environment, settings.run)
    check_possible_here(settings, task)
    return run_task(settings, task, as_json=as_json, report=report).close()


def run_task(
    settings: Settings,
    task: Task,
    *,
    as_json: bool,
    report: bool,
    begun: Callable[[RunLog], object] | None = None,
) -> RunOutput:
    """Run a task in a new run folder, as one of several attempts if ``begun`` is given.

    Args:
        settings: the effective settings, already checked, as is the task.
        task: what to do.
        as_json: print no progress.
        report: `RunOutput.close` or `RunOutput.finish` writes a report.
        begun: for an attempt: called with its log before anything is opened. The machine of an
            attempt has to be a throw-away one, and is never left up.

    Raises:
        OperatorError: a part cannot be opened, or the log cannot be written.
    """
    console = Console(stderr=as_json, quiet=as_json, highlight=False, soft_wrap=True)
    progress = Progress(console, settings.run.max_steps)
    alone = begun is None
    goes_on = alone and not settings.policy.dry_run
    with RunLog.create(
        settings.run.folder,
        task,
        settings=settings.model_dump(mode="json"),
        seed=settings.run.seed,
    ) as log:
        if begun is not None:
            begun(log)
        console.print(style_text(task.instruction.strip(), "bold"))
        name_run = cache(lambda: console.print(f"  run      {log.id}"))
        output = RunOutput(log, console, progress, as_json=as_json, report=report, alone=goes_on)
        opened = open_desktop if alone else open_fresh
        desktop = RunDesktop(lambda: opened(settings, log), stays=goes_on)

        def show(event: Event) -> None:
            if event.type in _FIRST:
                name_run()
            progress(event)

        log.listen(show)
        agent = Agent(
            settings=settings,
            environment=desktop.environment,
            ask=person(settings.run),
            inquire=inquirer(),
            progress=progress.answering if alone else None,
        )
        work = run_in_desktop(agent, task, desktop=desktop, output=output)
        try:
            with unless_refused(log):
                asyncio.run(work)
        finally:
            if log.folder.exists():
                name_run()
            else:  # its name would lead nowhere
                console.print("the run was refused before its first step, and was not kept")
    return output


def result_lines(folder: Path, results: ResultsRecord) -> Iterator[tuple[str, str]]:
    """Yields labelled lines: files brought home, files missed, and files left on the machine."""
    fetched = {file.path for file in results.fetched}
    lost = [path for path in results.made if path not in fetched]
    for file in results.fetched:
        yield "home", f"{folder / file.place} ({file.size} bytes)"
    for reason in results.missed:
        yield "MISSED", reason
    if lost:
        shown = ", ".join(lost[:_MADE_SHOWN])
        more = len(lost) - _MADE_SHOWN
        yield "made", shown + (f" and {more}{'+' * results.more} more" if more > 0 else "")
        yield "", f"left on the machine; --fetch {shlex.quote(lost[0])} would have kept it"


def style_text(text: str, style: str = "") -> Text:
    """Returns a text of a model or a task for the terminal: without secrets or control codes."""
    return Text(safe_text(redact(text)), style=style)


class RunOutput:
    """Prints how a run ended: for a person as soon as it is known, as JSON once all is over.

    Args:
        log: the run's log.
        console: prints everything but JSON, which goes to standard output.
        progress: knows what was spent.
        as_json: print one line of JSON at the end, and nothing else.
        report: write ``report.html`` at the end.
        alone: False for one of several attempts, which cannot be resumed by itself.
    """

    def __init__(
        self,
        log: RunLog,
        console: Console,
        progress: Progress,
        *,
        as_json: bool,
        report: bool,
        alone: bool = True,
    ) -> None:
        self.log = log
        self.result: Result | None = None
        self._console = console
        self._progress = progress
        self._as_json = as_json
        self._report = report
        self._alone = alone
        self._calls = 0
        self._left_up = ""

    def give(self, result: Result) -> None:
        """Take the result and, unless JSON is wanted, print it."""
        self.result = result
        if self._as_json:
            return
        style = "bold green" if exit_code(result) == 0 else "bold red"
        self._console.print()
        self._console.print(style_text(f"{result.status}: {result.message}", style))
        models = ", ".join(f"{role}: {name}" for role, name in self.log.manifest.models.items())
        self._line("score", score_line(result))
        self._line("steps", str(result.steps))
        self._line("models", models)
        self._calls = self._progress.spent.calls
        self._line("cost", self._progress.summary())
        self._line("run", str(self.log.folder))
        if self._alone and result.status not in FINAL:
            self._console.print(Text(f"  resume with: {command_on(self.log.folder)}"))
        self._progress.outcome_of_learning = False
        if self._learns(result):
            self._line("learning", "from the run; Ctrl-C skips it and the result stays", "dim")

    def _learns(self, result: Result) -> bool:
        patterns = self.log.manifest.settings.get("patterns", {})
        return bool(patterns.get("enabled")) and is_learned_from(result)

    def say_left_up(self, text: str) -> None:
        """Say which machine stays up after the run."""
        self._left_up = text
        if not self._as_json:
            self._line("desktop", text)

    def warn(self, text: str) -> None:
        """Say what broke after the result."""
        if self._as_json:
            click.echo(f"hisa: {text}", err=True)
        else:
            self._line("broken", text, "red")

    def close(self) -> int:
        """Write the report, say where it is, and return the exit code of the run."""
        assert self.result is not None
        page = self.finish()
        if self._as_json:
            click.echo(json.dumps(self._summary(self.result, page)))
        else:
            if self._learns(self.result) and not self._progress.outcome_of_learning:
                self._line("learned", "nothing new", "dim")
            if self._progress.spent.calls > self._calls:
                self._line("cost", f"{self._progress.summary()}, learning included")
            for label, value in result_lines(self.log.folder, self.log.manifest.results):
                self._line(label, value)
            self._line("report", str(page or ""))
        return exit_code(self.result, self.log.manifest.results.missed)

    def finish(self) -> Path | None:
        """Write the report if one is wanted, and return its path."""
        if not self._report:
            return None
        try:
            return write_report(load_run(self.log.folder), self.log.folder / "report.html")
        except UsageError as error:
            self.warn(with_fix(error))
            return None

    def _line(self, label: str, value: str, style: str = "") -> None:
        if value:
            self._console.print(style_text(f"  {label:<8} {value}", style))

    def _summary(self, result: Result, page: Path | None) -> dict[str, Any]:
        spent, results = self._progress.spent, self.log.manifest.results
        return {
            "run": result.run_id,
            "status": result.status,
            "message": redact(result.message),
            "success": result.success,
            "score": result.score,
            "score_state": result.score_state,
            "score_detail": redact(result.score_detail),
            "partial": result.partial,
            "steps": result.steps,
            "models": self.log.manifest.models,
            **spent_fields(spent),
            "folder": str(self.log.folder),
            "made": results.made,
            "fetched": [str(self.log.folder / file.place) for file in results.fetched],
            "missed": results.missed,
            "left_up": self._left_up,
            "report": None if page is None else str(page),
        }


def spent_fields(spent: Totals) -> dict[str, int | float]:
    """Returns the tokens and dollars of a run as ``--json`` prints them."""
    return {
        "tokens_in": spent.tokens_in,
        "fresh_in": spent.fresh_in,
        "cached_in": spent.cached_in,
        "tokens_out": spent.tokens_out,
        "reasoning_out": spent.reasoning_out,
        "usd": round(spent.usd, 6),
        "unpriced_calls": spent.unpriced,
    }


def score_line(result: Result) -> str:
    """Returns the score with its reason, or why there is none."""
    match result.score_state:
        case "scored":
            more = wording.partial(result.score, result.partial)
            return f"{result.score:g}{more}: {result.score_detail}"
        case "no_check":
            claimed = result.status in ("succeeded", "infeasible")
            own = ", so success is only the agent's claim" if claimed else ""
            return f"none: {result.score_detail}{own}"
        case "score_failed":
            return f"unknown, because the check could not be carried out: {result.score_detail}"
        case "unscored":
            return "none: the run was not scored"
