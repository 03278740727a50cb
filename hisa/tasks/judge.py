"""Asks a metric, ours or OSWorld's, and says whose fault it is where it does not come to an end."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from hisa.errors import CheckFailed, UsageError
from hisa.parts import install_command
from hisa.tasks.apart import Exceeded, apart
from hisa.tasks.limits import OURS, Limits
from hisa.tasks.metrics import call, find_metric
from hisa.tasks.metrics.base import BadRules, Options, Score, Unreadable
from hisa.tasks.theirs import lacking, run, theirs

__all__ = ["judge", "known"]


def known(name: str) -> bool:
    """Whether a metric of that name is ours; False: it is that of OSWorld's package.

    Raises:
        UsageError: there is none, or a library of it is not here.
    """
    metric = find_metric(name)
    if metric is not None:
        if libraries := metric.missing():
            raise UsageError(
                f"metric {name} needs {', '.join(libraries)}", fix=install_command("tasks")
            )
        return True
    if theirs(name) is None:
        raise UsageError(f"no metric {name!r} here")
    if fix := lacking(name):
        raise UsageError(f"metric {name} is in OSWorld's package alone", fix=fix)
    return False


async def judge(
    name: str, result: Any, expected: Any, options: Options, *, limits: Limits = OURS
) -> Score:
    """What a metric says of what the agent left, in a process of its own with limits.

    Args:
        name: of the metric.
        result: what the agent left.
        expected: what it is compared with.
        options: of the metric.
        limits: of a metric of ours; those of OSWorld's have `hisa.tasks.limits.THEIRS`.

    Raises:
        Unreadable: what the agent left cannot be read, or takes more than it may; score 0.
        NotScored: the task, or the machine that scores, is at fault; no score.
        CheckFailed: the process was ended from outside, or did little for too long.
    """
    ask = functools.partial(apart, call, limits=limits) if known(name) else run
    try:
        score, why = await ask(name, result, expected, options)
        return float(score), str(why)
    except Exceeded as error:
        await _expect_alone(ask, name, expected, options)
        raise Unreadable(f"what was left {error}") from error


async def _expect_alone(
    ask: Callable[..., Awaitable[Any]], name: str, expected: Any, options: Options
) -> None:
    """Compare the expected files with themselves: where that fails too, they are at fault.

    Raises:
        BadRules: it fails.
    """
    if not _files(expected):
        return
    try:
        await ask(name, expected, expected, options)
    except (Exceeded, Unreadable, CheckFailed) as error:
        raise BadRules(f"the expected file alone cannot be compared: {error}") from error


def _files(value: Any) -> bool:
    return isinstance(value, Path) or (
        isinstance(value, list) and bool(value) and all(isinstance(one, Path) for one in value)
    )
