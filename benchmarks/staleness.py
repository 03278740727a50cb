"""Asynchronous training under bounds on age, by admission and by discarding.

    python -m benchmarks.staleness [--toy] [--pages NAME,...] [--updates N] [--seeds N] [--ray]

Workers play while a slow trainer updates: after each update it sleeps ``--slow`` seconds, as long
as an update of a larger model would take beside these rollouts. Each row: episodes a second that
were used, age in updates of those by length in steps, what was thrown away, and success: sampled,
over the last quarter of the updates. At the largest bound there is an arm without importance
weights, which clips the ratio to the policy that acted. ``--toy`` plays `delayed_bandit`; else
pages of MiniWoB++, from scratch.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import torch

from benchmarks.delayed_bandit import LENGTHS, BanditPolicy, DelayedBandit
from benchmarks.machine import machine
from hisa.plugins.training.asynchronous import AsynchronousTraining, ages_by_length
from hisa.plugins.training.curve_metrics import MetricsRow
from hisa.plugins.training.episode_buffer import Taken, Terms
from hisa.plugins.training.page_rollouts import PageRollouts
from hisa.plugins.training.pointer_policy import PointerPolicy
from hisa.plugins.training.rollout_workers import Crew
from hisa.plugins.training.step_training import GrpoSettings
from hisa.plugins.training.training_folder import TrainingFolder

PAGES = "click-test-2,click-link,click-checkboxes"
"""A page of one click, one of many links, and one of several clicks: lengths differ."""


@dataclass
class Outcome:
    """One run."""

    seconds: float = 0.0
    batches: list[Taken] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)


def crew(options: argparse.Namespace) -> Crew:
    """The workers of a run."""
    if options.toy:
        return Crew(partial(DelayedBandit, 0.01), BanditPolicy, options.workers, options.wave)
    rollouts = partial(PageRollouts, options.pages.split(","), slots=options.wave)
    return Crew(rollouts, partial(PointerPolicy.fresh, 0), options.workers, options.wave)


def run(options: argparse.Namespace, terms: Terms, seed: int, *, weighted: bool) -> Outcome:
    """One run in a folder of its own; the clock starts with the first batch."""
    lr = 0.05 if options.toy else 1e-3
    settings = GrpoSettings(
        updates=options.updates,
        groups=terms.batch,
        group_size=8,
        lr=lr,
        passes=1,
        seed=seed,
        evaluate_every=0,
    )
    tasks = tuple(LENGTHS) if options.toy else tuple(options.pages.split(","))
    outcome, begun, workers = Outcome(), list[float](), crew(options)
    policy = BanditPolicy() if options.toy else PointerPolicy.fresh(seed)

    def after(row: MetricsRow) -> None:
        if training.taken is None:
            return
        outcome.batches.append(training.taken)
        outcome.rewards.append(row.reward or 0.0)
        outcome.counts = training.buffer.counts()
        begun.append(time.monotonic())
        print(f"\r{row.update}/{options.updates} {row.reward}", end="\033[K", file=sys.stderr)
        time.sleep(options.slow)

    with tempfile.TemporaryDirectory() as path:
        folder = TrainingFolder(Path(path), {})
        training = AsynchronousTraining(
            folder,
            policy,
            workers.rollouts(),
            tasks,
            settings,
            after,
            crew=workers,
            terms=terms,
            weighted=weighted,
            ray=options.ray,
        )
        training.run()
        folder.close()
    outcome.seconds = begun[-1] - begun[0]
    return outcome


def row_of(name: str, outcomes: Sequence[Outcome]) -> str:
    """A line of the table, over the seeds."""
    batches = [taken for outcome in outcomes for taken in outcome.batches]
    used = sum(len(taken.episodes) for o in outcomes for taken in o.batches[1:])
    rate = used / sum(o.seconds for o in outcomes)
    ages = " ".join(
        f"{least}+: {mean:.1f}/{p95} ({number})"
        for least, (mean, p95, number) in ages_by_length(batches).items()
    )
    thrown, held = (sum(o.counts.get(n, 0) for o in outcomes) for n in ("thrown", "held_back"))
    last = [o.rewards[-max(1, len(o.rewards) // 4) :] for o in outcomes]
    success = " ".join(f"{statistics.fmean(rewards):.2f}" for rewards in last)
    return f"| {name} | {rate:.1f} | {ages} | {thrown} | {held} | {success} |"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toy", action="store_true")
    parser.add_argument("--ray", action="store_true")
    parser.add_argument("--pages", default=PAGES)
    parser.add_argument("--bounds", default="0,1,4,16")
    numbers = {"updates": 40, "seeds": 1, "workers": 1, "wave": 24, "groups": 6}
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--slow", type=float, default=1.0, help="seconds added to each update")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(machine(), f"seeds 0 to {options.seeds - 1}; {vars(options)}", sep="\n")
    print("| bound | used/s | age mean/p95 (n) by steps | thrown | held back | success by seed |")
    print("|---|---|---|---|---|---|", flush=True)
    bounds = [int(bound) for bound in options.bounds.split(",")]
    for mode in ("admission", "discard"):
        for bound in bounds:
            for weighted in (True, False) if bound == max(bounds) else (True,):
                terms = Terms(options.groups, bound, mode)
                outcomes = [run(options, terms, s, weighted=weighted) for s in range(options.seeds)]
                name = f"{mode} {bound}{'' if weighted else ', no weights'}"
                print(row_of(name, outcomes), flush=True)


if __name__ == "__main__":
    main()
