"""Chooses whose metric judges, runs it, and says whose fault it is where it fails.

A metric of OSWorld's package judges wherever there is none of ours under that name.
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
    """Whose metric of a name is used."""

    by_osworld: bool
    """Whether it is that of OSWorld's package."""
    words: str
    """The same in words."""


def choose_judge(name: str) -> Judge:
    """Returns who judges by the metric of a name: ours where there is one, else OSWorld's.

    Raises:
        UsageError: there is no such metric.
        LibraryLacking: it lacks a library.
        PluginFailed: the package that has it fails.
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
    """Who judges a task, in words; empty where no metric of a benchmark does.

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
    """Score what the agent left with a metric, in a process of its own with limits.

    Args:
        name: of the metric.
        result: what the agent left.
        expected: what it is compared with.
        options: of the metric.
        limits: of a metric of ours; those of OSWorld's have `OSWORLD_LIMITS` of `process_limits`.

    Raises:
        Unreadable: what the agent left cannot be read, or takes more than it may; score 0.
        NotScored: the task, or the machine that scores, is at fault; no score.
        CheckFailed: the process was ended from outside, or did little for too long.
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
    """Compare the expected files with themselves: where that fails too, they are at fault.

    Raises:
        BadRules: it fails.
    """
    if not _are_paths(expected):
        return
    try:
        await ask(name, expected, expected, options)
    except (Exceeded, Unreadable, CheckFailed) as error:
        raise BadRules(f"the expected file alone cannot be compared: {error}") from error


def _are_paths(value: Any) -> bool:
    return isinstance(value, Path) or (
        isinstance(value, list) and bool(value) and all(isinstance(path, Path) for path in value)
    )
