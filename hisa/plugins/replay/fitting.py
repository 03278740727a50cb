"""The stored program that does a task, by the words of its instruction."""

from __future__ import annotations

import logging
from pathlib import Path

from hisa.errors import UsageError
from hisa.plugins.replay.program_records import read_program
from hisa.protocols import Task

__all__ = ["fitting_program"]

_log = logging.getLogger(__name__)


def fitting_program(task: Task, folder: Path) -> Path | str:
    """The one proved program whose instruction is the task's, but for blanks; else why none is."""
    fitting: list[Path] = []
    for file in sorted(folder.glob("*/program.yaml")):
        try:
            program = read_program(file.parent)
        except UsageError as error:
            _log.warning("left out: %s", error)
            continue
        if program.proof and program.instruction.split() == task.instruction.split():
            fitting.append(file.parent)
    if len(fitting) > 1:
        return f"{', '.join(place.name for place in fitting)} fit it alike"
    return fitting[0] if fitting else "none that is proved has its words"
