"""Trajectories drawn by their rewards (OS-Genesis, algorithm 1, and the arms of 5.2)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

from hisa.errors import UsageError
from hisa.plugins.synthesis.data.trajectory_rewards import Grade

__all__ = ["How", "sample"]

How = Literal["reward", "all", "complete"]


def sample(grades: Sequence[Grade], count: int, how: How = "reward", *, seed: int) -> list[str]:
    """Returns so many ids of runs, drawn with replacement from grades of one judge.

    "reward" draws with P = R / sum R, so that nothing is dropped; "all" draws evenly; "complete"
    evenly from those with the full mark for completion. Raises: UsageError where nothing is left.
    """
    pool = sorted(grades, key=lambda grade: grade.run)
    pool = [grade for grade in pool if how != "complete" or grade.completion == 5]
    if not pool:
        raise UsageError(f"--sample {how}: no graded run to draw from", fix="--sample all")
    weights = [grade.reward if how == "reward" else 1 for grade in pool]
    return [one.run for one in random.Random(seed).choices(pool, weights, k=count)]
