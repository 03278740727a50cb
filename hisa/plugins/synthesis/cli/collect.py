"""``hisa data collect``: finished runs, graded."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import say, say_error
from hisa.errors import UsageError
from hisa.machine.storage import PRIVATE_FOLDER

if TYPE_CHECKING:
    from hisa.config import Settings
    from hisa.plugins.synthesis.data.collecting import Collection

__all__ = ["collect"]


@click.command()
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), metavar="DIR")
@click.option("--from", "sources", multiple=True, type=Path, metavar="DIR", help="Runs or benches.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="New grades, at most.")
@click.option("--unproved", is_flag=True, help="Keep runs that were cut off, too.")
@click.option("--judge", metavar="MODEL", help="Grades the runs; without one, rules do.")
@click.pass_context
def collect(ctx: click.Context, /, out: Path, **how: Any) -> int:
    """Take finished runs, and grade them from 1 to 5.

    Without --from, what DIR holds is graded. A grade tells how complete and coherent a run is; who
    gives it does not see the run's score. Goals of "hisa synth write --model" have no check:
    with --unproved their runs are kept whether they came to an end or not.

    \b
    hisa --set models.state.model=offline bench run own:pads/tasks --model reference --out pads/run
    hisa data collect --from pads/run -o collected
    hisa data collect --from benches/goals --unproved -o collected --judge gpt-5
    hisa data collect -o collected --judge gguf:coder-1.5b --limit 5

    The same command goes on where it was stopped. DIR gets runs.jsonl, grades.jsonl, and
    calls.jsonl (a judge's turns).

    Exit status: 0 all is graded; 1 stopped; 2 wrong usage; 3 some runs or grades are missing.
    """
    from hisa.plugins.synthesis.data.collecting import Collection
    from hisa.plugins.synthesis.exploration import run_alone

    out.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
    if missing := [folder for folder in how["sources"] if not folder.is_dir()]:
        raise UsageError(f"--from {missing[0]}: no such folder", fix="hisa bench run SUITE")

    async def work() -> int:
        return await _grade(Collection(out), how, _judged_by(ctx.obj, how["judge"]))

    if (status := run_alone(work, out / ".collect.lock")) is None:
        say_error("stopped; the same command goes on")
        return 1
    return status


def _judged_by(settings: Settings, model: str | None) -> Settings | None:
    """The settings with a judge, and no other model to be opened; None: rules judge."""
    if model is None:
        return None
    models = settings.models
    judge = (models.judge or models.planner).model_copy(update={"model": model})
    roles = models.model_copy(update={"planner": judge, "judge": judge, "state": judge})
    return settings.model_copy(update={"models": roles})


async def _grade(collection: Collection, how: dict[str, Any], judge: Settings | None) -> int:
    """Add finished runs, grade and print; the exit status."""
    collection.add_runs(how["sources"], unfinished=how["unproved"])
    if not collection.runs:
        raise UsageError(f"{collection.folder}: no finished runs", fix="--from DIR")
    grades = await collection.grade(judge, say_error, how["limit"])
    marks = Counter(grade.reward for grade in grades)
    say(f"{len(grades)} of {len(collection.runs)} runs graded by {how['judge'] or 'rules'}")
    say("  " + ", ".join(f"{marks[mark]} have {mark}" for mark in range(5, 0, -1)))
    for reason, count in collection.left_out.most_common():
        say(f"  {count} left out: {reason}")
    if collection.stopped:
        say_error(f"ended early: {collection.stopped}")
    failed = any(reason.startswith("no grade") for reason in collection.left_out)
    return 3 if collection.stopped or failed else 0
