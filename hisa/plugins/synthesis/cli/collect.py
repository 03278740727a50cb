"""``hisa data collect``: runs of a suite, or runs that are there, graded."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import json_option, print_json, say, say_error
from hisa.errors import UsageError
from hisa.machine.storage import replace_file

if TYPE_CHECKING:
    from hisa.config import Settings
    from hisa.plugins.synthesis.data.collecting import Collection
    from hisa.plugins.synthesis.data.trajectory_rewards import Grade

__all__ = ["collect"]

_FROM = "A finished run, a folder of runs, or a bench; again for more."
_SAMPLE = "Draw runs into DIR/sample.jsonl: by reward, evenly from all, from complete ones alone."


@click.command()
@click.argument("suite", required=False)
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), metavar="DIR")
@click.option("--from", "sources", multiple=True, type=click.Path(path_type=Path), help=_FROM)
@click.option("--model", metavar="NAME", help="The planner's model, as for hisa bench run.")
@click.option("--workers", type=click.IntRange(1), default=1, metavar="N", help="At once; 1.")
@click.option(
    "--limit", type=click.IntRange(1), metavar="N", help="Tasks of SUITE, and new grades."
)
@click.option("--judge", metavar="MODEL", help="Grades the runs; without one, rules do.")
@click.option("--sample", type=click.Choice(["reward", "all", "complete"]), help=_SAMPLE)
@click.option("--count", type=click.IntRange(1), metavar="N", help="Draws; as many as grades.")
@click.option("--seed", type=int, default=0, help="Of the draws (0).")
@json_option
@click.pass_context
def collect(ctx: click.Context, /, suite: str | None, out: Path, **how: Any) -> int:
    """Run SUITE with any planner, and grade every finished run from 1 to 5.

    SUITE is what "hisa bench run" takes. --from takes runs that are there. Without both, what DIR
    holds is graded. --model reference plays the references of proved tasks. A grade tells how
    complete and coherent a run is; who gives it does not see the run's score.

    \b
    hisa data collect own:pads/tasks --model reference -o collected
    hisa data collect miniwob:click-test,login-user --workers 2 -o collected
    hisa data collect --from benches/miniwob -o collected
    hisa data collect -o collected --judge gguf:coder-1.5b --limit 5
    hisa data collect -o collected --sample reward --count 200

    The same command goes on where it was stopped. DIR gets runs.jsonl, grades.jsonl, calls.jsonl
    (a judge's turns), and benches/.

    Exit status: 0 all is graded; 1 stopped; 2 wrong usage; 3 some runs or grades are missing.
    """
    from hisa.plugins.synthesis.data.collecting import Collection

    for source in how["sources"]:
        if not source.is_dir():
            raise UsageError(f"--from {source}: no such folder", fix="hisa runs ls")
    collection = Collection(out)
    try:
        status = _run_suite(ctx, collection, suite, how) if suite else 0
        if status in (1, 2):
            return status
        return _grade(ctx.obj, collection, how) or status
    except KeyboardInterrupt:
        say_error("stopped; the same command goes on")
        return 1
    finally:
        collection.close()


def _run_suite(ctx: click.Context, collection: Collection, suite: str, how: dict[str, Any]) -> int:
    """Run a bench of the suite below DIR and add its runs; returns its exit status."""
    from hisa.plugins.synthesis.data.collecting import run_hisa

    file, assignments = ctx.meta["hisa.settings"]
    model, limit = how["model"], how["limit"]
    before = ["--config", str(file)] if file else []
    for assignment in assignments:
        before += ["--set", assignment]
    if model == "reference" and not any(a.startswith("models.state.") for a in assignments):
        before += ["--set", "models.state.model=offline"]  # a reference has no words for results
    parts = [suite, model or ctx.obj.models.planner.model, f"first-{limit}" if limit else ""]
    name = "-".join(re.sub(r"[^\w.]+", "-", part).strip("-") for part in parts if part)
    bench = collection.folder / "benches" / name
    options = ["--out", str(bench), "--workers", str(how["workers"])]
    options += ["--model", model] if model else []
    for task in _first_tasks(before, suite, limit) if limit else []:
        options += ["--task", task]
    options += ["--json"] if how["as_json"] else []
    status = run_hisa([*before, "bench", "run", suite, *options], quiet=how["as_json"])
    if (bench / "bench.json").is_file():
        collection.add_runs([bench])
    return status


def _first_tasks(before: list[str], suite: str, limit: int) -> list[str]:
    """The ids of a suite's first tasks.

    Raises:
        UsageError: there is no such suite, or nothing in it can be run here.
    """
    command = [sys.executable, "-m", "hisa", *before, "bench", "tasks", suite, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UsageError(done.stderr.strip()[-500:] or f"{suite}: no tasks")
    tasks = [str(task["id"]) for task in json.loads(done.stdout)["tasks"]][:limit]
    if not tasks:
        raise UsageError(f"{suite}: nothing to run", fix=f"hisa bench tasks {suite} --left-out")
    return tasks


def _grade(settings: Settings, collection: Collection, how: dict[str, Any]) -> int:
    """Add the runs of --from, grade, draw and print; returns the exit status."""
    collection.add_runs(how["sources"])
    if not collection.runs:
        for reason, count in collection.left_out.most_common():
            say_error(f"  {count} left out: {reason}")
        raise UsageError(f"{collection.folder}: no finished runs", fix="--from DIR, or a SUITE")
    quiet = (lambda _: None) if how["as_json"] else say_error
    judge = _judged_by(settings, how["judge"]) if how["judge"] else None
    name, grades = asyncio.run(collection.grade(judge, say=quiet, limit=how["limit"]))
    drawn = _draw(collection.folder, grades, how) if how["sample"] else None
    marks = Counter(grade.reward for grade in grades)
    summary = {
        "folder": str(collection.folder), "runs": len(collection.runs), "judge": name,
        "graded": len(grades), "rewards": {mark: marks[mark] for mark in range(5, 0, -1)},
        "left_out": collection.left_out, "no_grade": collection.failed,
        "stopped": collection.stopped, "drawn": drawn,
    }  # fmt: skip
    print_json(summary) if how["as_json"] else _say(summary)
    return 3 if collection.stopped or collection.failed else 0


def _judged_by(settings: Settings, name: str) -> Settings:
    """The settings with a judge, and with no other model to open."""
    own = settings.models.judge or settings.models.planner
    judge = own.model_copy(update={"model": name})
    roles = {"planner": judge, "judge": judge, "state": None, "grounder": None}
    models = settings.models.model_copy(update=roles)
    return settings.model_copy(update={"models": models})


def _draw(folder: Path, grades: list[Grade], how: dict[str, Any]) -> int:
    """Write the drawn runs, one a line, as often as they were drawn; returns the draws."""
    from hisa.plugins.synthesis.data.reward_sampling import sample

    count = how["count"] or len(grades)
    runs = sample(grades, count, how=how["sample"], seed=how["seed"])
    lines = [json.dumps({"run": run}) + "\n" for run in runs]
    replace_file(folder / "sample.jsonl", "".join(lines).encode())
    return count


def _say(summary: dict[str, Any]) -> None:
    say(f"{summary['graded']} of {summary['runs']} runs graded by {summary['judge']}")
    for mark, count in summary["rewards"].items():
        say(f"  {mark}: {count:4}")
    for title, name in (("left out", "left_out"), ("no grade", "no_grade")):
        for reason, count in summary[name].most_common():
            say(f"  {count} {title}: {reason}")
    if summary["stopped"]:
        say(f"ended early: {summary['stopped']}")
    if summary["drawn"]:
        say(f"{summary['drawn']} draws in {summary['folder']}/sample.jsonl")
