"""Diversity of proved tasks beside OS-Genesis' references and sets by people (4.1, 5.1).

    python -m benchmarks.data_diversity pads cells -o OUT --runs collected/benches/* \
        MiniWoB++=benches/miniwob --suite Spider2-V=spider2v:DIR OSWorld=osworld:DIR

Each folder is an exploration with proved tasks. For each a model writes tasks in the paper's other
two ways, without acts: task-driven, from first screens; self-instruct, with three of those drawn as
examples. OUT keeps them, and the same command goes on. A row has --count distinct instructions, or
fewer, drawn by --seed, evenly from the applications; suites and runs with a name are rows too.
Actions are the thoughts of acts in runs that solved a task of the set.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from statistics import fmean

from benchmarks.machine import machine
from hisa.cli.out import say_error
from hisa.config import Settings, load
from hisa.patterns.embedders import open_embedder
from hisa.plugins.benchmarks.bench.suites import read_suite
from hisa.plugins.synthesis.data.trajectories import Trajectory, read_trajectories
from hisa.plugins.synthesis.exploration import read_records
from hisa.plugins.synthesis.model_instructions import REFERENCES
from hisa.plugins.synthesis.records import Instruction
from hisa.plugins.synthesis.task_writing import Wish, write_all
from hisa.protocols import Embedder
from hisa.tasks.taskfile import load_task

_RESAMPLES, _BATCH, _REPLY = 1_000, 5, b'"reply":"'  # of calls.jsonl, whose texts escape quotes
_EMBEDDED = 5_000  # texts, the first ones: some 100 s on one processor
_SEEN = ("subject.json", "states.jsonl", "triples.jsonl", "images", "elements")
_HEAD = "set | tasks | distance of instructions | words | solved | distance of actions | acts"
Pools = Sequence[Sequence[str]]


def read_instructions(out: Path, way: str) -> list[str]:
    """The tasks that were written in one way."""
    records = read_records(out / "instructions.jsonl", Instruction)
    return [record.high for record in records if record.way == way]


def write(settings: Settings, folder: Path, out: Path, count: int, seed: int) -> str:
    """Write what is missing, on links to what was explored; returns what of it all was kept."""
    out.mkdir(parents=True, exist_ok=True)
    for name in (name for name in _SEEN if not (out / name).exists()):
        (out / name).symlink_to((folder / name).resolve())
    (calls := out / "calls.jsonl").touch(0o600)
    if any(len(read_instructions(out, way)) < count for way in REFERENCES):
        wish = Wish(limit=0, references=count, seed=seed + calls.read_bytes().count(_REPLY))
        written = asyncio.run(write_all(settings, out, wish, say_error))
        say_error(f"{folder.name}: {written.stopped or 'written'}")
    total = sum(len(read_instructions(out, way)) for way in REFERENCES)
    return f"{folder.name} {total} of {_BATCH * calls.read_bytes().count(_REPLY)}"


def evenly(pools: Pools, count: int, seed: int) -> list[str]:
    """So many distinct texts, of each pool in turn, each pool in an order drawn by the seed."""
    orders = [
        random.Random(seed).sample(texts := [*dict.fromkeys(pool)], len(texts)) for pool in pools
    ]
    turns = (text for turn in zip_longest(*orders) for text in turn if text is not None)
    return list(dict.fromkeys(turns))[:count]


def mean_distance(texts: Sequence[str], embedder: Embedder) -> float | None:
    """The mean cosine distance of all pairs of texts, 0..2; None where there is no pair."""
    import numpy as np

    if (count := len(texts := texts[:_EMBEDDED])) < 2:
        return None
    total = np.array(embedder.embed(texts), np.float64).sum(axis=0)
    # Of unit vectors |sum v|^2 = n + 2 sum v_i v_j.
    return 1.0 - (float(total @ total) - count) / (count * (count - 1))


def distance(texts: Sequence[str], embedder: Embedder, seed: int) -> str:
    """The mean distance with its 95% bootstrap interval over texts; "-" for fewer than two.

    A resample's pairs of a text with itself lower its mean; n / (n - 1) takes that out again.
    """
    import numpy as np

    if (mean := mean_distance(texts, embedder)) is None:
        return "-"
    vectors, count = np.array(embedder.embed(texts)), len(texts)
    picks = np.random.default_rng(seed).integers(count, size=(_RESAMPLES, count))
    sums = (1 - vectors @ vectors.T)[picks[:, :, None], picks[:, None, :]].sum((1, 2))
    low, high = np.quantile(sums / (count - 1) ** 2, (0.025, 0.975))
    return f"{mean:.2f} ({low:.2f} to {high:.2f})"


def row(pools: Pools, runs: list[Trajectory], count: int, seed: int, embedder: Embedder) -> str:
    """The cells of a set that is in pools, all but its name."""
    texts, known = evenly(pools, count, seed), {text for pool in pools for text in pool}
    solved = [run for run in runs if run.success and run.instruction in known]
    acts = [step.thought for run in solved for step in run.steps if step.actions]
    words = f"{fmean(len(text.split()) for text in texts):.1f}" if texts else "-"
    among, cells = mean_distance(acts, embedder), f"{distance(texts, embedder, seed)} | {words}"
    steps = f"{among:.2f} | {len(acts) / len(solved):.1f}" if among is not None else "- | -"
    return f"{len(texts)} of {len(known)} | {cells} | {len(solved)} | {steps}"


def main() -> None:
    """Write what is not there yet, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--model", default="gguf:coder-1.5b")
    for name, number in (("--count", 50), ("--seed", 1)):
        parser.add_argument(name, type=int, default=number)
    for name in ("--runs", "--suite"):
        parser.add_argument(name, nargs="+", default=[], metavar="NAME=PLACE")
    options = parser.parse_args()
    settings = load(overrides={"models": {"planner": {"model": options.model}}})
    outs = {folder: options.out / folder.name for folder in options.folders}
    count, seed = -(-options.count // len(outs)), options.seed
    counts = [write(settings, folder, out, count, seed) for folder, out in outs.items()]
    sets = {way: [read_instructions(out, way) for out in outs.values()] for way in REFERENCES}
    suites = [("reverse", [f"own:{folder}/tasks" for folder in outs])]
    suites += [(text.partition("=")[0], [text.rpartition("=")[2]]) for text in options.suite]
    for name, names in suites:
        tasks = [read_suite(suite).tasks for suite in names]
        sets[name] = [[load_task(task.path).instruction for task in group] for group in tasks]
    runs: list[Trajectory] = []
    for name, _, folder in (text.rpartition("=") for text in options.runs):
        runs += (own := read_trajectories([Path(folder)])[0])
        sets |= {name: [[run.instruction for run in own]]} if name else {}
    by = open_embedder(settings.patterns.embedder)
    print(machine(), f"{options.model} kept, of lines asked for: {', '.join(counts)}", sep="\n")
    print(f"embedder {by.name}\n| {_HEAD} |\n|{'---|' * (_HEAD.count('|') + 1)}")
    for name, pools in sets.items():
        print(f"| {name} | {row(pools, runs, options.count, seed, by)} |")


if __name__ == "__main__":
    main()
