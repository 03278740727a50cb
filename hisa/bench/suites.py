"""Suites: folders of task files (``own:DIR``, ``spider2v:DIR``, ``osworld:DIR``) and pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hisa.bench.records import PlannedTask
from hisa.errors import OperatorError, UsageError
from hisa.parts import PARTS, install_command
from hisa.tasks.files import MINIWOB, load_task
from hisa.tasks.miniwob import pages
from hisa.tasks.problems import problems as lacking

__all__ = ["SUITES", "Suite", "open_suite"]


@dataclass(frozen=True)
class Suite:
    """Tasks that can be run, and files that cannot, each with its reason."""

    name: str
    tasks: tuple[PlannedTask, ...]
    problems: dict[str, str] = field(default_factory=dict)


def _own(folder: Path) -> Iterable[Path]:
    return (path for path in folder.rglob("*") if path.suffix in (".yaml", ".yml"))


def _examples(folder: Path) -> Path:
    """The folder of the domains, where the whole benchmark or its task folder was given."""
    for below in ("evaluation_examples/examples", "examples"):
        if (folder / below).is_dir():
            return folder / below
    return folder


def _spider2v(folder: Path) -> Iterable[Path]:
    """``DOMAIN/ID/ID.json``; files beside it belong to the task."""
    found = _examples(folder).rglob("*.json")
    return (path for path in found if path.stem == path.parent.name)


def _osworld(folder: Path) -> Iterable[Path]:
    """``DOMAIN/ID.json``."""
    return _examples(folder).glob("*/*.json")


_DOMAIN: dict[str, Callable[[Path], str]] = {
    "spider2v": lambda path: path.parent.parent.name,
    "osworld": lambda path: path.parent.name,
}
"""The folder that a benchmark's tables call the domain."""

SUITES: dict[str, Callable[[Path], Iterable[Path]]] = {
    "own": _own,
    "spider2v": _spider2v,
    "osworld": _osworld,
}
"""How the task files of a suite are found, by its kind."""


def open_suite(name: str, only: Iterable[str] = ()) -> Suite:
    """The tasks of a suite, in the order of their files.

    Args:
        name: ``KIND:DIR``, ``miniwob``, or ``miniwob:`` and some of its tasks with commas between.
        only: ids of tasks; empty: all.

    Raises:
        UsageError: an unknown kind, no such folder, no task that can be run, or an unknown id.
    """
    kind, _, place = name.partition(":")
    wanted = frozenset(only)
    if f"{kind}:" == MINIWOB:
        return _narrowed(_miniwob(place), wanted)
    folder = Path(place).expanduser()
    if kind not in SUITES or not place:
        allowed = ", ".join(f"{kind}:DIR" for kind in SUITES)
        raise UsageError(
            f"suite {name!r}: allowed are {allowed}, miniwob", fix="hisa bench run own:examples"
        )
    if not folder.is_dir():
        raise UsageError(f"suite {name!r}: no folder {place!r}", fix="ls")
    suite = _loaded(f"{kind}:{folder.resolve()}", sorted(SUITES[kind](folder.resolve())))
    return _narrowed(suite, wanted)


def _miniwob(some: str) -> Suite:
    """All pages, or some by name; the plan of a bench is the same however they were picked."""
    suite = _loaded("miniwob", [f"{MINIWOB}{task}" for task in pages.tasks()])
    names = frozenset(some.split(",") if some else ())
    aside = {} if some else {f"{MINIWOB}{page}": why for page, why in pages.left_out().items()}
    return _narrowed(replace(suite, problems={**suite.problems, **aside}), names)


def _first_fix(problems: Mapping[str, str]) -> str:
    """The command that adds what the tasks lack, where one of their problems names it."""
    commands = (install_command(part) for part in PARTS)
    said = "\n".join(problems.values())
    return next((each for each in commands if each in said), "hisa bench coverage DIR")


def _loaded(name: str, paths: Sequence[Path | str]) -> Suite:
    kind = name.partition(":")[0]
    tasks: dict[str, PlannedTask] = {}
    problems: dict[str, str] = {}
    for path in paths:
        planned = _planned(kind, path, tasks)
        if isinstance(planned, str):
            problems[str(path)] = planned
        else:
            tasks[planned.id] = planned
    if not tasks:
        why = f"; the first: {next(iter(problems.values()))}" if problems else ""
        raise UsageError(
            f"suite {name!r}: {len(paths)} files and no task to run{why}", fix=_first_fix(problems)
        )
    return Suite(name, tuple(tasks.values()), problems)


def _planned(kind: str, path: Path | str, taken: Mapping[str, PlannedTask]) -> PlannedTask | str:
    """The task as the plan has it, or why it cannot be run.

    OSWorld has tasks of one id in two domains; the second is told apart by its domain.
    """
    try:
        task = load_task(path)
    except OperatorError as error:
        return str(error)
    if missing := lacking(task):
        return "; ".join(missing)
    domain = _DOMAIN[kind](Path(path)) if kind in _DOMAIN else task.domain
    first = taken.get(task.id)
    name = task.id if first is None or first.domain == domain else f"{domain}/{task.id}"
    if name in taken:
        return f"task id {task.id!r} is that of {taken[name].path} too"
    return PlannedTask(id=name, path=str(path), domain=domain)


def _narrowed(suite: Suite, only: frozenset[str]) -> Suite:
    if not only:
        return suite
    unknown = only - {task.id for task in suite.tasks}
    if unknown:
        known = ", ".join(task.id for task in suite.tasks[:10])
        raise UsageError(f"no task {sorted(unknown)[0]!r} in {suite.name!r}; there are: {known}")
    return Suite(suite.name, tuple(t for t in suite.tasks if t.id in only), suite.problems)
