"""``hisa bench tasks`` lists a suite's tasks; ``prefetch`` downloads what they need."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hisa.cli.out import print_json, say

if TYPE_CHECKING:
    from hisa.plugins.benchmarks.tasks.cache import FileCache

__all__ = ["prefetch", "tasks"]


@click.command()
@click.argument("suite")
@click.option("--left-out", is_flag=True, help="List the files that cannot be run here, and why.")
@click.option("--json", "as_json", is_flag=True, help="Print both lists as JSON.")
@click.pass_context
def tasks(ctx: click.Context, suite: str, left_out: bool, as_json: bool) -> None:
    """List the tasks of SUITE that can be run here, or the files that are left out.

    \b
    hisa bench tasks own:DIR
    hisa bench tasks osworld:DIR --left-out
    \f
    Args:
        ctx: its ``meta["hisa.settings"]`` has the settings file and the assignments before "bench".
        suite: SUITE.
        left_out: the option.
        as_json: print both lists, whatever ``left_out`` says.
    """
    from hisa.config import load
    from hisa.plugins.benchmarks.bench.suites import left_out_line, read_suite

    opened_suite = read_suite(suite, load(*ctx.meta["hisa.settings"]).tasks)
    if as_json:
        task_rows = [{"id": t.id, "domain": t.domain, "path": t.path} for t in opened_suite.tasks]
        print_json({"tasks": task_rows, "left_out": opened_suite.problems})
    elif left_out:
        for path, reason in opened_suite.problems.items():
            click.echo(f"{path}: {reason}")
        click.echo(
            f"{len(opened_suite.problems)} left out, {len(opened_suite.tasks)} can be run", err=True
        )
    else:
        for task in opened_suite.tasks:
            click.echo(f"{task.id}  {task.domain}  {task.path}")
        if line := left_out_line(opened_suite):
            click.echo(line, err=True)


@click.command()
@click.argument("suite")
@click.option(
    "--cache", type=click.Path(path_type=Path), help="Cache folder (~/.cache/hisa/tasks)."
)
@click.pass_context
def prefetch(ctx: click.Context, suite: str, cache: Path | None) -> int:
    """Download what the tasks of SUITE need from the internet, each file once.

    A complete file in the cache is not downloaded again. Each file is kept with its SHA-256, which
    is checked before every use. Addresses on this machine and on private networks are refused,
    unless tasks.allow_private_downloads names them. Exit status: 3 if a download failed.

    \b
    hisa bench prefetch osworld:DIR
    \f
    Args:
        ctx: its ``meta["hisa.settings"]`` has the settings file and the assignments before "bench".
        suite: SUITE.
        cache: the folder; None: the default.
    """
    import asyncio

    from hisa.config import load
    from hisa.plugins.benchmarks.bench.suites import open_suite
    from hisa.plugins.benchmarks.tasks.cache import FileCache
    from hisa.plugins.benchmarks.tasks.task_needs import needed_urls
    from hisa.tasks.taskfile import load_task

    settings = load(*ctx.meta["hisa.settings"]).tasks
    tasks = [load_task(task.path) for task in open_suite(suite, settings=settings).tasks]
    urls = list(dict.fromkeys(url for task in tasks for url in needed_urls(task)))
    files = FileCache.by(settings, cache)
    try:
        failed = asyncio.run(_fetch_all(files, urls))
    except KeyboardInterrupt:
        say("stopped; the same command continues", err=True)
        return 1
    cached_count = sum(files.holds(url) for url in urls)
    click.echo(f"{len(tasks)} tasks, {len(urls)} files, {cached_count} in the cache")
    return 3 if failed else 0


async def _fetch_all(cache: FileCache, urls: Sequence[str]) -> int:
    """Download the addresses, printing a line for each; returns how many failed."""
    from hisa.errors import OperatorError

    missing = [url for url in urls if not cache.holds(url)]
    failed = 0
    for number, url in enumerate(missing, 1):
        place = f"{number}/{len(missing)}"
        try:
            await cache.fetch(url)
        except OperatorError as error:
            failed += 1
            helps = f"; {error.fix}" if error.fix else ""
            say(f"{place}  FAILED  {error}{helps}", err=True)
        else:
            say(f"{place}  fetched {url}", err=True)
    return failed
