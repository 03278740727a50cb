"""The statistics of a bench: intervals, paired tests, buckets. Pure functions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

__all__ = [
    "Bucket",
    "Estimate",
    "Paired",
    "compare_pairs",
    "length_buckets",
    "mean",
    "quantile",
    "rate_over_tasks",
    "ratio_over_tasks",
    "share",
    "sign_test",
    "t95",
    "wilson",
]

Z95 = 1.959963984540054
"""Two-sided 95% of the normal distribution."""


def mean(values: Sequence[float]) -> float | None:
    """Returns the arithmetic mean; None if there are no values."""
    return math.fsum(values) / len(values) if values else None


def wilson(successes: float, trials: float, z: float = Z95) -> tuple[float, float]:
    """Returns Wilson's score interval of a rate (E. B. Wilson, 1927), as fractions.

    Args:
        successes: how many of ``trials``; fractional if each trial is a mean of several.
        trials: number of independent trials; with none, nothing is known: (0, 1).
        z: quantile of the normal distribution; the default gives 95%.
    """
    if trials == 0:
        return 0.0, 1.0
    rate = successes / trials
    spread = z * z / trials
    centre = (rate + spread / 2) / (1 + spread)
    half = z * math.sqrt(rate * (1 - rate) / trials + spread / (4 * trials)) / (1 + spread)
    return max(0.0, centre - half), min(1.0, centre + half)


def t95(freedom: int) -> float:
    """Returns the two-sided 95% quantile of Student's t.

    Args:
        freedom: degrees of freedom, from 1.
    """
    from scipy.stats import t  # heavy

    return float(t.ppf(0.975, freedom))


class Estimate(BaseModel):
    """A mean with its 95% interval, whose independent trials are tasks."""

    value: float | None = None
    """None if it is known for no attempt, or there are no attempts."""
    low: float | None = None
    """None if there is no interval: one task does not show how much tasks differ."""
    high: float | None = None
    n: int = 0
    """How many tasks, steps or attempts it is the mean of."""
    unknown: int = 0
    """Attempts that are left out because the number is not known for them."""

    def __str__(self) -> str:
        if self.value is None:
            return "not known"
        between = "" if self.low is None else f" ({self.low:.2f} to {self.high:.2f})"
        return f"{self.value:.2f}{between}"


def rate_over_tasks(tasks: Collection[float], *, unknown: int = 0) -> Estimate:
    """Returns the mean of a share over tasks, with Wilson's interval.

    For shares between 0 and 1 the interval is wider than it has to be, never too narrow: no values
    within these limits vary more than yes and no.

    Args:
        tasks: each task's mean, 0 to 1.
        unknown: see `Estimate`.
    """
    return share(math.fsum(tasks), len(tasks), unknown=unknown)


def share(successes: float, trials: float, *, unknown: int = 0) -> Estimate:
    """Returns the rate of successes with Wilson's interval, which lies within 0 and 1.

    Args:
        successes: how many of ``trials``; fractional if each trial is a mean of several.
        trials: number of independent trials; with none, the estimate is empty.
        unknown: see `Estimate`.
    """
    if not trials:
        return Estimate(unknown=unknown)
    low, high = wilson(successes, trials)
    return Estimate(value=successes / trials, low=low, high=high, n=int(trials), unknown=unknown)


def ratio_over_tasks(
    tasks: Collection[tuple[float, int]], *, least: float = 0.0, unknown: int = 0
) -> Estimate:
    """Returns the mean of many numbers that are grouped by task, with Student's interval.

    The mean is the ratio of all totals to all counts. The interval is that of a ratio of means over
    tasks (W. G. Cochran, Sampling Techniques, 1977, 6.3), since the steps of a task, and its
    repeats, are not independent.

    Args:
        tasks: each task's total and how many numbers it is the sum of.
        least: the smallest number possible; the interval does not go below it.
        unknown: see `Estimate`.
    """
    counted = [(total, count) for total, count in tasks if count]
    n = sum(count for _, count in counted)
    if not n:
        return Estimate(unknown=unknown)
    value = math.fsum(total for total, _ in counted) / n
    estimate = Estimate(value=value, n=n, unknown=unknown)
    groups = len(counted)
    if groups < 2:
        return estimate
    squares = math.fsum((total - value * count) ** 2 for total, count in counted)
    half = t95(groups - 1) * math.sqrt(squares * groups / (groups - 1)) / n
    return estimate.model_copy(update={"low": max(least, value - half), "high": value + half})


def sign_test(wins: int, losses: int) -> float:
    """Returns the p-value of the exact two-sided sign test.

    It is the probability of a split at least as uneven if neither side is better. With one attempt
    per task this is McNemar's exact test. Ties say nothing and are left out.
    """
    from scipy.stats import binomtest  # heavy

    return float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0


class Paired(BaseModel):
    """Two benches on the tasks that both have: ``wins`` are tasks that the first does better."""

    tasks: int
    wins: int
    losses: int
    ties: int
    difference: float
    """Mean of first minus second."""
    p: float
    """Of `sign_test`."""


def compare_pairs(first: Mapping[str, float], second: Mapping[str, float]) -> Paired | None:
    """Compare task by task; returns None if no task is in both.

    Args:
        first: task to mean success, 0 to 1.
        second: the same for what it is compared with.
    """
    gaps = [first[task] - second[task] for task in sorted(first.keys() & second.keys())]
    if not gaps:
        return None
    wins, losses = sum(gap > 1e-9 for gap in gaps), sum(gap < -1e-9 for gap in gaps)
    return Paired(
        tasks=len(gaps),
        wins=wins,
        losses=losses,
        ties=len(gaps) - wins - losses,
        difference=math.fsum(gaps) / len(gaps),
        p=sign_test(wins, losses),
    )


@dataclass(frozen=True)
class Bucket:
    """Tasks of about the same length: ``first`` to ``last`` steps."""

    first: int
    last: int
    tasks: tuple[str, ...]


def length_buckets(lengths: Mapping[str, float], count: int = 3) -> tuple[Bucket, ...]:
    """Returns buckets of about equally many tasks, by length; equal lengths share a bucket.

    Each edge lies at the change of length that is nearest to its ideal place. There may therefore
    be fewer buckets than ``count``; none is empty.

    Args:
        lengths: task to steps; means are rounded.
        count: the number of buckets wanted.
    """
    ordered = sorted(lengths, key=lambda task: (round(lengths[task]), task))
    steps = [round(lengths[task]) for task in ordered]
    changes = [at for at in range(1, len(steps)) if steps[at] != steps[at - 1]]
    edges = {0, len(steps)}
    for number in range(1, count):
        ideal = len(steps) * number / count
        edges |= {min(changes, key=lambda at: (abs(at - ideal), at))} if changes else set()
    cuts = sorted(edges)
    return tuple(
        Bucket(steps[start], steps[end - 1], tuple(ordered[start:end]))
        for start, end in itertools.pairwise(cuts)
        if end > start
    )


def quantile(values: Sequence[float], share: float) -> float | None:
    """Returns the smallest value that a share of the values does not exceed; None without any.

    Args:
        values: in any order.
        share: 0.5 for the median, 0.95 for the 95th percentile.
    """
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None
