"""``hisa bench prefetch`` and ``hisa bench coverage``: what a suite needs before it runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from hisa.tasks.cache import FileCache

__all__ = ["coverage", "prefetch"]


@click.command()
@click.argument("suite")
@click.option("--cache", type=click.Path(path_type=Path), help="By default ~/.cache/hisa/tasks.")
def prefetch(suite: str, cache: Path | None) -> int:
    """Download what the tasks of SUITE need from the internet, each file once.

    A file that is there and whole is not downloaded again. Ends with 3 where one cannot be had.

    \b
    hisa bench prefetch osworld:DIR
    """
    import asyncio

    from hisa.bench.suites import open_suite
    from hisa.tasks.cache import FileCache
    from hisa.tasks.files import load_task
    from hisa.tasks.problems import urls

    tasks = [load_task(task.path) for task in open_suite(suite).tasks]
    wanted = list(dict.fromkeys(url for task in tasks for url in urls(task)))
    failed = asyncio.run(_fetch_all(FileCache(cache), wanted))
    click.echo(f"{len(tasks)} tasks, {len(wanted)} files, {len(wanted) - failed} in the cache")
    return 3 if failed else 0


async def _fetch_all(cache: FileCache, wanted: Sequence[str]) -> int:
    """How many could not be had; each is named as it happens."""
    from hisa.errors import OperatorError

    failed = 0
    for number, url in enumerate(wanted, 1):
        try:
            held = cache.holds(url)
            await cache.get(url)
        except OperatorError as error:
            failed += 1
            click.echo(f"{number}/{len(wanted)}  FAILED  {error}", err=True)
        else:
            click.echo(
                f"{number}/{len(wanted)}  {'there  ' if held else 'fetched'} {url}", err=True
            )
    return failed


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def coverage(folder: Path, as_json: bool) -> None:
    """Say which setup steps, getters and metrics of the task files below FOLDER are here.

    Task files that cannot be run are listed with the reason.

    \b
    hisa bench coverage DIR
    """
    from hisa.tasks.coverage import coverage as count
    from hisa.tasks.coverage import load_folder

    files, rows = load_folder(folder), count(folder)
    unusable = [file for file in files if not file.usable]
    if as_json:
        report = {
            "files": len(files),
            "unusable": {str(file.path): file.reason for file in unusable},
            "rows": [asdict(row) for row in rows],
        }
        click.echo(json.dumps(report, indent=2))
        return
    click.echo(f"{len(files)} task files, {len(files) - len(unusable)} can be run and scored here")
    for row in rows:
        mark = "ok " if row.ours else "NO "
        click.echo(f"  {mark}{row.kind:<8}{row.name:<36}{row.tasks:>5} tasks {row.uses:>6} uses")
    for file in unusable:
        click.echo(f"  NO {file.path}: {file.reason}")
