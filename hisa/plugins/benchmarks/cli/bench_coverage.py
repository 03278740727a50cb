"""``hisa bench coverage``: lists the pieces that published tasks need, and who provides each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from hisa.cli.out import json_option, print_json, say

if TYPE_CHECKING:
    from hisa.plugins.benchmarks.tasks.task_needs import Source

__all__ = ["coverage"]

_MARKS: Mapping[Source, str] = {"ours": "ours  ", "theirs": "theirs", "missing": "NO    "}


@click.command()
@click.option("--public", metavar="NAME", required=True, help="osworld or spider2v.")
@json_option
def coverage(public: str, as_json: bool) -> None:
    """List the setup steps, getters and metrics of published tasks, and who provides each.

    ours: HiSA has it; theirs: a metric of OSWorld's package, with the command that installs what
    is missing; NO: not available. "hisa bench tasks SUITE --left-out" says why a task of your own
    suite cannot be run.

    \b
    hisa bench coverage --public osworld
    """
    from hisa.plugins.benchmarks.tasks.public import domains, public_tasks
    from hisa.plugins.benchmarks.tasks.task_needs import count_pieces

    tasks = public_tasks(public)
    counts_by_domain = domains(tasks)
    rows = [asdict(row) for row in count_pieces(task.pieces for task in tasks)]
    if as_json:
        print_json({"tasks": len(tasks), "domains": counts_by_domain, "rows": rows})
        return
    every = sum(counts_by_domain.values(), Counter())
    say(
        f"{len(tasks)} published tasks of {public}: {every['ours']} need only HiSA, "
        f"{every['theirs']} a metric of OSWorld's package, {every['missing']} something that is "
        "missing"
    )
    for name, counts in counts_by_domain.items():
        cells = "".join(f"{counts[source]:>6} {source}" for source in _MARKS)
        say(f"  {name:<24}{cells}")
    for row in rows:
        name = f"{_MARKS[row['source']]} {row['kind']:<8}{row['name']:<46}"
        say(f"  {name}{row['tasks']:>5} tasks {row['uses']:>6} uses  {row['lacks']}".rstrip())
