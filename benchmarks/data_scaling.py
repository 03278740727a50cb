"""Cloning on parts of a collected set, by each way of drawing trajectories (OS-Genesis, 5.2, 5.3).

    hisa bench run miniwob --task click-button --task click-link --repeat 5 --out RUNS
    hisa data collect --from RUNS -o DIR
    python -m benchmarks.data_scaling DIR [--seeds 1 2 3] [--instances 40] [--judge rules]

The runs of DIR that the pointer policy can read are the pool. For each seed, 25, 50 and 100% of it
are drawn without replacement; of such a part as many trajectories as it has are drawn with
replacement: by reward, all alike, or of the complete ones alone. A fresh policy is cloned on their
steps, the wrong ones included, and plays instances of the same pages that no run had, greedily, by
page events. A row has the share solved over seeds, with Wilson's interval, and that of each seed.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from benchmarks.machine import machine
from benchmarks.recorded_episodes import recorded_episode
from hisa.errors import HisaError, UsageError
from hisa.plugins.benchmarks.bench.stats import wilson
from hisa.plugins.synthesis.data.trajectories import CollectedRun
from hisa.plugins.synthesis.data.trajectory_rewards import DrawMethod, draw_runs, read_grades
from hisa.plugins.synthesis.exploration import read_records
from hisa.plugins.training.grpo import evaluate, evaluation_draws
from hisa.plugins.training.page_rollouts import PageRollouts
from hisa.plugins.training.pointer_policy import PointerPolicy
from hisa.plugins.training.sft import clone
from hisa.plugins.training.training_settings import CloningSettings

if TYPE_CHECKING:
    from hisa.plugins.training.base import Episode

HELD_OUT = 1_000_000
PARTS = (0.25, 0.5, 1.0)
WAYS: tuple[DrawMethod, ...] = ("reward", "all", "complete")


def readable(folder: Path) -> tuple[dict[str, Episode], Counter[str]]:
    """The episode of each run that the policy can read; the others counted by their reason."""
    episodes: dict[str, Episode] = {}
    left_out: Counter[str] = Counter()
    for run in read_records(folder / "runs.jsonl", CollectedRun):
        try:
            episodes[run.run] = recorded_episode(Path(run.folder))
        except (HisaError, ValueError, OSError) as error:
            left_out[str(error) if isinstance(error, UsageError) else "it is damaged"] += 1
    return {run: episode for run, episode in episodes.items() if episode.samples}, left_out


def clone_policy(episodes: list[Episode], seed: int) -> PointerPolicy:
    """A fresh policy after cloning of these, in the order they were drawn."""
    policy = PointerPolicy.fresh(seed)
    steps = [step for episode in episodes for step in episode.samples]
    clone(policy, steps, CloningSettings(seed=seed))
    return policy


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--instances", type=int, default=40, help="held out, of each page")
    parser.add_argument("--judge", default="rules")
    options = parser.parse_args()
    torch.set_num_threads(1)
    episodes, left_out = readable(options.folder)
    pages = sorted({episode.draw.task for episode in episodes.values()})
    solved = sum(episode.solved for episode in episodes.values())
    print(
        machine(),
        f"{len(episodes)} runs of {len(pages)} pages, {solved} of them solved; "
        f"left out: {dict(left_out)}; {', '.join(pages)}",
        sep="\n",
    )
    grades = [
        grade for grade in read_grades(options.folder, options.judge) if grade.run in episodes
    ]
    rollouts = PageRollouts(pages)
    draws = evaluation_draws(pages, options.instances, HELD_OUT)

    def play_held_out(policy: PointerPolicy) -> list[bool]:
        return [won for wins in evaluate(rollouts, policy, draws).values() for won in wins]

    def show(part: str, way: str, wins: list[list[bool]]) -> None:
        every = [won for of_seed in wins for won in of_seed]
        low, high = wilson(sum(every), len(every))
        seeds = " ".join(f"{sum(won) / len(won):.2f}" for won in wins)
        share = f"{sum(every) / len(every):.2f} ({low:.2f} to {high:.2f}), {len(every)}"
        print(f"| {part} | {way} | {share} | {seeds} |", flush=True)

    print("| part | sampling | solved, of held-out instances | by seed |\n|---|---|---|---|")
    try:
        show(
            "none",
            "untrained",
            [play_held_out(PointerPolicy.fresh(seed)) for seed in options.seeds],
        )
        for part in PARTS:
            for way in WAYS:
                wins = []
                for seed in options.seeds:
                    count = max(1, round(part * len(grades)))
                    pool = random.Random(seed).sample(grades, count)
                    chosen = draw_runs(pool, count, way, seed=seed)
                    wins.append(
                        play_held_out(clone_policy([episodes[run] for run in chosen], seed))
                    )
                show(f"{part:.0%}", way, wins)
    finally:
        rollouts.close()


if __name__ == "__main__":
    main()
