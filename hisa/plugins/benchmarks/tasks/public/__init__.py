"""The pieces that the published tasks of OSWorld and Spider2-V ask for, without the tasks.

A file of this folder has one line per task, with tabs between domain, id, how metrics are combined,
metrics, getters of results and of expected values, setup steps, steps before scoring; commas
between names, "-" for none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hisa.errors import UsageError
from hisa.plugins.benchmarks.tasks.task_needs import Kind, Piece, Source, weakest

__all__ = ["NAMES", "PublicTask", "domains", "public_tasks", "read"]

_FOLDER = Path(__file__).parent
NAMES = tuple(sorted(path.stem for path in _FOLDER.glob("*.tsv")))
"""The benchmarks whose lists are here."""
_KINDS: tuple[Kind, ...] = ("metric", "getter", "getter", "setup", "setup")
"""Kinds of the pieces in the columns from the fourth on."""


@dataclass(frozen=True)
class PublicTask:
    """A published task and the pieces that it asks for."""

    domain: str
    id: str
    pieces: tuple[Piece, ...]


def public_tasks(name: str) -> tuple[PublicTask, ...]:
    """Returns the published tasks of a benchmark.

    Raises:
        UsageError: its list is not here.
    """
    if name not in NAMES:
        raise UsageError(f"no list of the tasks of {name!r}; there are {', '.join(NAMES)}")
    return read((_FOLDER / f"{name}.tsv").read_text("utf-8"))


def read(text: str) -> tuple[PublicTask, ...]:
    """Returns the tasks of a list.

    Raises:
        UsageError: a line does not have eight columns.
    """
    return tuple(_task(number, line) for number, line in enumerate(text.splitlines(), 1))


def _task(number: int, line: str) -> PublicTask:
    columns = line.split("\t")
    if len(columns) != 3 + len(_KINDS):
        raise UsageError(f"line {number}: {len(columns)} columns, 8 needed: {line[:80]!r}")
    domain, name, _, *lists = columns
    pieces = tuple(
        (kind, piece)
        for kind, names in zip(_KINDS, lists, strict=True)
        for piece in names.split(",")
        if piece != "-"
    )
    return PublicTask(domain, name, pieces)


def domains(tasks: Iterable[PublicTask]) -> dict[str, Counter[Source]]:
    """Counts each domain's tasks by their weakest piece: ours, OSWorld's package, or missing."""
    counts: dict[str, Counter[Source]] = {}
    for task in tasks:
        counts.setdefault(task.domain, Counter())[weakest(task.pieces)] += 1
    return counts
