"""Says what keeps a task from being run now: pieces, accounts, applications, files, addresses.

A machine is looked at once for all tasks: which of the applications and programs that they name it
lacks, and which outside addresses that they name it does not reach.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from hisa.config import TaskSettings
from hisa.errors import UsageError
from hisa.plugins.benchmarks.tasks.browser_flags import absent_flags, needed_flags
from hisa.plugins.benchmarks.tasks.cache import FileCache
from hisa.plugins.benchmarks.tasks.expected_files import expected_problems
from hisa.plugins.benchmarks.tasks.needs import needed_apps, needed_programs
from hisa.plugins.benchmarks.tasks.outside_places import web_needs
from hisa.plugins.benchmarks.tasks.problems import urls
from hisa.plugins.benchmarks.tasks.step_context import OTHER_NAMES
from hisa.plugins.machines.known_apps import App, fix_for, install
from hisa.plugins.machines.machine_apps import absent
from hisa.plugins.machines.reached_places import Place, unreached
from hisa.protocols import Environment, Task
from hisa.tasks.find_format import sorted_problems

__all__ = ["LACKS", "Lack", "LackKind", "Lacking", "lacks", "look_at", "together"]

LackKind = Literal[
    "broken", "piece", "library", "account", "application", "file", "address", "expected"
]
LACKS: Mapping[LackKind, str] = {
    "broken": "the task file cannot be read",
    "piece": "a setup step, getter, metric or rule is not here",
    "library": "a Python library that a metric needs is not installed",
    "account": "an account with an outside service is needed",
    "application": "the machine lacks an application, a program or a flag of its browser",
    "file": "a file is not here",
    "address": "the machine does not reach an outside address",
    "expected": "the expected file cannot be compared with",
}
"""Kinds of reasons why a task cannot be run now."""


@dataclass(frozen=True)
class Lack:
    """A reason why a task cannot be run now."""

    kind: LackKind
    what: str
    """What is lacking, in the same words for every task that lacks it."""
    fix: str = ""


@dataclass(frozen=True)
class Lacking:
    """What a machine lacks of all that some tasks need."""

    machine: str
    apps: frozenset[str] = frozenset()
    """Titles of applications."""
    programs: frozenset[str] = frozenset()
    places: frozenset[Place] = frozenset()
    """What it does not reach, or cannot tell whether it does."""
    flags: frozenset[str] = frozenset()
    """Experiments that its browser does not have."""


def together(machines: Sequence[Lacking]) -> Lacking:
    """Joins what several machines lack, each of which may be given any task."""
    return Lacking(
        ", ".join(machine.machine for machine in machines),
        frozenset(title for machine in machines for title in machine.apps),
        frozenset(name for machine in machines for name in machine.programs),
        frozenset(place for machine in machines for place in machine.places),
        frozenset(name for machine in machines for name in machine.flags),
    )


async def look_at(environment: Environment, tasks: Iterable[Task]) -> Lacking:
    """Look for the applications, programs and addresses of many tasks, each once.

    Raises:
        EnvironmentFailed: the machine does not answer.
    """
    listed = list(tasks)
    apps = {app.title: app for task in listed for app in needed_apps(task)}
    names = dict.fromkeys(name for task in listed for name in needed_programs(task))
    programs = [App(name, name, (name, *OTHER_NAMES.get(name, ()))) for name in names]
    places = [place for task in listed for need in web_needs(task) for place in need.places]
    flags = [name for task in listed for name in needed_flags(task)]
    return Lacking(
        environment.name,
        frozenset(app.title for app in await absent(tuple(apps.values()), environment)),
        frozenset(app.title for app in await absent(programs, environment)),
        frozenset(await unreached(environment, places)),
        frozenset(await absent_flags(environment, flags)),
    )


def lacks(
    task: Task, cache: FileCache, machine: Lacking | None, settings: TaskSettings | None = None
) -> list[Lack]:
    """Each reason why a task cannot be run now; empty where it can.

    Args:
        task: looked at without running or downloading anything.
        cache: holds the files of the internet.
        machine: as `look_at` found it; None: nothing is said about applications and addresses.
        settings: what the user allows and gives; None: the defaults.
    """
    wrong = sorted_problems(task, settings)
    found = [Lack(problem.kind, problem.text, problem.fix) for problem in wrong]
    found += _files(task, cache)
    if machine is not None:
        found += _machine(task, machine)
        found += _places(task, machine, settings)
    found += [Lack("expected", why) for why in expected_problems(task, cache)]
    return list(dict.fromkeys(found))


def _files(task: Task, cache: FileCache) -> Iterator[Lack]:
    for url in urls(task):
        try:
            if not cache.holds(url):
                yield Lack("file", "a file of the internet is not downloaded yet", "prefetch")
        except UsageError as error:
            yield Lack("file", str(error))


def _machine(task: Task, machine: Lacking) -> Iterator[Lack]:
    for app in needed_apps(task):
        if app.title in machine.apps:
            yield Lack("application", f"{app.title} (package {app.package})", install(app))
    for name in needed_programs(task):
        if name in machine.programs:
            yield Lack("application", f"program {name}", fix_for(name))
    for name in needed_flags(task):
        if name in machine.flags:
            yield Lack("application", f"the browser's flag {name}")


def _places(task: Task, machine: Lacking, settings: TaskSettings | None) -> Iterator[Lack]:
    for need in web_needs(task, settings):
        if all(place in machine.places for place in need.places):
            yield Lack("address", need.words)
