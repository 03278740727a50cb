"""The stored program that does a task, by the words of its instruction."""

from __future__ import annotations

import re
from pathlib import Path

from hisa.plugins.replay.program_records import FORMS, Program, read_program
from hisa.protocols import Task

__all__ = ["fitting_program"]


def fitting_program(task: Task, folder: Path) -> tuple[Path, dict[str, str]] | None:
    """The one proved program that does a task, and its values; None: none does, or several."""
    fits = []
    for file in sorted(folder.glob("*/program.yaml")):
        program = read_program(file.parent)
        own = re.split(r"{{(\w+)(\|\w+)?}}", program.instruction)
        pattern = "".join("(.+?)" if n % 3 == 1 else re.escape(text)
                          for n, text in enumerate(own) if n % 3 < 2)  # fmt: skip
        if program.proof and (said := re.fullmatch(pattern, task.instruction)):
            values = _values(program, own, said.groups())
            fits += [(len("".join(own[::3])), file.parent, values)] if values is not None else []
    best = [fit for fit in fits if fit[0] == max(fits)[0]]
    return best[0][1:] if len(best) == 1 else None


def _values(program: Program, own: list[str], said: tuple[str, ...]) -> dict[str, str] | None:
    marks = list(zip(own[1::3], own[2::3], said, strict=True))
    values = {name: text for name, form, text in marks if not form}
    known = {name: values.get(name, old.value) for name, old in program.parameters.items()}
    told = all(FORMS[form or ""](known.get(name, "")) == text for name, form, text in marks)
    return values if told else None
