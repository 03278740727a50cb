"""Which task files of a folder can be used here, and which setup steps, getters and metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hisa.errors import UsageError
from hisa.protocols import Task
from hisa.tasks.files import load_task
from hisa.tasks.getters import GETTERS
from hisa.tasks.metrics import METRICS
from hisa.tasks.problems import problems
from hisa.tasks.setup import SETUP

__all__ = ["CoverageRow", "LoadedFile", "coverage", "load_folder"]

_ENDINGS = (".json", ".yaml", ".yml")
Kind = Literal["setup", "getter", "metric"]


@dataclass(frozen=True)
class LoadedFile:
    """A file of a folder: a task, or the reason why it is none."""

    path: Path
    task: Task | None
    reason: str = ""
    """Empty where the task can be run and scored."""

    @property
    def usable(self) -> bool:
        """Whether the task can be run and scored here."""
        return self.task is not None and not self.reason


@dataclass(frozen=True)
class CoverageRow:
    """A setup step, getter or metric that task files ask for."""

    kind: Kind
    name: str
    ours: bool
    tasks: int
    """In how many task files it occurs."""
    uses: int
    """How often it occurs in all."""


def load_folder(folder: Path) -> list[LoadedFile]:
    """Every task file below a folder, in order of its path, as a task or with its reason.

    A list of ids by domain, as benchmarks have them, counts as no task file and is left out.

    Raises:
        UsageError: there is no such folder.
    """
    if not folder.is_dir():
        raise UsageError(
            f"{folder}: no such folder; what is counted is the task files below one",
            fix="hisa bench coverage DIR",
        )
    paths = sorted(
        path for path in folder.rglob("*") if path.suffix.lower() in _ENDINGS and path.is_file()
    )
    return [loaded for path in paths if (loaded := _load(path)) is not None]


def _load(path: Path) -> LoadedFile | None:
    try:
        task = load_task(path)
    except UsageError as error:
        return None if _is_index(path) else LoadedFile(path, None, str(error))
    return LoadedFile(path, task, "; ".join(problems(task)))


def _is_index(path: Path) -> bool:
    """``{domain: [id, …]}``."""
    import json

    try:
        if path.suffix.lower() != ".json" or path.stat().st_size > 1_000_000:
            return False
        tree = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return (
        isinstance(tree, dict)
        and bool(tree)
        and all(
            isinstance(ids, list) and all(isinstance(name, str) for name in ids)
            for ids in tree.values()
        )
    )


def coverage(folder: Path) -> list[CoverageRow]:
    """A row for each setup step, getter and metric in the benchmark task files of a folder.

    Rows are ordered by kind, then by falling number of tasks.
    """
    tasks: Counter[tuple[Kind, str]] = Counter()
    uses: Counter[tuple[Kind, str]] = Counter()
    for loaded in load_folder(folder):
        if loaded.task is not None:
            names = list(_asked(loaded.task))
            uses.update(names)
            tasks.update(set(names))
    rows = [
        CoverageRow(kind, name, _known(kind, name), tasks[kind, name], count)
        for (kind, name), count in uses.items()
    ]
    order: Mapping[str, int] = {"setup": 0, "getter": 1, "metric": 2}
    return sorted(rows, key=lambda row: (order[row.kind], -row.tasks, row.name))


def _known(kind: Kind, name: str) -> bool:
    if kind == "metric":
        return name == "infeasible" or name in METRICS.names
    return name in (SETUP if kind == "setup" else GETTERS).names


def _asked(task: Task) -> Iterator[tuple[Kind, str]]:
    check: Mapping[str, Any] = task.check if task.check and "func" in task.check else {}
    for step in [*task.setup, *(check.get("postconfig") or ())]:
        if "type" in step:
            yield "setup", str(step["type"])
    for key in ("result", "expected"):
        given = check.get(key) or []
        for config in given if isinstance(given, list) else [given]:
            if isinstance(config, Mapping) and config:
                yield "getter", str(config.get("type"))
    names = check.get("func") or []
    for name in [names] if isinstance(names, str) else names:
        yield "metric", str(name)
