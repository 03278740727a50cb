"""Metrics of benchmark task files, by name: they score what the agent left."""

from __future__ import annotations

from typing import Any

from hisa.plugins.benchmarks.tasks.metric import (
    METRICS,
    BadRules,
    NotScored,
    Options,
    Score,
    Unreadable,
    find_metric,
)
from hisa.plugins.benchmarks.tasks.metrics import (  # noqa: F401 - each makes its metrics known
    databases,
    images,
    notebooks,
    texts,
)

__all__ = ["METRICS", "BadRules", "NotScored", "Unreadable", "call", "find_metric"]


def call(name: str, result: Any, expected: Any, options: Options) -> Score:
    """Score with the metric of a name; runs in a separate process, see `isolated_process`.

    Args:
        name: the metric's name.
        result: what the getter of the result gave; files as paths.
        expected: what the getter of the expected value gave.
        options: the options that the task gives the metric.
    """
    known = find_metric(name)
    if known is None:
        raise BadRules(f"no metric {name!r} here")
    return known.run(result, expected, options)
