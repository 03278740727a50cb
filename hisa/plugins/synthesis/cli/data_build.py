"""``hisa data build``: a data set made of runs, checked, split and written."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import json_option, print_json, say
from hisa.errors import UsageError

if TYPE_CHECKING:
    from hisa.plugins.synthesis.data.set_folder import DataSet

__all__ = ["build"]

_DRAWS = click.Choice(("reward", "all", "complete"))


@click.command()
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", type=Path)
@click.option("-o", "out", required=True, metavar="SET", type=Path)
@click.option("--licence", required=True, metavar="NAME", help="Of the tasks: CC-BY-4.0, …")
@click.option("--test", type=click.FloatRange(0, 1), default=0.1, help="Share to test on (0.1).")
@click.option("--sample", "how", type=_DRAWS, help="Draw runs by DIR/grades.jsonl (each once).")
@click.option("--judge", default="rules", metavar="NAME", help="Whose grades (rules).")
@click.option("--seed", type=int, default=0, help="Of splits and draws (0).")
@json_option
def build(folders: tuple[Path, ...], out: Path, *, as_json: bool, **how: Any) -> None:
    """Build a data set of the runs in DIR...: folders of runs, benches, collections.

    A collection is what "hisa data collect" made; it has the grades that --sample draws by.
    Each step with a thought becomes a sample: its picture, visible elements, thought and action,
    with licence and provenance. Steps that replay as one (DIR/sequences.jsonl) are merged. Samples
    that hold a secret or disagree with themselves are left out, and counted.

    \b
    hisa data build bench/miniwob -o set --licence MIT --test 0.2
    hisa data build collected -o set --licence MIT --sample reward

    Exit status: 0 written; 2 there is nothing to build of, or splits would leak.
    """
    from hisa.plugins.synthesis.data.building import Builder
    from hisa.plugins.synthesis.data.compression import SequenceRecord
    from hisa.plugins.synthesis.data.sample_checks import check
    from hisa.plugins.synthesis.data.set_folder import SetRecord, write_set
    from hisa.plugins.synthesis.data.splits import assign, leaks
    from hisa.plugins.synthesis.data.trajectories import read_trajectories
    from hisa.plugins.synthesis.exploration import read_records
    from hisa.version import __version__

    trajectories, left_out = read_trajectories(folders)
    if not trajectories:
        raise UsageError(f"no finished run: {dict(left_out) or 'empty'}", fix="hisa runs ls")
    files = [folder / "sequences.jsonl" for folder in folders]
    sequences = [one for file in files for one in read_records(file, SequenceRecord)]
    builder = Builder(how["licence"], sequences, left_out)
    copies = _copies(folders, [trajectory.id for trajectory in trajectories], how)
    left_out.update("its run was not drawn" for t in trajectories if not copies[t.id])
    samples = [s for t in trajectories if copies[t.id] for s in builder.samples(t, copies[t.id])]
    problems = reversed([*check(samples)])  # the first of a sample counts
    bad = {problem.sample: f"{problem.kind}: {problem.detail}" for problem in problems}
    left_out.update(bad.values())
    good = [sample for sample in samples if sample.id not in bad]
    if not good:
        raise UsageError(f"no sample is left: {dict(left_out)}", fix="hisa runs ls")
    split = assign(good, how["test"], how["seed"])
    shared = {id_ for level, _, ids in leaks(split) if level == "step" for id_ in ids}
    kept = [sample for sample in split if sample.split == "train" or sample.id not in shared]
    left_out += Counter({"its step is in training too": len(split) - len(kept)})
    record = SetRecord(
        hisa=__version__,
        test=how["test"],
        seed=how["seed"],
        sampling=how["how"] or "",
        left_out=left_out,
    )
    written = write_set(out, record, kept, builder.images)
    _say(written, as_json=as_json)


def _copies(folders: tuple[Path, ...], runs: list[str], how: dict[str, Any]) -> Counter[str]:
    """Times that each run is drawn (OS-Genesis, algorithm 1); each once without ``--sample``."""
    from hisa.plugins.synthesis.data.collecting import read_grades
    from hisa.plugins.synthesis.data.trajectory_rewards import sample

    if how["how"] is None:
        return Counter(runs)
    every = [grade for folder in folders for grade in read_grades(folder, how["judge"])]
    grades = {grade.run: grade for grade in every if grade.run in runs}
    if lacking := len(set(runs) - set(grades)):
        message = f"{lacking} of {len(runs)} runs have no grade by {how['judge']!r}"
        raise UsageError(message, fix="hisa data collect …, or another --judge")
    return Counter(sample(list(grades.values()), len(runs), how=how["how"], seed=how["seed"]))


def _say(data: DataSet, *, as_json: bool) -> None:
    splits, left_out = Counter(sample.split for sample in data.samples), data.record.left_out
    if as_json:
        print_json({"set": str(data.folder), "samples": splits, "left_out": left_out})
        return
    shares = ", ".join(f"{count} {name}" for name, count in splits.most_common())
    say(f"{len(data.samples)} samples in {data.folder}: {shares}")
    for reason, count in Counter(left_out).most_common():
        say(f"  {count:4} left out: {reason}")
    if "test" not in splits:
        say("nothing is tested on: a larger --test, or another --seed")
    say(f"next:\n  hisa data show {data.folder}")
