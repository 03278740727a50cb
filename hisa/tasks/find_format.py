"""Finds a task's format: HiSA's own, or one that a package announces in the group ``hisa.tasks``.

A text names its format, as ``NAME:…``; a file's keys decide; a task has its format's name. Tasks of
older versions have none: their data decide, among the formats that HiSA itself announces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from hisa.config import TaskSettings
from hisa.errors import PluginFailed, UsageError
from hisa.machine import plugins
from hisa.protocols import Task
from hisa.tasks.hisa_format import OWN
from hisa.tasks.task_format import Problem, TaskFormat

__all__ = [
    "format_of",
    "is_named",
    "problems",
    "refuse_unknown",
    "sorted_problems",
    "task_named",
    "task_of_file",
]

_NAME = re.compile(r"([a-z][a-z0-9_]*):(?!//)(.*)", re.DOTALL)


def format_of(task: Task) -> TaskFormat:
    """Returns the format of a task.

    Raises:
        UsageError: no installed package has it.
        PluginFailed: the package that has it fails.
    """
    if task.format:
        point = plugins.find("tasks", task.format)
        if point is None:
            raise _unknown(f"task {task.id!r} is of the format", task.format)
        return _load_format(point)
    if not OWN.takes(task):
        for point in plugins.points("tasks"):
            if plugins.is_ours(point) and (known := _load_format(point)).takes(task):
                return known
    return OWN


def is_named(text: str) -> bool:
    """Whether a text is one word, ``NAME:…``, with a format that is announced."""
    name = _name_in(text)
    return bool(name) and plugins.find("tasks", name) is not None


def refuse_unknown(text: str) -> None:
    """Refuses a word of the form ``NAME:…`` whose format no installed package has.

    Raises:
        UsageError: the text is such a word.
    """
    if (name := _name_in(text)) and plugins.find("tasks", name) is None:
        raise _unknown(f"{text[:200]!r}: no task format", name)


def _name_in(text: str) -> str:
    match = _NAME.fullmatch(text) if len(text.split()) == 1 else None
    return match[1] if match and match[2] else ""


def _unknown(label: str, name: str) -> UsageError:
    known = ", ".join(plugins.announced_names("tasks")) or "none"
    return UsageError(
        f"{label} {name!r}, which no installed package announces; known formats are {known}",
        fix="pip install the package that announces it in the group hisa.tasks",
    )


def task_named(text: str, *, seed: int = 0) -> Task | None:
    """Returns the task that a text names as ``NAME:…``; None if that format is not announced.

    Args:
        text: a name.
        seed: for the task's random choices.

    Raises:
        UsageError: the format has no such task.
        PluginFailed: the package that has the format fails.
    """
    match = _NAME.fullmatch(text)
    point = plugins.find("tasks", match[1]) if match else None
    if match is None or point is None:
        return None
    made_by = _load_format(point)
    with plugins.blaming_package("tasks", point):
        return replace(made_by.make_task(match[2], seed=seed), format=point.name)


def task_of_file(path: Path, tree: Mapping[str, Any]) -> Task:
    """Makes the task of a file, whose keys decide its format.

    Raises:
        UsageError: a key is wrong; the message names it.
        PluginFailed: the package that has its format fails.
    """
    failed: list[PluginFailed] = []
    for point in () if OWN.reads(tree) else plugins.points("tasks"):
        try:
            known = _load_format(point)
            with plugins.blaming_package("tasks", point):
                if known.reads(tree):
                    task = known.read(path, tree)
                    return task if task.format else replace(task, format=point.name)
        except PluginFailed as error:
            failed.append(error)
    try:
        return OWN.read(path, tree)
    except UsageError as error:
        others = "".join(f"; and it could not be read by {reason}" for reason in failed)
        raise UsageError(f"{error}{others}", fix=error.fix) from error


def _load_format(point: EntryPoint) -> TaskFormat:
    task_format = plugins.load("tasks", point)
    if not isinstance(task_format, TaskFormat):
        raise PluginFailed(
            f"{plugins.describe_point('tasks', point)}: {point.value} is "
            f"{task_format!r:.200}, which is"
            " no TaskFormat of hisa.tasks.task_format"
        )
    return task_format


def problems(task: Task, settings: TaskSettings | None = None) -> list[str]:
    """Returns a sentence for each problem; empty if the task can be run and scored.

    Nothing is run and nothing is downloaded.

    Args:
        task: a task of any format.
        settings: the user's settings for tasks; None: the defaults.
    """
    problem_list = sorted_problems(task, settings)
    return [
        problem.text + (f": {problem.fix}" if problem.kind == "library" else "")
        for problem in problem_list
    ]


def sorted_problems(task: Task, settings: TaskSettings | None = None) -> list[Problem]:
    """Returns the same as `problems`, each with its kind."""
    return list(dict.fromkeys(format_of(task).problems(task, settings)))
