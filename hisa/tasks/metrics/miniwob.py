"""The metric over what a page of MiniWoB++ gave."""

from __future__ import annotations

from typing import Any

from hisa.tasks.metrics.base import Options, Score, expecting, metric, rules_of

__all__: list[str] = []


@metric("miniwob_solved")
def miniwob_solved(result: Any, expected: Any, options: Options) -> Score:
    """1 for any reward above 0, as published results count it."""
    reward, reason = rules_of(result, "reward", "reason")
    with expecting("miniwob_solved, which goes with miniwob_reward"):
        return float(reward > 0), str(reason)
