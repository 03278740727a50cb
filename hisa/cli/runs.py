"""``hisa runs``: lists, shows, reports and exports runs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.open_group import OpenGroup, pass_sections
from hisa.cli.out import examples, json_option, print_json, say
from hisa.cli.runs_resume import resume

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from hisa.config import RunSettings
    from hisa.runs.manifest import Manifest
    from hisa.runs.run_reader import Run

__all__ = ["runs"]

_ID = click.argument("run_id", metavar="[ID]", default="latest")


@click.group(
    cls=OpenGroup,
    prefix="runs.",
    epilog=examples("hisa runs ls", "hisa runs show latest", "hisa runs report --open"),
)
def runs() -> None:
    """List, show, audit, report, export and resume runs.

    ID is the name of a run, the first or last characters of it, or "latest".
    """


runs.add_command(resume)


@runs.command(
    "ls",
    epilog=examples(
        "hisa runs ls",
        "hisa runs ls --limit 100 --json | jq '.[] | select(.status == \"max_steps\") | .id'",
    ),
)
@click.option("--limit", type=click.IntRange(1), default=20, help="Show the N newest (default 20).")
@click.option("--json", "as_json", is_flag=True, help="Print everything in run.json as JSON.")
@pass_sections("run")
def list_command(settings: RunSettings, limit: int, as_json: bool) -> None:
    """List runs, newest first.

    \f
    Args:
        settings: the section ``run`` of the settings.
        limit: most runs to list, the newest first.
        as_json: print JSON.
    """
    rows = _rows(settings.folder.expanduser(), limit)
    if as_json:
        print_json([{**manifest.model_dump(), "status": status} for manifest, status in rows])
        return
    if not rows:
        click.echo(f'no runs in {settings.folder.expanduser()}; start one: hisa run "TASK"')
        return
    from hisa.runs.terminal_view import run_table

    _print([run_table(rows)])


@runs.command(
    "show",
    epilog=examples(
        "hisa runs show",
        "hisa runs show 20261121-034512-7f3a --step 4",
        "hisa runs show latest --events | grep model_failed",
        "hisa runs show latest --turns",
    ),
)
@_ID
@click.option("--step", type=click.IntRange(1), help="Show one step in full.")
@click.option("--events", is_flag=True, help="Print the events as they were logged.")
@click.option("--turns", "listed", is_flag=True, help="List the model calls with their ids.")
@click.option("--turn", metavar="ID", help="Show one model call in full: request and reply.")
@json_option
@pass_sections("run")
def show_command(
    settings: RunSettings,
    run_id: str,
    *,
    step: int | None,
    events: bool,
    listed: bool,
    turn: str | None,
    as_json: bool,
) -> None:
    """Show one run: how it ended, its totals and a line per step.

    \f
    Args:
        settings: the section ``run`` of the settings.
        run_id: a run's name, a part of it, or "latest".
        step: show only this step, in full.
        events: print the logged events.
        listed: list the model calls.
        turn: id of a model call to show in full.
        as_json: print JSON.
    """
    from hisa.runs import terminal_view

    run = _load(settings, run_id)
    if turn is not None or listed:
        from hisa.runs import turn_view

        say("\n".join(turn_view.show_turns(run, turn, as_json=as_json)))
    elif events:
        for event in run.events:
            if step is None or event.step == step:
                click.echo(json.dumps(event.model_dump()))
    elif as_json:
        print_json(
            terminal_view.run_json(run) if step is None else terminal_view.step_json(run, step)
        )
    elif step is not None:
        say(terminal_view.step_text(run, step))
    else:
        _print(terminal_view.summary(run))


@runs.command(
    "audit",
    epilog=examples(
        "hisa runs audit",
        "hisa runs audit latest --json | jq '.decisions[] | select(.allowed | not)'",
    ),
)
@_ID
@json_option
@pass_sections("run")
def audit_command(settings: RunSettings, run_id: str, *, as_json: bool) -> None:
    """Print the policy's decisions in one run: verdict, rule, and who allowed the action.

    \f
    Args:
        settings: the section ``run`` of the settings.
        run_id: a run's name, a part of it, or "latest".
        as_json: print JSON.
    """
    from hisa.runs.audit_view import audit_json, audit_lines

    run = _load(settings, run_id)
    if as_json:
        print_json(audit_json(run))
    else:
        _print(audit_lines(run))


@runs.command(
    "report",
    epilog=examples(
        "hisa runs report", "hisa runs report 20261121-034512-7f3a -o report.html --open"
    ),
)
@_ID
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write.")
@click.option("--open", "show", is_flag=True, help="Open it in the browser.")
@pass_sections("run")
def report_command(settings: RunSettings, run_id: str, output: Path | None, show: bool) -> None:
    """Write one run as a self-contained HTML page, and print its path.

    \f
    Args:
        settings: the section ``run`` of the settings.
        run_id: a run's name, a part of it, or "latest".
        output: file to write; None: report.html in the run folder.
        show: open the page in the browser.
    """
    from hisa.runs.report import write_report

    run = _load(settings, run_id)
    path = write_report(run, output or run.folder / "report.html").resolve()
    click.echo(path)
    if show:
        click.launch(path.as_uri())


@runs.command(
    "export",
    epilog=examples(
        "hisa runs export latest",
        "hisa runs export --all --min-score 1 --whole -o turns.jsonl",
        "hisa runs export latest --format atif -o trajectory.json",
    ),
)
@click.argument("run_ids", metavar="[ID]...", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Every run below run.folder, as for a bench.")
@click.option(
    "--format",
    "kind",
    default="jsonl",
    metavar="NAME",
    help="jsonl: one model call per line; for others see above.",
)
@click.option("--min-score", type=float, help="Only runs with a score of at least this.")
@click.option(
    "--whole",
    "complete_only",
    is_flag=True,
    help="Only answered calls with nothing redacted or cut.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File, or results folder.")
@pass_sections("run")
def export_command(
    settings: RunSettings,
    /,
    run_ids: tuple[str, ...],
    every: bool,
    kind: str,
    output: Path | None,
    **options: Any,
) -> None:
    """Write the requests and replies of model calls to a file, and print its path.

    HiSA's plugins add the formats openenv (OpenEnv's TrainingTrace), atif (Harbor's trajectories)
    and osworld (a results folder).

    \f
    Args:
        settings: the section ``run`` of the settings.
        run_ids: names of runs; empty: the latest.
        every: export every run below the folder of runs.
        kind: name of the format.
        output: file or folder to write; None: the format decides.
        options: --min-score and --whole.
    """
    from hisa.runs.export import export_runs
    from hisa.runs.run_reader import load_run

    folder = settings.folder.expanduser()
    if every:
        folders = [path.parent for path in sorted(folder.rglob("run.json"))]
        loaded = [load_run(path) for path in folders]
    else:
        loaded = [_load(settings, run_id) for run_id in run_ids or ("latest",)]
    click.echo(export_runs(loaded, kind, output, **options))


def _load(settings: RunSettings, run_id: str) -> Run:
    from hisa.runs.run_reader import load_run

    return load_run(run_id, settings.folder.expanduser())


def _rows(root: Path, limit: int) -> list[tuple[Manifest, str]]:
    from hisa.errors import UsageError
    from hisa.runs.run_reader import is_running, list_runs, read_manifest

    rows = []
    for folder in list_runs(root)[:limit]:
        try:
            manifest = read_manifest(folder)
        except UsageError as error:
            say(f"skipped: {error}", err=True)
            continue
        open_status = "running" if is_running(folder) else "unfinished"
        rows.append((manifest, manifest.exit_status or open_status))
    return rows


def _print(lines: Iterable[Text | Table]) -> None:
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    for line in lines:
        console.print(line)
