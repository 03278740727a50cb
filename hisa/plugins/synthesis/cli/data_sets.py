"""``hisa data``: collects, grades and compresses runs; evaluates and exports their steps."""

from __future__ import annotations

import random
import re
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import say, say_error
from hisa.errors import UsageError
from hisa.machine.storage import PRIVATE_FOLDER
from hisa.plugins.synthesis.cli.synth import with_model

if TYPE_CHECKING:
    from hisa.config import Settings
    from hisa.plugins.synthesis.data.trajectory_rewards import Collection

__all__ = ["collect", "compress", "data"]

_FOLDER = click.argument("folder", metavar="DIR", type=Path)
_STEPS = click.Choice(("planning", "action", "sequence"))
_DRAWS = click.Choice(("reward", "all", "complete"))


@click.group()
def data() -> None:
    """Collect, grade and compress runs, and export their steps as training data.

    Each step with a thought is a sample: its picture, visible elements, thought and action. Steps
    that replay as one ("hisa data compress") are merged. Steps that hold a secret or contradict
    themselves are left out.

    \b
    hisa data collect --from benches/pads -o collected
    hisa data compress collected
    hisa data export collected -o rows --licence MIT
    """


@data.command()
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", type=Path)
@click.option("-o", "out", required=True, metavar="ROWS", type=Path)
@click.option("--licence", required=True, metavar="NAME", help="Licence of the tasks: CC-BY-4.0, …")
@click.option("--objective", "only", multiple=True, type=_STEPS, help="Repeatable (default: all).")
@click.option(
    "--sample", "draw", type=_DRAWS, help="Sample runs by DIR/grades.jsonl (default: each once)."
)
@click.option(
    "--judge", default="rules", metavar="NAME", help="Use the grades of this judge (rules)."
)
@click.option("--seed", type=int, default=0, help="Seed of the sampling (0).")
def export(folders: tuple[Path, ...], out: Path, only: tuple[str, ...], **options: Any) -> None:
    """Write the samples to ROWS/train.parquet, each row with its licence and provenance.

    \b
    hisa data export collected -o rows --licence MIT --objective planning --objective action
    python -c "import datasets; print(datasets.load_dataset('parquet', data_dir='rows'))"
    \f

    Args:
        folders: run folders, folders of runs, benches or collections.
        out: folder to write to.
        only: the objectives; empty: all.
        options: further arguments of `read_samples`.
    """
    from hisa.plugins.synthesis.data.sample_set import export_rows, read_samples

    sample_set = read_samples(folders, **options)
    say(export_rows(sample_set, out, only))
    say(f"{len(sample_set.samples)} samples")
    for reason, count in (+sample_set.left_out).most_common():
        say(f"  {count:4} left out: {reason}")


@data.command("eval")
@_FOLDER
@click.option("--model", metavar="NAME", required=True, help="Predicts the next steps.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Draw N steps (default: all).")
@click.pass_context
def evaluate(ctx: click.Context, /, folder: Path, model: str, limit: int | None) -> None:
    """Ask a model for the steps of the runs in DIR, and score them: right type, fully right.

    The model gets each step as exported (planning), and the form of an answer. Its replies go to
    DIR/predictions-MODEL.jsonl; the same command continues where it stopped. A point is right
    inside the element's box or, without a box, within 14% of the picture's width.

    \b
    hisa data eval collected --model gguf:coder-0.5b --limit 20

    Exit status: 0 scored; 2 wrong usage; 3 the model ended early; 130 stopped.
    \f

    Args:
        ctx: of the command; its object is the settings.
        folder: of the runs; the replies are written there.
        model: name of the model.
        limit: most steps, drawn with a fixed seed; None: all.
    """
    from hisa.plugins.synthesis.data.sample_set import read_samples
    from hisa.plugins.synthesis.data.set_measures import accuracy, predict
    from hisa.plugins.synthesis.exploration import run_alone

    sample_set = read_samples([folder])
    chosen = random.Random(0).sample(sample_set.samples, len(sample_set.samples))[:limit]
    name = re.sub(r"[^\w.]+", "-", f"predictions-{model}")
    settings, path = with_model(ctx.obj, model), folder / f"{name}.jsonl"
    work = partial(predict, sample_set, chosen, settings, path, say_error)
    predictions = run_alone(work, folder / f".{name}.lock")
    if predictions is None:
        raise click.Abort
    say(f"{len(chosen)} of {len(sample_set.samples)} steps predicted: {path}")
    for name, share in accuracy(chosen, predictions).items():
        say(f"  {name}: {share}")


_PLACE = click.Path(path_type=Path)


