"""Metrics over the rewards of pages: MiniWoB++ and BrowserGym."""

from __future__ import annotations

from typing import Any

from hisa.plugins.benchmarks.tasks.metric import Options, Score, expecting, metric, rules_of

__all__: list[str] = []


@metric("miniwob_solved")
def miniwob_solved(result: Any, expected: Any, options: Options) -> Score:
    """Gives 1 for any reward of a MiniWoB++ page above 0, as published results count it."""
    reward, reason = rules_of(result, "reward", "reason")
    with expecting("miniwob_solved, which goes with miniwob_reward"):
        return float(reward > 0), str(reason)


@metric("browsergym_rewarded")
def browsergym_rewarded(result: Any, expected: Any, options: Options) -> Score:
    """Gives the reward of a task of BrowserGym, 0 to 1."""
    reward, reason = rules_of(result, "reward", "reason")
    with expecting("browsergym_rewarded, which goes with browsergym_reward"):
        return min(1.0, max(0.0, float(reward))), str(reason)
