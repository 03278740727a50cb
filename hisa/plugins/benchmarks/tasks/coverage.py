"""The pieces that task files name, and their source: ours, OSWorld's package, or missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hisa.config import TaskSettings
from hisa.errors import UsageError
from hisa.machine.plugins import announced_names
from hisa.plugins.benchmarks.tasks.benchmark import OSWORLD, SPIDER2V
from hisa.plugins.benchmarks.tasks.cache import FileCache
from hisa.plugins.benchmarks.tasks.data_files import is_data_file
from hisa.plugins.benchmarks.tasks.expected_files import expected_problems
from hisa.plugins.benchmarks.tasks.getters import GETTERS
from hisa.plugins.benchmarks.tasks.metrics import METRICS
from hisa.plugins.benchmarks.tasks.osworld_metrics import find_osworld_metric, install_commands
from hisa.plugins.benchmarks.tasks.setup import SETUP
from hisa.protocols import Task
from hisa.tasks.find_format import problems
from hisa.tasks.taskfile import load_task

__all__ = [
    "CoverageRow",
    "Kind",
    "LoadedFile",
    "Piece",
    "Source",
    "counted",
    "coverage",
    "load_folder",
    "source",
    "weakest",
]

_ENDINGS = (".json", ".yaml", ".yml")
Kind = Literal["setup", "getter", "metric"]
_KINDS: tuple[Kind, ...] = ("setup", "getter", "metric")
Piece = tuple[Kind, str]
"""A setup step, getter or metric by its name."""
Source = Literal["ours", "theirs", "missing"]
"""theirs: a metric that only OSWorld's package has."""
_SOURCES: tuple[Source, ...] = ("ours", "theirs", "missing")


@dataclass(frozen=True)
class LoadedFile:
    """A file of a folder: a task, or the reason why it is not one."""

    path: Path
    task: Task | None
    reason: str = ""
    """Empty where the task can be run and scored."""
    domain: str = ""
    """The list of its benchmark that it is in, or the domain that a task of one's own has."""

    @property
    def usable(self) -> bool:
        """Whether the task can be run and scored here."""
        return self.task is not None and not self.reason


@dataclass(frozen=True)
class CoverageRow:
    """A setup step, getter or metric that task files ask for."""

    kind: Kind
    name: str
    source: Source
    lacks: str
    """The command that installs what one of theirs still needs here; else empty."""
    tasks: int
    """In how many task files it occurs."""
    uses: int
    """How often it occurs in all."""


def load_folder(folder: Path, settings: TaskSettings | None = None) -> list[LoadedFile]:
    """Every task file below a folder, in order of its path, as a task or with its reason.

    Data among them, such as an expected result or a list of ids, is left out.

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
    return [_load(path, folder, settings) for path in paths if not is_data_file(path)]


def _load(path: Path, folder: Path, settings: TaskSettings | None) -> LoadedFile:
    try:
        task = load_task(path)
    except UsageError as error:
        return LoadedFile(path, None, str(error), _domain(path, folder, ""))
    domain = _domain(path, folder, task.domain, own=task.format not in (OSWORLD, SPIDER2V))
    settings = settings or TaskSettings()
    wrong = [*problems(task, settings), *expected_problems(task, FileCache.by(settings))]
    return LoadedFile(path, task, "; ".join(wrong), domain)


def _domain(path: Path, folder: Path, guessed: str, *, own: bool = False) -> str:
    """The benchmark's list that a file is in: ``DOMAIN/ID.json`` or ``DOMAIN/ID/ID.json``."""
    above = path.parent.parent if path.stem == path.parent.name else path.parent
    listed = not own and (above != folder or "examples" in above.parts[:-1])
    return above.name if listed else guessed or "general"


def coverage(folder: Path) -> list[CoverageRow]:
    """A row for each setup step, getter and metric in the benchmark task files of a folder."""
    loaded = load_folder(folder)
    return counted(list(_asked(file.task)) for file in loaded if file.task is not None)


def counted(tasks: Iterable[Iterable[Piece]]) -> list[CoverageRow]:
    """A row for each piece that tasks ask for, by kind, then by falling number of tasks."""
    in_tasks: Counter[Piece] = Counter()
    uses: Counter[Piece] = Counter()
    for pieces in map(list, tasks):
        uses.update(pieces)
        in_tasks.update(set(pieces))
    rows = [_row(piece, in_tasks[piece], count) for piece, count in uses.items()]
    return sorted(rows, key=lambda row: (_KINDS.index(row.kind), -row.tasks, row.name))


def _row(piece: Piece, tasks: int, uses: int) -> CoverageRow:
    whose = source(piece)
    lacks = install_commands(piece[1]) if whose == "theirs" else ""
    return CoverageRow(*piece, whose, lacks, tasks, uses)


def source(piece: Piece) -> Source:
    """Whose a piece is; ours goes first where both have it."""
    kind, name = piece
    if kind == "metric":
        if name == "infeasible" or name in METRICS.names or name in announced_names("metrics"):
            return "ours"
        return "missing" if find_osworld_metric(name) is None else "theirs"
    return "ours" if name in (SETUP if kind == "setup" else GETTERS).names else "missing"


def weakest(pieces: Iterable[Piece]) -> Source:
    """Returns the weakest source of a task's pieces: "ours" if all are, "missing" if one is."""
    return max(map(source, pieces), key=_SOURCES.index, default="ours")


def _asked(task: Task) -> Iterator[Piece]:
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
