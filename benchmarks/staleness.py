"""Asynchronous training under bounds on age, with and without importance weights.

    python -m benchmarks.staleness [--pages NAME,...] [--updates N] [--seeds N]

Workers play while a slow trainer updates: after each update it sleeps ``--slow`` seconds, as long
as an update of a larger model would take beside these rollouts. Each row: episodes a second that
were used, their age in updates by length in steps, and success: sampled, over the last quarter of
the updates. At the largest bound there is an arm without importance weights, which clips the ratio
to the policy that acted. Pages of MiniWoB++ are played, from scratch.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import torch

from benchmarks.machine import machine
from hisa.plugins.benchmarks.bench.stats import quantile
from hisa.plugins.training.curves import MetricsRow
from hisa.plugins.training.grpo import StepTraining
from hisa.plugins.training.page_rollouts import PageRollouts
from hisa.plugins.training.pointer_policy import PointerPolicy
from hisa.plugins.training.rollout_workers import RolloutWorkers
from hisa.plugins.training.training_folder import TrainingFolder
from hisa.plugins.training.training_settings import GrpoSettings

PAGES = "click-test-2,click-link,click-checkboxes"
"""A page of one click, one of many links, and one of several clicks: lengths differ."""


@dataclass
class Outcome:
    """One run: its rewards by update, and ages of its episodes by length, a power of two."""

    seconds: float = 0.0
    used: int = 0
    rewards: list[float] = field(default_factory=list)
    ages: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))


def run(options: argparse.Namespace, bound: int, seed: int, *, weighted: bool) -> Outcome:
    """One run in a folder of its own; the clock starts with the first batch."""
    pages, outcome, ended = options.pages.split(","), Outcome(), list[float]()
    settings = GrpoSettings(
        updates=options.updates,
        groups=options.groups,
        lr=1e-3,
        passes=1,
        seed=seed,
        evaluate_every=0,
        weighted=weighted,
    )

    def after(row: MetricsRow) -> None:
        if row.update:
            outcome.used += len(training.episodes) if ended else 0
            outcome.rewards.append(row.reward or 0.0)
            version = row.version - (row.loss is not None)  # that the update was made from
            for episode in training.episodes:
                least = 1 << (len(episode.samples).bit_length() - 1)
                outcome.ages[least].append(version - episode.version)
            ended.append(time.monotonic())
            print(f"\r{row.update}/{options.updates} {row.reward}", end="\033[K", file=sys.stderr)
            time.sleep(options.slow)

    with tempfile.TemporaryDirectory() as path:
        folder = TrainingFolder(Path(path), {})
        rollouts = partial(PageRollouts, pages, slots=options.wave)
        training = StepTraining(
            folder,
            PointerPolicy.fresh(seed),
            rollouts(),
            pages,
            settings,
            after,
            workers=RolloutWorkers(rollouts, options.workers, bound),
        )
        training.run()
        folder.close()
    outcome.seconds = ended[-1] - ended[0]
    return outcome


def row_of(name: str, outcomes: Sequence[Outcome]) -> str:
    """A line of the table, over the seeds."""
    rate = sum(o.used for o in outcomes) / sum(o.seconds for o in outcomes)
    cells = []
    for least in sorted({least for outcome in outcomes for least in outcome.ages}):
        ages = [age for outcome in outcomes for age in outcome.ages[least]]
        cells.append(
            f"{least}+: {statistics.fmean(ages):.1f}/{quantile(ages, 0.95):.0f} ({len(ages)})"
        )
    last = [o.rewards[-max(1, len(o.rewards) // 4) :] for o in outcomes]
    success = " ".join(f"{statistics.fmean(rewards):.2f}" for rewards in last)
    return f"| {name} | {rate:.1f} | {' '.join(cells)} | {success} |"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", default=PAGES)
    parser.add_argument("--bounds", default="0,1,4,16")
    numbers = {"updates": 40, "seeds": 1, "workers": 1, "wave": 24, "groups": 6}
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--slow", type=float, default=1.0, help="seconds added to each update")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(machine(), f"seeds 0 to {options.seeds - 1}; {vars(options)}", sep="\n")
    print("| bound | used/s | age mean/p95 (n) by steps | success by seed |")
    print("|---|---|---|---|", flush=True)
    bounds = [int(bound) for bound in options.bounds.split(",")]
    for bound in bounds:
        for weighted in (True, False) if bound == max(bounds) else (True,):
            outcomes = [run(options, bound, s, weighted=weighted) for s in range(options.seeds)]
            print(row_of(f"{bound}{'' if weighted else ', no weights'}", outcomes), flush=True)


if __name__ == "__main__":
    main()
