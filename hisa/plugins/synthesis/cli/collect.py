"""``hisa data collect``: runs of a suite, or runs that are there, graded."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import click

from hisa.cli.out import json_option, print_json, say, say_error
from hisa.errors import UsageError
from hisa.machine.storage import PRIVATE_FOLDER

__all__ = ["collect"]


@click.command()
@click.argument("suite", required=False)
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), metavar="DIR")
@click.option("--from", "sources", multiple=True, type=Path, metavar="DIR", help="Runs or benches.")
@click.option("--model", metavar="NAME", help="The planner's model, as for hisa bench run.")
@click.option("--workers", type=click.IntRange(1), default=1, metavar="N", help="At once; 1.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Tasks, and new grades.")
@click.option("--unproved", is_flag=True, help="Keep runs that were cut off, too.")
@click.option("--judge", metavar="MODEL", help="Grades the runs; without one, rules do.")
@json_option
@click.pass_context
def collect(ctx: click.Context, /, suite: str | None, out: Path, **how: Any) -> int:
    """Run SUITE with any planner, and grade finished runs from 1 to 5.

    SUITE is what "hisa bench run" takes. Without it and without --from, what DIR holds is graded.
    --model reference plays the references of proved tasks. A grade tells how complete and coherent
    a run is; who gives it does not see the run's score. Goals of "hisa synth write --goal broad"
    have no check: with --unproved their runs are kept whether they came to an end or not.

    \b
    hisa data collect own:pads/tasks --model reference -o collected
    hisa data collect --from benches/miniwob -o collected
    hisa data collect own:pads/goals --unproved --model gpt-5 -o collected
    hisa data collect -o collected --judge gguf:coder-1.5b --limit 5

    The same command goes on where it was stopped. DIR gets runs.jsonl, grades.jsonl, calls.jsonl
    (a judge's turns) and benches/.

    Exit status: 0 all is graded; 1 stopped; 2 wrong usage; 3 some runs or grades are missing.
    """
    from hisa.plugins.synthesis.exploration import working_in

    out.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with working_in(out / ".collect.lock"):
            status = _bench(ctx, suite, out, how) if suite else 0
            return status if status in (1, 2) else _grade(ctx, out, how) or status
    except KeyboardInterrupt:
        say_error("stopped; the same command goes on")
        return 1
    finally:
        signal.signal(signal.SIGTERM, before)


def _bench(ctx: click.Context, suite: str, out: Path, how: dict[str, Any]) -> int:
    """Run a bench of the suite below DIR in a process of its own; its exit status."""
    file, assignments = ctx.meta["hisa.settings"]
    model, limit = how["model"] or ctx.obj.models.planner.model, how["limit"]
    state = ["models.state.model=offline"] * (model == "reference")  # it has no words for results
    hisa = [sys.executable, "-m", "hisa", *(["--config", str(file)] if file else [])]
    hisa += [word for assignment in (*state, *assignments) for word in ("--set", assignment)]
    name = re.sub(r"[^\w.]+", "-", f"{suite} {model} {limit or ''}".strip())
    options = ["--model", model, "--workers", str(how["workers"])]
    if limit:
        listed = subprocess.run([*hisa, "bench", "tasks", suite, "--json"], stdout=-1, check=False)
        if listed.returncode:
            return listed.returncode
        tasks = json.loads(listed.stdout)["tasks"][:limit]
        options += [word for task in tasks for word in ("--task", task["id"])]
    command = [*hisa, "bench", "run", suite, "--out", str(out / "benches" / name), *options]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=2, process_group=0)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:  # it puts its desktops away
            process.send_signal(signal.SIGINT)


def _grade(ctx: click.Context, out: Path, how: dict[str, Any]) -> int:
    """Add finished runs, grade and print; the exit status."""
    from hisa.plugins.synthesis.data.collecting import Collection
    from hisa.plugins.synthesis.writing import WriterSettings

    if missing := [folder for folder in how["sources"] if not folder.is_dir()]:
        raise UsageError(f"--from {missing[0]}: no such folder", fix="hisa bench run SUITE")
    collection, settings = Collection(out), None
    collection.add_runs([*how["sources"], *out.glob("benches/*/")], unfinished=how["unproved"])
    if not collection.runs:
        raise UsageError(f"{out}: no finished runs", fix="--from DIR, or a SUITE")
    if how["judge"]:  # no other model is opened
        models = ctx.obj.models
        judge = (models.judge or models.planner).model_copy(update={"model": how["judge"]})
        roles = models.model_copy(update={"planner": judge, "judge": judge, "state": judge})
        settings = WriterSettings(roles, ctx.obj.planner, ctx.obj.run)
    grades = asyncio.run(collection.grade(settings, say_error, how["limit"]))
    marks = Counter(grade.reward for grade in grades)
    if how["as_json"]:
        counts = {"runs": len(collection.runs), "graded": len(grades), "rewards": marks}
        print_json(counts | {"left_out": collection.left_out, "stopped": collection.stopped})
    else:
        say(f"{len(grades)} of {len(collection.runs)} runs graded by {how['judge'] or 'rules'}")
        say("  " + ", ".join(f"{marks[mark]} have {mark}" for mark in range(5, 0, -1)))
        for reason, count in collection.left_out.most_common():
            say(f"  {count} left out: {reason}")
    if collection.stopped:
        say_error(f"ended early: {collection.stopped}")
    failed = any(reason.startswith("no grade") for reason in collection.left_out)
    return 3 if collection.stopped or failed else 0
