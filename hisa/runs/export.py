"""Model calls of runs for other programs: JSON lines, or a format that a package announces.

A package announces one as ``runs.export.NAME`` in ``hisa.commands``: a function of the turns, of a
list of their runs, and of the path; it returns the path.
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
        runs: whose calls.
        min_score: only of runs that were scored, and not below this; an unscored one is not 0.
        complete_only: only what was answered, not redacted and not cut, of runs whose machine
            did not fail.
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

    Raises:
        UsageError: no such format, no run, or nothing that the format takes.
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
    """Write model calls to a file, one JSON object a line; see `hisa.runs.turns.Turn`.

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
