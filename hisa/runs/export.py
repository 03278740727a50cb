"""Exports the model calls of runs: as JSON lines, or in a format that a package registers.

A package registers a format as ``runs.export.NAME`` in the entry-point group ``hisa.commands``: a
function that takes the turns, a list of their runs and the path to write to, and returns the path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from hisa.errors import UsageError
from hisa.machine import plugins
from hisa.runs.run_reader import Run
from hisa.runs.turns import Turn, turns

__all__ = ["export_runs", "export_turns", "select_turns"]

_GROUP = "runs.export."


def select_turns(
    runs: Iterable[Run], *, min_score: float | None = None, complete_only: bool = False
) -> Iterator[Turn]:
    """Yields the model calls of runs, in order.

    Args:
        runs: the runs, in order.
        min_score: only calls of runs with at least this score, 0 to 1; an unscored run does not
            count as 0. None: of all runs.
        complete_only: only calls that were answered and are neither redacted nor cut, of runs
            whose machine did not fail.
    """
    for turn in (turn for run in runs for turn in turns(run)):
        scored = min_score is None or (turn.score is not None and turn.score >= min_score)
        lacking = turn.redacted or turn.cut or turn.reply is None or turn.machine_failed
        if scored and not (complete_only and lacking):
            yield turn


def export_runs(
    runs: Sequence[Run],
    kind: str,
    output: Path | None,
    *,
    min_score: float | None = None,
    complete_only: bool = False,
) -> Path:
    """Write the chosen turns of runs in a format; returns the file or folder.

    Args:
        runs: the runs, in order.
        kind: the format: "jsonl", or one that a package registers.
        output: the file or folder to write; None: ``turns.KIND`` in the first run's folder.
        min_score: see `select_turns`.
        complete_only: see `select_turns`.

    Raises:
        UsageError: no such format, no run, or no turn that the format can hold.
    """
    if not runs:
        raise UsageError("there is no run to export", fix="hisa runs ls")
    chosen = list(select_turns(runs, min_score=min_score, complete_only=complete_only))
    path = output or runs[0].folder / f"turns.{kind}"
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


def export_turns(chosen: Iterable[Turn], path: Path) -> Path:
    """Write model calls to a file, one JSON object per line; see `hisa.runs.turns.Turn`.

    Raises:
        UsageError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", errors="replace") as file:
            file.writelines(f"{turn.model_dump_json()}\n" for turn in chosen)
    except OSError as error:
        raise UsageError(
            f"cannot write {str(path)!r}: {error.strerror}", fix="choose another file with -o FILE"
        ) from error
    return path
