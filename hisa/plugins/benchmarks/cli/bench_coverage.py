"""``hisa bench coverage``: the pieces that task files ask for, and whose each is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import json_option, print_json, say

if TYPE_CHECKING:
    from hisa.protocols import Task

__all__ = ["coverage"]

_MARKS = {"ours": "ours  ", "theirs": "theirs", "missing": "NO    "}


@click.command()
@click.argument("place", metavar="DIR", required=False)
@click.option("--public", metavar="NAME", help="The published tasks of osworld or spider2v.")
@json_option
def coverage(place: str | None, public: str | None, as_json: bool) -> None:
    """List the setup steps, getters and metrics of the tasks below DIR, and whose each is.

    ours: nothing is needed; theirs: a metric of OSWorld's package, with the command that installs
    what it still lacks; NO: nobody's. With --public the published lists are counted, which hold no
    task files. "hisa bench tasks SUITE --left-out" says why a task of yours cannot be run.

    \b
    hisa bench coverage DIR
    hisa bench coverage --public osworld
    """
    from hisa.errors import UsageError

    if (place is None) == (public is None):
        raise UsageError(
            "coverage counts a folder or a public list, one of the two",
            fix="hisa bench coverage DIR, or hisa bench coverage --public osworld",
        )
    report = _of_folder(Path(place).expanduser()) if place else _of_public(str(public))
    if as_json:
        print_json(report)
        return
    for line in _lines(report):
        say(line)


def _of_folder(folder: Path) -> dict[str, Any]:
    from hisa.plugins.benchmarks.tasks.task_needs import count_pieces, needed_pieces

    tasks = list(_tasks_below(folder))
    return {
        "title": f"{len(tasks)} tasks below {folder}",
        "tasks": len(tasks),
        "domains": {},
        "rows": [asdict(row) for row in count_pieces(map(needed_pieces, tasks))],
    }


def _tasks_below(folder: Path) -> Iterator[Task]:
    """Yields the task of each file below a folder that is one.

    Raises:
        UsageError: there is no such folder.
    """
    from hisa.errors import UsageError
    from hisa.plugins.benchmarks.tasks.data_files import is_data_file
    from hisa.tasks.taskfile import load_task

    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder", fix="hisa bench coverage DIR")
    for path in sorted(folder.rglob("*")):
        is_task = path.suffix.lower() in (".json", ".yaml", ".yml") and path.is_file()
        if not is_task or is_data_file(path):
            continue
        try:
            yield load_task(path)
        except UsageError as error:
            say(f"left out: {error}", err=True)


def _of_public(name: str) -> dict[str, Any]:
    from hisa.plugins.benchmarks.tasks.public import domains, public_tasks
    from hisa.plugins.benchmarks.tasks.task_needs import count_pieces

    tasks = public_tasks(name)
    found = domains(tasks)
    every = sum(found.values(), Counter())
    return {
        "title": f"{len(tasks)} published tasks of {name}: {every['ours']} need ours alone, "
        f"{every['theirs']} a metric of OSWorld's package, {every['missing']} something that is "
        "missing",
        "tasks": len(tasks),
        "domains": found,
        "rows": [asdict(row) for row in count_pieces(task.pieces for task in tasks)],
    }


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    yield report["title"]
    for name, counts in report["domains"].items():
        cells = "".join(f"{counts[whose]:>6} {whose}" for whose in _MARKS)
        yield f"  {name:<24}{cells}"
    for row in report["rows"]:
        name = f"{_MARKS[row['source']]} {row['kind']:<8}{row['name']:<46}"
        yield f"  {name}{row['tasks']:>5} tasks {row['uses']:>6} uses  {row['lacks']}".rstrip()
