"""Draws of trajectories by their rewards (OS-Genesis, algorithm 1, and the arms of 5.2)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal, get_args

from hisa.errors import UsageError
from hisa.plugins.synthesis.data.trajectory_rewards import Grade

__all__ = ["COMPLETE", "How", "sample"]

How = Literal["reward", "all", "complete"]
COMPLETE = 5
"""The completion from which a run counts as complete: a labeller keeps it, and drops the others."""


def sample(grades: Sequence[Grade], count: int, *, how: How = "reward", seed: int) -> list[str]:
    """Returns ids of runs, drawn with replacement.

    Args:
        grades: of one judge, one a run.
        count: draws.
        how: "reward" draws with P = R / sum R, so that nothing is dropped; "all" draws evenly;
            "complete" draws evenly from those with the full mark for completion.
        seed: the same draws come again with the same grades, in any order.

    Raises:
        UsageError: there is nothing to draw from, or ``how`` is none of the three.
    """
    if how not in get_args(How):
        raise UsageError(f"sampling {how!r}: allowed are {', '.join(get_args(How))}")
    if len({(grade.run, grade.judge) for grade in grades}) < len(grades):
        raise UsageError("a run has two grades of one judge")
    if len({grade.judge for grade in grades}) > 1:
        raise UsageError("grades of several judges", fix="draw from those of one")
    drawn_from = sorted(grades, key=lambda grade: grade.run)
    if how == "complete":
        drawn_from = [grade for grade in drawn_from if grade.completion >= COMPLETE]
    if not drawn_from:
        complete = " that is complete" * (how == "complete")
        raise UsageError(f"no graded run{complete} to draw from", fix="--sample reward")
    weights = [grade.reward if how == "reward" else 1 for grade in drawn_from]
    draws = random.Random(seed).choices(drawn_from, weights, k=count)
    return [grade.run for grade in draws]
