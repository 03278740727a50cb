"""``hisa run --attempts N``: a task several times over, and the best of what came of it."""

from __future__ import annotations

import asyncio
import json
import shutil
from typing import Any

import click
from rich.console import Console

from hisa.cli.episode import (
    check_possible_here,
    exit_code,
    require_person,
    result_lines,
    run_task,
    shown,
    spent_fields,
)
from hisa.cli.progress import Progress
from hisa.cli.run_desktop import not_thrown_away
from hisa.config import EnvironmentSettings, Settings
from hisa.environments.share import parse_shares
from hisa.errors import ConfigError, EnvironmentFailed, ModelUnavailable, StoreError, UsageError
from hisa.models.open_models import require_models
from hisa.models.spending import Ledger
from hisa.plugins.benchmarks.attempts.attempt_facts import WHOLE_BYTES
from hisa.plugins.benchmarks.attempts.attempt_group import AttemptGroup, check_number
from hisa.plugins.benchmarks.attempts.best_run import Choice
from hisa.plugins.benchmarks.attempts.run_judge import judge_attempts, with_judge
from hisa.protocols import Task
from hisa.runs.log import RunLog
from hisa.runs.read import Run
from hisa.runs.wording import role_money
from hisa.text.redact import redact

__all__ = ["best_of"]


def best_of(settings: Settings, task: Task, attempts: int, *, as_json: bool, report: bool) -> int:
    """Run a task so many times, each on a machine of its own; returns the exit code of the best.

    Raises:
        UsageError: the environment is not thrown away, or something else is wrong that can be seen
            before anything starts.
    """
    check_number(attempts)
    _require_own_machines(settings.environment)
    require_person(settings.environment, settings.run)
    check_possible_here(settings, task)
    require_models(with_judge(settings.models), settings.planner)
    recorded = settings.model_dump(mode="json")
    with AttemptGroup.create(settings.run.folder, task, attempts, settings=recorded) as group:
        try:
            return _Attempts(group, settings, task, as_json=as_json, report=report).run()
        except (UsageError, ConfigError, StoreError):
            if not group.ended_runs():  # as with a run that was refused: nothing is left
                shutil.rmtree(group.folder, ignore_errors=True)
            raise


def _require_own_machines(settings: EnvironmentSettings) -> None:
    """Refuse where an attempt would find what the one before it did.

    Raises:
        UsageError: the machine is not thrown away, or a folder of this one can be written to.
    """
    if not settings.throw_away:
        raise not_thrown_away(settings)
    for text, share in zip(settings.share, parse_shares(settings.share), strict=True):
        if share.writable:
            raise UsageError(
                f"--share {text!r}: what one attempt writes there the next one would find, and "
                "several attempts have to begin alike",
                fix=f"--share {share.source} (read-only), and --fetch for what is made",
            )


