"""Partial success and efficiency (OS-Catalyst, table 2), success by steps and by repeats.

Each number covers the attempts for which it is known and comes with the count of the others: a run
folder may be gone, and older records have no partial score.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable

from hisa.plugins.benchmarks.bench.measure import Measure, Usage
from hisa.plugins.benchmarks.bench.stats import Estimate, rate_over_tasks, ratio_over_tasks

__all__ = [
    "actions_a_step",
    "multi_action_share",
    "partial_success",
    "step_time",
    "success_within",
    "task_time",
]

HORIZONS = (15, 50, 100)
"""Steps that papers score at (HiSA, table 2; GTA1, figure 4)."""


def success_within(results: Iterable[Measure], steps: int) -> Estimate:
    """Returns the mean over tasks of the share of successes that had ended within so many steps.

    It is a lower bound on the rate under a limit of so many steps: a run that went on may have done
    its task by then, but was not scored at that point.
    """
    shares: dict[str, list[bool]] = defaultdict(list)
    for result in results:
        if result.scored:
            shares[result.task].append(result.success and result.steps <= steps)
    return rate_over_tasks([sum(values) / len(values) for values in shares.values()])


def partial_success(results: Iterable[Measure]) -> Estimate:
    """Returns the mean over tasks of the mean partial score of their scored attempts."""
    shares: dict[str, list[float]] = defaultdict(list)
    unknown = 0
    for result in results:
        if not result.scored:
            continue
        if result.partial is None:
            unknown += 1
        else:
            shares[result.task].append(result.partial)
    means = [math.fsum(values) / len(values) for values in shares.values()]
    return rate_over_tasks(means, unknown=unknown)


def actions_a_step(results: Iterable[Measure]) -> Estimate:
    """Returns the mean number of actions of a step; steps without any are left out."""
    return _ratio(results, lambda usage: (usage.actions, usage.acting_steps), least=1.0)


def multi_action_share(results: Iterable[Measure]) -> Estimate:
    """Returns the share of steps with more than one action, among those with any."""
    return _ratio(results, lambda usage: (usage.sequences.total(), usage.acting_steps))


def step_time(results: Iterable[Measure]) -> Estimate:
    """Returns the mean seconds that the planner took for a step, corrections included."""
    return _ratio(
        results,
        lambda usage: (usage.plan_seconds, usage.planned_steps) if usage.planned_steps else None,
    )


def task_time(results: Iterable[Measure]) -> Estimate:
    """Returns the mean seconds of an attempt's steps."""
    return _ratio(results, lambda usage: (usage.step_seconds, 1) if usage.steps else None)


def _ratio(
    results: Iterable[Measure],
    read: Callable[[Usage], tuple[float, int] | None],
    *,
    least: float = 0.0,
) -> Estimate:
    """Returns the ratio of totals to counts over tasks; ``read`` gives None if not known."""
    sums: dict[str, tuple[float, int]] = {}
    unknown = 0
    for result in results:
        total_and_count = None if result.usage is None else read(result.usage)
        if total_and_count is None:
            unknown += 1
            continue
        total, count = sums.get(result.task, (0.0, 0))
        sums[result.task] = (total + total_and_count[0], count + total_and_count[1])
    return ratio_over_tasks(sums.values(), least=least, unknown=unknown)
