"""The stored program that does a task, by the words of its instruction."""

from __future__ import annotations

import logging
from difflib import SequenceMatcher
from pathlib import Path

from hisa.errors import UsageError
from hisa.plugins.replay.program_records import read_program
from hisa.protocols import Task

__all__ = ["fitting_program"]

_LONGEST = 4000  # characters of an instruction; no program has more
_log = logging.getLogger(__name__)


def fitting_program(task: Task, folder: Path) -> Path | str:
    """The one proved program whose instruction is the task's, but for blanks; else why none is."""
    words = task.instruction[:_LONGEST].split()
    fitting: list[Path] = []
    reasons: dict[float, str] = {}
    for file in sorted(folder.glob("*/program.yaml")):
        try:
            program = read_program(file.parent)
        except UsageError as error:
            _log.warning("left out: %s", error)
            continue
        own = program.instruction.split()
        if own == task.instruction.split() and program.proof:
            fitting.append(file.parent)
            continue
        says = f"its words are “{program.instruction[:200]}”"
        reason = says if program.proof else "no second run proved it"
        alike = SequenceMatcher(None, own, words).ratio()
        reasons.setdefault(alike, f"closest is {program.name}: {reason}")
    if len(fitting) > 1:
        return f"{', '.join(place.name for place in fitting)} fit it alike"
    return fitting[0] if fitting else reasons.get(max(reasons, default=0), "there is none")
