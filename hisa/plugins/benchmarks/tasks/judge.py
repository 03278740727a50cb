"""Chooses whose metric judges, runs it, and says whose fault a failure is.

A metric of OSWorld's package judges if HiSA has none of that name.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hisa.errors import CheckFailed, LibraryLacking, UsageError
from hisa.machine import plugins
from hisa.machine.parts import has_libraries, install_command
from hisa.plugins.benchmarks.tasks.benchmark import evaluator_of
from hisa.plugins.benchmarks.tasks.isolated_process import Exceeded, run_isolated
from hisa.plugins.benchmarks.tasks.metric import BadRules, Options, Score, Unreadable
from hisa.plugins.benchmarks.tasks.metrics import METRICS, call, find_metric
from hisa.plugins.benchmarks.tasks.osworld_metrics.index import (
    find_installation,
    find_osworld_metric,
    install_commands,
    missing_packages,
    python,
)
from hisa.plugins.benchmarks.tasks.osworld_metrics.metric_sandbox import run
from hisa.plugins.benchmarks.tasks.process_limits import OWN_LIMITS, Limits
from hisa.protocols import Task

__all__ = ["Judge", "choose_judge", "judge", "judged_by"]


@dataclass(frozen=True)
class Judge:
    """Whose metric is used for a name."""

    by_osworld: bool
    """Whether it is the one of OSWorld's package."""
    words: str
    """Whose it is, in words."""


def choose_judge(name: str) -> Judge:
    """Returns whose metric judges for a name: ours if there is one, else OSWorld's.

    Raises:
        UsageError: there is no such metric.
        LibraryLacking: the metric lacks a library.
        PluginFailed: the package that has the metric fails.
    """
    metric = find_metric(name)
    if metric is None:
        return _choose_osworld(name)
    if libraries := metric.missing():
        raise LibraryLacking(
            f"metric {name} needs {', '.join(libraries)}", fix=install_command("tasks")
        )
    package = plugins.find("metrics", name) if name not in METRICS.names else None
    origin = "ours" if package is None else f"that of package {plugins.source(package)!r}"
    return Judge(False, origin)


def _choose_osworld(name: str) -> Judge:
    if find_osworld_metric(name) is None:
        raise UsageError(f"no metric {name!r} here, nor in OSWorld's package")
    if fix := install_commands(name):
        here, lacking = find_installation(), missing_packages(name)
        if python() == sys.executable and has_libraries("osworld", lacking):
            fix = install_command("osworld")
        requirement = (
            f"{', '.join(lacking)} beside OSWorld's package" if here.folder else "OSWorld's package"
        )
        raise LibraryLacking(f"metric {name} needs {requirement}", fix=fix)
    return Judge(True, f"OSWorld's own (desktop_env {find_installation().version})")


def judged_by(task: Task) -> str:
    """Returns who judges a task, in words; empty if no metric of a benchmark does.

    Raises:
        UsageError: a metric is missing, or lacks a library (`LibraryLacking`).
    """
    if task.check is None or "func" not in task.check:
        return ""
    evaluator = evaluator_of(task)
    if evaluator.infeasible:
        return ""
    words = [choose_judge(part.func).words for part in evaluator.parts]
    return "; ".join(dict.fromkeys(words))


async def judge(
    name: str,
    result: Any,
    expected: Any,
    options: Options,
    *,
    limits: Limits = OWN_LIMITS,
) -> Score:
    """Score what the agent left with a metric, in a separate process with limits.

    Args:
        name: the metric's name.
        result: what the getter of the result gave.
        expected: what the getter of the expected value gave.
        options: the options that the task gives the metric.
        limits: for a metric of ours; one of OSWorld's has `process_limits.OSWORLD_LIMITS`.

    Raises:
        Unreadable: what the agent left cannot be read, or exceeds the limits; score 0.
        NotScored: the task, or the machine that scores, is at fault; no score.
        CheckFailed: the process was ended from outside, or was idle for too long.
    """
    ask_own = functools.partial(run_isolated, call, limits=limits)
    ask = run if choose_judge(name).by_osworld else ask_own
    try:
        score, why = await ask(name, result, expected, options)
        return float(score), str(why)
    except Exceeded as error:
        await _expect_alone(ask, name, expected, options)
        raise Unreadable(f"what was left {error}") from error


async def _expect_alone(
    ask: Callable[..., Awaitable[Any]], name: str, expected: Any, options: Options
) -> None:
    """Compare the expected files with themselves: if that fails too, they are at fault.

    Raises:
        BadRules: the comparison fails.
    """
    if not _are_paths(expected):
        return
    try:
        await ask(name, expected, expected, options)
    except (Exceeded, Unreadable, CheckFailed) as error:
        raise BadRules(f"the expected file cannot even be compared with itself: {error}") from error


def _are_paths(value: Any) -> bool:
    return isinstance(value, Path) or (
        isinstance(value, list) and bool(value) and all(isinstance(path, Path) for path in value)
    )
