"""``hisa runs resume``: continues a run that was stopped, killed or ran out of budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hisa.cli.episode import RunOutput
    from hisa.cli.progress import Progress
    from hisa.config import Settings
    from hisa.protocols import Environment
    from hisa.runs.resume import ResumePoint
    from hisa.runs.run_reader import Run

__all__ = ["resume"]


@click.command()
@click.argument("run_id", metavar="[ID]", default="latest")
@click.option("--max-steps", type=int, metavar="N", help="A new step limit.")
@click.option("--budget-usd", type=float, metavar="X", help="A new budget in US dollars.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, and no progress.")
@click.pass_obj
def resume(
    settings: Settings,
    run_id: str,
    max_steps: int | None,
    budget_usd: float | None,
    as_json: bool,
) -> int:
    """Resume run ID (an id, its first characters, or "latest") after its last complete step.

    The agent's state is rebuilt from the log. If the desktop still runs, it is reused (a stopped
    or killed run leaves it up for 15 minutes); otherwise the actions are replayed on a fresh one,
    without a model. A run whose last step ended it is only scored.

    \b
    hisa runs resume
    hisa runs resume 20261121-0345 --max-steps 100

    \f
    Args:
        settings: the effective settings; only the folder of runs is used.
        run_id: a run's name, a part of it, or "latest".
        max_steps: a new step limit.
        budget_usd: a new budget in US dollars.
        as_json: print JSON.
    """
    from rich.console import Console

    from hisa.cli.episode import RunOutput
    from hisa.cli.progress import Progress
    from hisa.runs.log import RunLog
    from hisa.runs.resume import require_no_secrets, resume_point

    run = _load_unfinished(run_id, settings.run.folder)
    point = resume_point(run)
    require_no_secrets(point)
    earlier = _settings(point.settings, max_steps=max_steps, budget_usd=budget_usd)
    console = Console(stderr=as_json, quiet=as_json, highlight=False, soft_wrap=True)
    progress = Progress(console, earlier.run.max_steps)
    for event in run.events:
        progress.count(event)
    with RunLog.reopen(run.folder) as log:
        rest = "only scoring" if point.end_outcome else "resuming"
        console.print(f"run {log.id}: {rest} after step {point.step}")
        output = RunOutput(log, console, progress, as_json=as_json, report=True)
        _go_on(earlier, output, point, progress)
    return output.close()


def _load_unfinished(run_id: str, folder: Path) -> Run:
    from hisa.errors import UsageError
    from hisa.outcomes.endings import FINAL
    from hisa.runs.run_reader import command_on, load_run

    run = load_run(run_id, folder)
    if run.status in FINAL:
        raise UsageError(
            f"run {run.id} ended with {run.status!r}; there is nothing to resume",
            fix=command_on(run.folder, "report"),
        )
    return run


def _settings(
    recorded: Mapping[str, object], *, max_steps: int | None, budget_usd: float | None
) -> Settings:
    from hisa.config import read_stored

    settings = read_stored(recorded)
    limits = {"max_steps": max_steps, "budget_usd": budget_usd}
    changes = {name: value for name, value in limits.items() if value is not None}
    return settings.model_copy(update={"run": settings.run.model_copy(update=changes)})


def _go_on(settings: Settings, output: RunOutput, point: ResumePoint, progress: Progress) -> None:
    import asyncio

    from hisa.agent import Agent
    from hisa.cli.ask import inquirer, person
    from hisa.cli.episode import run_in_desktop
    from hisa.cli.run_desktop import RunDesktop, reattach_or_replay
    from hisa.events import Noted, RunResumed
    from hisa.text.redact import REDACTED, holds_redacted

    async def find() -> Environment:
        environment, method, detail = await reattach_or_replay(settings, output.log, point)
        output.log.emit(RunResumed(desktop=method, detail=detail))
        hidden = sum(holds_redacted(dict(earlier)) for earlier in point.events)
        if hidden:
            note = f"{hidden} earlier texts held secrets; the agent reads {REDACTED} instead"
            output.log.emit(Noted(where="log", text=note))
        return environment

    output.log.listen(progress)
    desktop = RunDesktop(find)
    agent = Agent(
        settings=settings,
        environment=desktop.environment,
        ask=person(settings.run),
        inquire=inquirer(),
        progress=progress.answering,
    )
    asyncio.run(run_in_desktop(agent, point.task, desktop=desktop, output=output, so_far=point))
