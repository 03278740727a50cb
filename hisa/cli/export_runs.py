"""Runs in one of the formats that are installed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from hisa.errors import UsageError
from hisa.machine import plugins
from hisa.runs.export import TurnFilter, chosen_turns, export_turns
from hisa.runs.read import Run

__all__ = ["export_runs"]

_GROUP = "runs.export."


def export_runs(
    runs: Sequence[Run],
    kind: str,
    output: Path | None,
    *,
    roles: Iterable[str] = (),
    outcomes: Iterable[str] = (),
    min_score: float | None = None,
    whole: bool = False,
) -> Path:
    """Write runs in a format; returns the file or folder.

    A package announces another as ``runs.export.NAME`` in ``hisa.commands``: a function of the
    turns, of a list of their runs, and of the path; it returns the path.

    Raises:
        UsageError: no such format, no run, or nothing that the format takes.
    """
    wanted = TurnFilter(frozenset(roles), frozenset(outcomes), min_score, whole)
    if not runs:
        raise UsageError("there is no run to export", fix="hisa runs ls")
    chosen = list(chosen_turns(runs, wanted))
    path = output or runs[0].folder / f"turns.{'jsonl' if kind == 'jsonl' else kind}"
    if kind == "jsonl":
        return export_turns(chosen, path)
    point = plugins.find("commands", f"{_GROUP}{kind}")
    if point is None:
        names = [name for name in plugins.announced_names("commands") if name.startswith(_GROUP)]
        others = [name.removeprefix(_GROUP) for name in names]
        raise UsageError(
            f"--format {kind!r}: allowed are {', '.join(['jsonl', *others])}",
            fix="hisa runs export --help",
        )
    with plugins.blaming_package("commands", point):
        written: Path = plugins.load("commands", point)(chosen, list(runs), path)
    return written
