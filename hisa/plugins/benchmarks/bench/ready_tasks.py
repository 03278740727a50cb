"""Which tasks of a suite lack nothing, on a machine that is started once to look."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from hisa.config import EnvironmentSettings, Settings
from hisa.environments.open_environment import open_environment
from hisa.errors import UsageError
from hisa.plugins.benchmarks.bench.jobs import find_parts
from hisa.plugins.benchmarks.bench.suites import Suite, left_out_words, list_command
from hisa.plugins.benchmarks.tasks.cache import FileCache
from hisa.plugins.benchmarks.tasks.needs import needed_apps, needed_programs
from hisa.plugins.benchmarks.tasks.outside_places import web_needs
from hisa.plugins.benchmarks.tasks.readiness import Lack, Lacking, lacks, look_at, together
from hisa.protocols import Task
from hisa.tasks.taskfile import load_task

__all__ = ["ReadySuite", "machine_lacks", "missing_files_line", "ready_suite"]


@dataclass(frozen=True)
class ReadySuite:
    """A suite narrowed to the tasks that lack nothing."""

    suite: Suite
    """The others are among its problems."""
    line: str
    """How many are left out, why most of them, and the command that lists them; may be empty."""


async def machine_lacks(settings: Settings, tasks: Iterable[Task], *, maker: str = "") -> Lacking:
    """Start the machine of the settings once, and look for all that the tasks need of it.

    No machine is started where no task needs anything of it. Where the settings name several, what
    one of them lacks is lacking: any of them may be given any task.

    Args:
        settings: name the machine.
        tasks: what is looked for is what they need.
        maker: of a machine of one's own; see `hisa.plugins.benchmarks.bench.jobs.find_parts`.

    Raises:
        EnvironmentFailed: the machine does not start or answer.
        UsageError: no machine of that kind.
    """
    wanting = [
        task for task in tasks if needed_apps(task) or needed_programs(task) or web_needs(task)
    ]
    if not wanting:
        return Lacking(settings.environment.kind)
    found, make = [], find_parts(maker)
    for machine in _each_machine(settings.environment):
        own = settings.model_copy(update={"environment": machine})
        opened = open_environment(machine) if make is None else make(own, wanting[0])
        async with opened as environment:
            found.append(await look_at(environment, wanting))
    return together(found)


def _each_machine(settings: EnvironmentSettings) -> list[EnvironmentSettings]:
    """The settings, once for each of several guests."""
    if settings.family != "guest":
        return [settings]
    kinds = [f"guest={one}" for address in settings.value.split(",") if (one := address.strip())]
    return [settings.model_copy(update={"kind": kind}) for kind in kinds] or [settings]


def ready_suite(suite: Suite, settings: Settings, *, maker: str = "") -> ReadySuite:
    """The tasks of a suite that lack nothing here, and a line about the others.

    Args:
        suite: as it was opened.
        settings: name the machine, and the folder of downloaded files.
        maker: of a machine of one's own.

    Raises:
        UsageError: no task is ready.
        EnvironmentFailed: the machine does not start or answer.
    """
    tasks = {planned.id: load_task(planned.path) for planned in suite.tasks}
    machine = asyncio.run(machine_lacks(settings, tasks.values(), maker=maker))
    cache = FileCache.by(settings.tasks)
    found = {name: lacks(task, cache, machine, settings.tasks) for name, task in tasks.items()}
    listed = _coverage_command(suite, settings.environment.kind)
    short = _narrowed(suite, found)
    if not short.tasks:
        most = left_out_words(short, listed)
        raise UsageError(f"suite {suite.name!r}: no task is ready; {most}", fix=listed)
    return ReadySuite(short, left_out_words(short, listed))


def _narrowed(suite: Suite, found: Mapping[str, list[Lack]]) -> Suite:
    problems = {
        task.path: "; ".join(lack.what for lack in found[task.id])
        for task in suite.tasks
        if found[task.id]
    }
    return replace(
        suite,
        tasks=tuple(task for task in suite.tasks if not found[task.id]),
        problems={**suite.problems, **problems},
    )


def _coverage_command(suite: Suite, machine: str) -> str:
    folder = suite.name.partition(":")[2]
    if not folder:
        return list_command(suite, left_out=True)
    words = ["hisa", "bench", "coverage", folder, "--env", machine, "--why", "any"]
    return shlex.join(words)


def missing_files_line(suite: Suite, cache: FileCache) -> str:
    """One line with the number of tasks whose downloads are not here yet; empty where none is."""
    waiting = [
        planned
        for planned in suite.tasks
        if any(lack.kind == "file" for lack in lacks(load_task(planned.path), cache, None))
    ]
    if not waiting:
        return ""
    fetch = shlex.join(["hisa", "bench", "prefetch", suite.name])
    return f"not downloaded yet: files of {len(waiting)} tasks; before a run: {fetch}"
