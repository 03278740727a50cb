"""Model calls of runs for other programs, as JSON lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hisa.errors import UsageError
from hisa.runs.read import Run
from hisa.runs.turns import Turn, turns

__all__ = ["TurnFilter", "chosen_turns", "export_turns"]


@dataclass(frozen=True)
class TurnFilter:
    """Which model calls are exported; empty: all."""

    roles: frozenset[str] = frozenset()
    outcomes: frozenset[str] = frozenset()
    """How runs ended, such as "succeeded"."""
    min_score: float | None = None
    """Runs that were scored, and not below this; an unscored one is not 0, it is left out."""
    whole: bool = False
    """Only what was answered, with nothing redacted or cut, of runs whose machine did not fail."""

    def takes(self, turn: Turn) -> bool:
        """Whether a turn is one of them."""
        if self.roles and turn.role not in self.roles:
            return False
        if self.outcomes and turn.outcome not in self.outcomes:
            return False
        if self.min_score is not None and (turn.score is None or turn.score < self.min_score):
            return False
        lacking = turn.redacted or turn.cut or turn.reply is None or turn.machine_failed
        return not (self.whole and lacking)


def chosen_turns(runs: Iterable[Run], wanted: TurnFilter = TurnFilter()) -> Iterator[Turn]:
    """Yields the model calls of runs that a filter takes, in order."""
    return (turn for run in runs for turn in turns(run) if wanted.takes(turn))


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