@data.command()
@click.argument("folder", metavar="DIR", type=_PLACE)
@click.option("-o", "--out", metavar="DIR", type=_PLACE, help="Output folder (default: DIR).")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Most runs in this call.")
def compress(folder: Path, out: Path | None, limit: int | None) -> int:
    """Merge actions that need no look in between into sequences, for the runs in DIR.

    DIR is a bench, a folder of runs, or the output of "hisa data collect". Two actions are merged
    if the first changes little on the screen and nothing of the second's target. The compressed
    run is then replayed on a fresh machine, with all places of a sequence found on the look before
    it; a run that does not end in the same state is marked and not learned from. Runs are written
    to compressed.jsonl one by one; the same command continues where it stopped.

    \b
    hisa data compress collected
    hisa data compress benches/miniwob -o sequences

    Exit status: 0 all are done; 1 stopped; 3 a machine broke, and its run is still to do.
    """
    from hisa.errors import UsageError
    from hisa.plugins.synthesis.data.compression import CompressedRun, compress_all, summary
    from hisa.plugins.synthesis.data.trajectories import read_trajectories
    from hisa.plugins.synthesis.exploration import read_records, run_alone

    trajectories, unusable = read_trajectories([folder])
    if not trajectories:
        raise UsageError(f"{folder}: no finished run: {dict(unusable) or 'the folder is empty'}")
    out = out or folder
    out.mkdir(parents=True, exist_ok=True)
    runs: list[CompressedRun] = []

    async def work() -> bool:
        runs.extend(read_records(out / "compressed.jsonl", CompressedRun))
        finished_ids = {run.run for run in runs}
        left = [trajectory for trajectory in trajectories if trajectory.id not in finished_ids][
            :limit
        ]
        return await compress_all(left, runs, out, say_error) > 0

    if (broken := run_alone(work, out / ".compress.lock")) is None:
        say_error("stopped: unfinished work is lost; the same command continues")
    for name, number in (summary(runs) | {"left": len(trajectories) - len(runs)}).items():
        counts = number.items() if isinstance(number, dict) else ()
        words = ", ".join(f"{count} × {key}" for key, count in counts) or number or 0
        say(f"{name.replace('_', ' ')}: {words}")
    return {None: 1, True: 3, False: 0}[broken]


@data.command()
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), metavar="DIR")
@click.option("--from", "sources", multiple=True, type=Path, metavar="DIR", help="Runs or benches.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Most new grades.")
@click.option("--unproved", is_flag=True, help="Also keep runs that were cut off.")
@click.option("--judge", metavar="MODEL", help="Grades the runs; without one, rules do.")
@click.pass_context
def collect(ctx: click.Context, /, out: Path, **options: Any) -> int:
    """Collect finished runs, and grade them from 1 to 5.

    Without --from, the runs already in DIR are graded. A grade says how complete and coherent a
    run is; the judge does not see the run's score. Goals of "hisa synth write --model" have no
    check: with --unproved their runs are kept even if they were cut off.

    \b
    hisa --set models.state.model=offline bench run own:pads/tasks --model reference --out pads/run
    hisa data collect --from pads/run -o collected
    hisa data collect --from benches/goals --unproved -o collected --judge gpt-5
    hisa data collect -o collected --judge gguf:coder-1.5b --limit 5

    The same command continues where it stopped. DIR gets runs.jsonl, grades.jsonl, and
    calls.jsonl (the judge's model calls).

    Exit status: 0 all are graded; 1 stopped; 2 wrong usage; 3 some runs or grades are missing.
    """
    from hisa.plugins.synthesis.data.trajectory_rewards import Collection
    from hisa.plugins.synthesis.exploration import run_alone

    out.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
    if missing := [folder for folder in options["sources"] if not folder.is_dir()]:
        raise UsageError(f"--from {missing[0]}: no such folder", fix="hisa bench run SUITE")

    async def work() -> int:
        return await _grade(Collection(out), options, _judge_settings(ctx.obj, options["judge"]))

    if (status := run_alone(work, out / ".collect.lock")) is None:
        say_error("stopped; the same command continues")
        return 1
    return status


def _judge_settings(settings: Settings, model: str | None) -> Settings | None:
    """Returns settings in which every role has the judge's model; None: rules judge."""
    if model is None:
        return None
    models = settings.models
    judge = (models.judge or models.planner).model_copy(update={"model": model})
    roles = models.model_copy(update={"planner": judge, "judge": judge, "state": judge})
    return settings.model_copy(update={"models": roles})


async def _grade(collection: Collection, options: dict[str, Any], judge: Settings | None) -> int:
    """Adds finished runs, grades all and prints the grades; returns the exit status."""
    collection.add_runs(options["sources"], unfinished=options["unproved"])
    if not collection.runs:
        raise UsageError(f"{collection.folder}: no finished runs", fix="--from DIR")
    grades = await collection.grade(judge, say_error, options["limit"])
    marks = Counter(grade.reward for grade in grades)
    say(f"{len(grades)} of {len(collection.runs)} runs graded by {options['judge'] or 'rules'}")
    say("  " + ", ".join(f"{marks[mark]} with grade {mark}" for mark in range(5, 0, -1)))
    for reason, count in collection.left_out.most_common():
        say(f"  {count} left out: {reason}")
    if collection.stopped:
        say_error(f"ended early: {collection.stopped}")
    failed = any(reason.startswith("no grade") for reason in collection.left_out)
    return 3 if collection.stopped or failed else 0
