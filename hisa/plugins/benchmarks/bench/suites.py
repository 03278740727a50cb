"""Suites: folders of task files (``own:DIR``, ``spider2v:DIR``, ``osworld:DIR``) and pages.

Pages are those of MiniWoB++ (``miniwob``) and of what is installed of BrowserGym's suites
(``browsergym:SUITE``).
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hisa.config import TaskSettings
from hisa.errors import OperatorError, UsageError
from hisa.machine.parts import install_command
from hisa.plugins.benchmarks.bench.attempt_records import PlannedTask
from hisa.plugins.benchmarks.tasks.data_files import is_data_file
from hisa.plugins.gym.gym_page import BROWSERGYM
from hisa.plugins.gym.miniwob import package as pages
from hisa.plugins.gym.miniwob.show_page import MINIWOB
from hisa.tasks.find_format import problems as lacking
from hisa.tasks.taskfile import load_task

__all__ = [
    "SUITES",
    "Suite",
    "left_out_line",
    "list_command",
    "open_suite",
    "read_suite",
]


@dataclass(frozen=True)
class Suite:
    """Tasks that can be run, and files that cannot, each with its reason."""

    name: str
    tasks: tuple[PlannedTask, ...]
    problems: dict[str, str] = field(default_factory=dict)
    """Path of a file that is left out to the reason."""
    ids: dict[str, str] = field(default_factory=dict)
    """The id that a left-out file's task would have, to the path of the file."""


def _own(folder: Path) -> Iterable[Path]:
    return (path for path in folder.rglob("*") if path.suffix in (".yaml", ".yml"))


def _examples(folder: Path) -> Path:
    """Returns the folder of the domains, given that folder, its parent or the whole benchmark."""
    for below in ("evaluation_examples/examples", "examples"):
        if (folder / below).is_dir():
            return folder / below
    return folder


def _spider2v(folder: Path) -> Iterable[Path]:
    """``DOMAIN/ID/ID.json``; files beside it belong to the task."""
    paths = _examples(folder).rglob("*.json")
    return (path for path in paths if path.stem == path.parent.name)


def _osworld(folder: Path) -> Iterable[Path]:
    """``DOMAIN/ID.json``."""
    return _examples(folder).glob("*/*.json")


_DOMAIN: dict[str, Callable[[Path], str]] = {
    "spider2v": lambda path: path.parent.parent.name,
    "osworld": lambda path: path.parent.name,
}
"""The folder that a benchmark's tables call the domain."""

_SOURCES = {
    "own": "own:DIR, where DIR holds task files that end in .yaml",
    "spider2v": "git clone https://github.com/xlang-ai/Spider2-V, then spider2v:Spider2-V",
    "osworld": "git clone https://github.com/xlang-ai/OSWorld, then osworld:OSWorld",
}
SUITES: dict[str, Callable[[Path], Iterable[Path]]] = {
    "own": _own,
    "spider2v": _spider2v,
    "osworld": _osworld,
}
"""How the task files of a suite are found, by its kind."""


def open_suite(
    name: str, only: Iterable[str] = (), *, settings: TaskSettings | None = None
) -> Suite:
    """Returns the tasks of a suite that can be run, in the order of their files; at least one.

    Args:
        name: ``KIND:DIR``, ``miniwob`` or ``browsergym:SUITE``.
        only: ids of tasks; empty: all.
        settings: what the user allows tasks to do, and gives them; None: the defaults.

    Raises:
        UsageError: an unknown kind, no such folder, no task that can be run, an id that is unknown,
            or one that is left out, with its reason.
    """
    suite = _select_tasks(read_suite(name, settings), frozenset(only))
    if not suite.tasks:
        first = next(iter(suite.problems.values()), "")
        why = f"; the first: {first}" if first else ""
        raise UsageError(
            f"suite {name!r}: {len(suite.problems)} files, but no task that can be run{why}",
            fix=_fix(suite, suite.problems.values()),
        )
    return suite


def _fix(suite: Suite, reasons: Iterable[str]) -> str:
    """Returns the command that installs what scoring lacks, or else one that lists files."""
    reason_list = list(reasons)
    for command in map(install_command, ("tasks", "osworld")):
        if any(command in reason for reason in reason_list):
            return command
    return (
        list_command(suite, left_out=True)
        if suite.problems
        else f"ls {shlex.quote(suite.name.partition(':')[2])}"
    )


def list_command(suite: Suite, *, left_out: bool = False) -> str:
    """Returns the command that lists the tasks of a suite, or the files that are left out."""
    return shlex.join(["hisa", "bench", "tasks", suite.name, *(["--left-out"] * left_out)])


def left_out_line(suite: Suite) -> str:
    """Returns a line on how many files are left out and why most are; empty if none is."""
    if not suite.problems:
        return ""
    (reason, count), *more = Counter(map(_gist, suite.problems.values())).most_common()
    why = f"{count} of them: {reason}" if more else reason
    command = list_command(suite, left_out=True)
    return f"left out: {len(suite.problems)} task files ({why}); list: {command}"


def _gist(reason: str) -> str:
    """Returns the first thing that is missing, without what differs from file to file."""
    return reason.partition("; ")[0].partition("\n")[0][:160]


