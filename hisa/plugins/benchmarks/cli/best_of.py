"""``hisa run --attempts N``: attempts a task several times and takes the best run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import click
from rich.console import Console

from hisa.cli.episode import (
    RunOutput,
    check_possible_here,
    exit_code,
    require_person,
    result_lines,
    run_task,
    spent_fields,
    style_text,
)
from hisa.cli.progress import Progress
from hisa.cli.run_desktop import not_thrown_away
from hisa.config import EnvironmentSettings, Settings
from hisa.environments.share import parse_shares
from hisa.errors import EnvironmentFailed, ModelUnavailable, UsageError
from hisa.models.open_models import require_models
from hisa.models.spending import Ledger
from hisa.plugins.benchmarks.attempts.attempt_facts import FULL_TEXT_BYTES
from hisa.plugins.benchmarks.attempts.attempt_group import AttemptGroup
from hisa.plugins.benchmarks.attempts.run_judge import judge_attempts, with_judge
from hisa.protocols import Task
from hisa.runs.log import RunLog
from hisa.runs.run_reader import Run, load_run
from hisa.runs.wording import role_money
from hisa.text.redact import redact

__all__ = ["best_of"]

MOST = 8
"""Most attempts at one task: with more, each has too few tokens in the judge's request."""


def best_of(settings: Settings, task: Task, attempts: int, *, as_json: bool, report: bool) -> int:
    """Attempt a task several times, each on its own machine; returns the exit code of the best.

    Args:
        settings: the effective settings; checked here.
        task: what to do.
        attempts: how many, 1 to `MOST`.
        as_json: print the attempts and the choice as JSON, and no progress.
        report: write a report for each attempt.

    Raises:
        UsageError: the environment is not thrown away, or something else is wrong before anything
            starts.
    """
    if not 1 <= attempts <= MOST:
        raise UsageError(f"--attempts {attempts}: must be from 1 to {MOST}", fix="--attempts 4")
    _require_own_machines(settings.environment)
    require_person(settings.environment, settings.run)
    check_possible_here(settings, task)
    require_models(with_judge(settings.models), settings.planner)
    console = Console(stderr=as_json, quiet=as_json, highlight=False, soft_wrap=True)
    make = partial(run_task, task=task, as_json=as_json, report=report)
    runs: list[Run] = []
    try:
        for number in range(1, attempts + 1):
            console.print(f"\nattempt {number} of {attempts}", style="bold")
            runs += _make_attempt(_of_attempt(settings, number), console, make)
        console.print("\nchoosing", style="bold")
        progress = Progress(console, settings.run.max_steps)
        group = asyncio.run(judge_attempts(runs, settings, on_event=progress))
    except KeyboardInterrupt:
        console.print(f"\nstopped: the runs of {len(runs)} of {attempts} attempts are kept")
        return 1
    chosen_run = next((run for run in runs if run.id == group.choice.run), None)
    if as_json:
        click.echo(json.dumps(_summary(group, runs, chosen_run)))
    else:
        _print_choice(console, group, runs, chosen_run)
    if chosen_run is None:
        return 3 if all(exit_code(run) == 3 for run in runs) else 1
    return exit_code(chosen_run, chosen_run.manifest.results.missed)


def _require_own_machines(settings: EnvironmentSettings) -> None:
    """Refuse if an attempt would find what an earlier one left.

    Raises:
        UsageError: the machine is not thrown away, or a shared folder is writable.
    """
    if not settings.throw_away:
        raise not_thrown_away(settings)
    for text, share in zip(settings.share, parse_shares(settings.share), strict=True):
        if share.writable:
            raise UsageError(
                f"--share {text!r}: the next attempt would find what one writes there, but "
                "all attempts must start alike",
                fix=f"--share {share.source} (read-only), and --fetch for the results",
            )


def _make_attempt(
    settings: Settings, console: Console, make: Callable[..., RunOutput]
) -> list[Run]:
    """Make one attempt, and return a list of its run.

    Raises:
        KeyboardInterrupt: Ctrl-C stopped it.
    """
    logs: list[RunLog] = []
    try:
        make(settings, begun=logs.append).finish()
    except (EnvironmentFailed, ModelUnavailable) as error:  # the run's end is in its log
        console.print(style_text(f"  broken: {error}", "red"))
    run = load_run(logs[0].folder)
    if run.status == "stopped":
        raise KeyboardInterrupt
    return [run]


def _of_attempt(settings: Settings, number: int) -> Settings:
    """Returns the settings of one attempt; a planner's seed grows with the attempt's number.

    With one seed all attempts would be alike. Small files that an attempt makes are fetched, so
    that the judge can compare their contents.
    """
    planner = settings.models.planner
    if planner.seed is not None:
        planner = planner.model_copy(update={"seed": planner.seed + number - 1})
    small = max(settings.run.fetch_small, FULL_TEXT_BYTES)
    changed = {
        "run": settings.run.model_copy(update={"fetch_small": small}),
        "models": settings.models.model_copy(update={"planner": planner}),
    }
    return settings.model_copy(update=changed)


def _print_choice(
    console: Console, group: AttemptGroup, runs: list[Run], chosen_run: Run | None
) -> None:
    choice, spent = group.choice, group.judging
    for number, run in enumerate(runs, 1):
        mark = "*" if run is chosen_run else " "
        console.print(f"  {mark} attempt {number}: {run.status} {run.id}")
    if spent.calls:
        money = role_money(spent.usd, spent.calls, spent.unpriced)
        console.print(f"  judging  {spent.tokens_in} tokens in, {spent.tokens_out} out, {money}")
    if chosen_run is None:
        console.print(style_text(f"no attempt was chosen: {choice.why}", "bold red"))
        console.print("  list them with: hisa runs ls")
        return
    judge_label = f" by {group.judge}" if choice.by == "judge" else ""
    console.print(
        style_text(
            f"attempt {runs.index(chosen_run) + 1} was chosen{judge_label}: {choice.why}", "bold"
        )
    )
    console.print(style_text(f"  run      {chosen_run.folder}"))
    for label, value in result_lines(chosen_run.folder, chosen_run.manifest.results):
        console.print(style_text(f"  {label:<8} {value}"))


def _summary(group: AttemptGroup, runs: list[Run], chosen_run: Run | None) -> dict[str, Any]:
    """Returns what ``--json`` prints: the choice, and each attempt."""
    return {
        "attempts": [_row(run) for run in runs],
        "group": group.id,
        "chosen": None if chosen_run is None else chosen_run.id,
        "by": group.choice.by,
        "why": redact(group.choice.why),
        "judge": group.judge or None,
        "judging": group.judging.as_dict(),
        "result": None if chosen_run is None else _row(chosen_run),
    }


def _row(run: Run) -> dict[str, Any]:
    results = run.manifest.results
    return {
        "run": run.id,
        "status": run.status,
        "message": redact(run.message),
        "success": run.success,
        "score": run.score,
        "score_state": run.score_state,
        "score_detail": redact(run.scoring.detail),
        "steps": run.totals.steps,
        **spent_fields(Ledger.from_events(run.events).total),
        "folder": str(run.folder),
        "fetched": [str(run.folder / file.place) for file in results.fetched],
        "missed": results.missed,
    }