class _Attempts:
    """Makes a group's attempts one after the other, and has the best one chosen."""

    def __init__(
        self, group: AttemptGroup, settings: Settings, task: Task, *, as_json: bool, report: bool
    ) -> None:
        self._group, self._settings, self._task = group, settings, task
        self._as_json, self._report = as_json, report
        self._console = Console(stderr=as_json, quiet=as_json, highlight=False, soft_wrap=True)

    def run(self) -> int:
        """Make all of them; on Ctrl-C everything that is there is kept."""
        self._say(f"{self._group.record.id}: {self._group.record.attempts} attempts", "bold")
        try:
            for number in range(1, self._group.record.attempts + 1):
                if self._attempt(number) == "stopped":
                    return self._stopped()
            self._say("\nchoosing", "bold")
            heard = Progress(self._console, self._settings.run.max_steps)
            choice = asyncio.run(judge_attempts(self._group, self._settings, heard=heard))
        except KeyboardInterrupt:
            return self._stopped()
        runs = self._group.ended_runs()
        chosen = next((run for run in runs if run.id == choice.run), None)
        if self._as_json:
            click.echo(json.dumps(_summary(self._group, choice, runs, chosen)))
        else:
            self._tell(choice, runs, chosen)
        if chosen is None:
            return 3 if all(exit_code(run) == 3 for run in runs) else 1
        return exit_code(chosen, chosen.manifest.results.missed)

    def _attempt(self, number: int) -> str:
        """Make one attempt; returns how it ended."""
        self._say(f"\nattempt {number} of {self._group.record.attempts}", "bold")
        settings = _of_attempt(self._settings, number)

        def begun(log: RunLog) -> None:
            self._group.begin(number, log.id)

        try:
            output = run_task(
                settings, self._task, as_json=self._as_json, report=self._report, begun=begun
            )
        except (EnvironmentFailed, ModelUnavailable) as error:  # its log has the end
            self._say(f"  broken: {redact(str(error))}", "red")
        else:
            output.finish()
        return self._group.end(number)

    def _stopped(self) -> int:
        done, planned = len(self._group.ended_runs()), self._group.record.attempts
        self._say(f"\nstopped: the runs of {done} of {planned} attempts are kept", "bold")
        return 1

    def _tell(self, choice: Choice, runs: list[Run], chosen: Run | None) -> None:
        for number, run in enumerate(runs, 1):
            mark = "*" if run is chosen else " "
            self._say(f"  {mark} attempt {number}: {run.status} {run.id}")
        spent = self._group.record.judging
        if spent.calls:
            money = role_money(spent.usd, spent.calls, spent.unpriced)
            self._say(f"  judging  {spent.tokens_in} tokens in, {spent.tokens_out} out, {money}")
        if chosen is None:
            self._say(f"no attempt is taken: {choice.why}", "bold red")
            self._say("  look at them: hisa runs ls")
            return
        who = f" by {self._group.record.judge}" if choice.by == "judge" else ""
        self._say(f"attempt {runs.index(chosen) + 1} is taken{who}: {choice.why}", "bold")
        lines = [("run", str(chosen.folder))]
        lines += result_lines(chosen.folder, chosen.manifest.results)
        lines += [("report", page)] if (page := _report(chosen)) else []
        for label, value in lines:
            self._say(f"  {label:<8} {value}")

    def _say(self, text: str, style: str = "") -> None:
        self._console.print(shown(text, style))


def _of_attempt(settings: Settings, number: int) -> Settings:
    """Returns the settings of one attempt: a planner's own seed is counted up, or all are alike.

    Small files that it makes are brought home, so that the judge can compare what is in them.
    """
    small = max(settings.run.fetch_small, WHOLE_BYTES)
    planner, seed = settings.models.planner, settings.models.planner.seed
    if seed is not None:
        planner = planner.model_copy(update={"seed": seed + number - 1})
    return settings.model_copy(
        update={
            "run": settings.run.model_copy(update={"fetch_small": small}),
            "models": settings.models.model_copy(update={"planner": planner}),
        }
    )


def _report(run: Run) -> str:
    page = run.folder / "report.html"
    return str(page) if page.is_file() else ""


def _summary(
    group: AttemptGroup, choice: Choice, runs: list[Run], chosen: Run | None
) -> dict[str, Any]:
    """Returns what ``--json`` prints: the choice, and each attempt as a plain run prints it."""
    return {
        "attempts": [_one(run) for run in runs],
        "group": group.record.id,
        "folder": str(group.folder),
        "chosen": None if chosen is None else chosen.id,
        "by": choice.by,
        "why": redact(choice.why),
        "judge": group.record.judge or None,
        "judging": group.record.judging.as_dict(),
        "result": None if chosen is None else _one(chosen),
    }


def _one(run: Run) -> dict[str, Any]:
    results = run.manifest.results
    return {
        "run": run.id,
        "status": run.status,
        "message": redact(run.message),
        "success": run.success,
        "score": run.score,
        "partial": run.scoring.partial,
        "score_state": run.score_state,
        "score_detail": redact(run.scoring.detail),
        "steps": run.totals.steps,
        "models": run.manifest.models,
        **spent_fields(Ledger.from_events(run.events).total),
        "folder": str(run.folder),
        "made": results.made,
        "fetched": [str(run.folder / file.place) for file in results.fetched],
        "missed": results.missed,
        "left_up": "",
        "report": _report(run) or None,
    }