def read_suite(name: str, settings: TaskSettings | None = None) -> Suite:
    """Returns every task file of a suite, as a task or with the reason why it is left out.

    Raises:
        UsageError: an unknown kind, no such folder, or a form of instruction that its tasks lack.
    """
    kind, _, place = name.partition(":")
    if settings is not None and settings.instructions == "verbose" and kind != "spider2v":
        raise UsageError(
            f"tasks.instructions = 'verbose': tasks of {name!r} have one form, the aim alone; only "
            "those of spider2v:DIR have two",
            fix="--set tasks.instructions=both",
        )
    if name == "miniwob":
        return _miniwob()
    if f"{kind}:" == BROWSERGYM and place:
        return _browsergym(place)
    folder = Path(place).expanduser()
    if kind not in SUITES or not place:
        allowed = ", ".join(f"{kind}:DIR" for kind in SUITES)
        raise UsageError(
            f"suite {name!r}: allowed are {allowed}, miniwob, browsergym:SUITE", fix=_SOURCES["own"]
        )
    if not folder.is_dir():
        raise UsageError(f"suite {name!r}: no folder {place!r}", fix=_SOURCES[kind])
    paths = sorted(SUITES[kind](folder.resolve()))
    tasks = [path for path in paths if not is_data_file(path)]
    return _load_suite(f"{kind}:{folder.resolve()}", tasks, settings)


def _miniwob() -> Suite:
    suite = _load_suite("miniwob", [f"{MINIWOB}{task}" for task in pages.tasks()])
    aside = pages.left_out()
    problems = {**suite.problems, **{f"{MINIWOB}{page}": why for page, why in aside.items()}}
    ids = {**suite.ids, **{page: f"{MINIWOB}{page}" for page in aside}}
    return replace(suite, problems=problems, ids=ids)


def _browsergym(suite: str) -> Suite:
    from hisa.plugins.gym.gym_suites import suite_of, suite_tasks  # BrowserGym is heavy

    name = f"{BROWSERGYM}{suite}"
    if suite == "openended" or suite_of(suite) != suite:
        raise UsageError(f"suite {name!r} is not a suite of many tasks", fix=f"{BROWSERGYM}miniwob")
    return _load_suite(name, [f"{BROWSERGYM}{task}" for task in suite_tasks(suite)])


def _load_suite(
    name: str, paths: Sequence[Path | str], settings: TaskSettings | None = None
) -> Suite:
    kind = name.partition(":")[0]
    tasks: dict[str, PlannedTask] = {}
    problems: dict[str, str] = {}
    ids: dict[str, str] = {}
    for path in paths:
        planned = _plan_task(kind, path, tasks, settings)
        if isinstance(planned, PlannedTask):
            tasks[planned.id] = planned
        elif planned is not None:
            problems[str(path)] = planned.why
            ids.setdefault(planned.id, str(path))
    return Suite(name, tuple(tasks.values()), problems, ids)


@dataclass(frozen=True)
class _LeftOut:
    id: str
    why: str


def _plan_task(
    kind: str,
    path: Path | str,
    tasks_by_id: Mapping[str, PlannedTask],
    settings: TaskSettings | None,
) -> PlannedTask | _LeftOut | None:
    """Returns the planned task, or why it cannot be run; None if it has a form not asked for.

    OSWorld has tasks with the same id in two domains; the second is named with its domain.
    """
    try:
        task = load_task(path)
    except OperatorError as error:
        return _LeftOut(Path(str(path).removeprefix(MINIWOB)).stem, str(error))
    if kind == "spider2v" and settings is not None and settings.instructions != "both":
        tags = json.loads(Path(path).read_bytes()).get("tags")
        forms = [f for f in ("abstract", "verbose") if isinstance(tags, list) and f in tags]
        if not forms:
            return _LeftOut(task.id, 'its tags name neither "abstract" nor "verbose"')
        if settings.instructions not in forms:
            return None
    if missing := lacking(task, settings):
        return _LeftOut(task.id, "; ".join(missing))
    domain = _DOMAIN[kind](Path(path)) if kind in _DOMAIN else task.domain
    first = tasks_by_id.get(task.id)
    name = task.id if first is None or first.domain == domain else f"{domain}/{task.id}"
    if name in tasks_by_id:
        return _LeftOut(name, f"task id {task.id!r} is that of {tasks_by_id[name].path} too")
    return PlannedTask(id=name, path=str(path), domain=domain)


def _select_tasks(suite: Suite, only: frozenset[str]) -> Suite:
    if not only:
        return suite
    unknown = sorted(only - {task.id for task in suite.tasks})
    for name in unknown:
        if name in suite.ids:
            why = suite.problems[suite.ids[name]]
            raise UsageError(
                f"task {name!r} of {suite.name!r} is left out: {why}", fix=_fix(suite, [why])
            )
    if unknown:
        known = ", ".join(task.id for task in suite.tasks[:10])
        raise UsageError(
            f"no task {unknown[0]!r} in {suite.name!r}; there are: {known}", fix=list_command(suite)
        )
    return replace(suite, tasks=tuple(t for t in suite.tasks if t.id in only))
