"""The stored program that does a task, by the words of its instruction.

A program's instruction is a template: what its marks stand for in the task's words are its values.
It fits as a whole or not at all, and in one way alone: what might be meant otherwise is left to
the planner.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hisa.errors import UsageError
from hisa.plugins.replay.program_records import FORMS, Program, mark, read_program
from hisa.protocols import Task
from hisa.text.prompt_text import one_line

__all__ = ["fitting_program", "values_in"]

_LONGEST = 4000  # characters of an instruction
_TRIES = 500  # places at which the next words are looked for
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "„": "“", "«": "»", "`": "`"}
_FURTHER = re.compile(r"[.;:!?,] |\b(?:and|then|or)\b", re.IGNORECASE)
"""Signs that words without quotes ask for something more."""
_log = logging.getLogger(__name__)


def fitting_program(
    task: Task, folder: Path, *, note: Callable[[str], object] = _log.warning
) -> tuple[Path, dict[str, str]] | None:
    """The one proved program that does a task, and its values; None: none does, or several.

    Of several, the one that says most in words of its own is it.

    Args:
        task: only its instruction is read.
        folder: of programs, each a folder.
        note: gets a line about each program that cannot be read.
    """
    fits: list[tuple[int, Path, dict[str, str]]] = []
    for file in sorted(folder.glob("*/program.yaml")):
        try:
            program = read_program(file.parent)
        except UsageError as error:
            note(f"left out: {one_line(str(error))[:300]}")
            continue
        values = values_in(program, task.instruction) if program.proof else None
        if values is not None:
            fits.append((len("".join(_pieces(program)[::2])), file.parent, values))
    most = max((own for own, _, _ in fits), default=0)
    best = [(place, values) for own, place, values in fits if own == most]
    return best[0] if len(best) == 1 else None


def values_in(program: Program, instruction: str) -> dict[str, str] | None:
    """Values with which a program's instruction says the same; None: none, or more than one way.

    Blanks and line breaks are alike. A parameter without a mark in it keeps its value where the
    instruction says that value; else nobody knows what it is to be, and the program does not fit.
    """
    if len(instruction) > _LONGEST:
        return None
    ways = _Ways(program, instruction).found()
    if ways is None or len(ways) != 1:
        return None
    (values,) = ways
    unsaid = [known.value for name, known in program.parameters.items() if name not in values]
    told = all(any(made(value) in instruction for made in FORMS.values()) for value in unsaid)
    return values if told else None


def _pieces(program: Program) -> list[str]:
    """The template with one kind of blanks: words of its own, a mark, words, a mark, … words."""
    marks = [mark(name, form) for name in program.parameters for form in FORMS]
    template = " ".join(program.instruction.split())
    return re.split(f"({'|'.join(map(re.escape, marks))})", template) if marks else [template]


class _Ways:
    """The ways to read an instruction as a template, at most two, within so many tries."""

    def __init__(self, program: Program, instruction: str) -> None:
        self._program, self._instruction = program, instruction
        self._words = " ".join(instruction.split())
        pieces = _pieces(program)
        self._own, self._marks = pieces[::2], pieces[1::2]
        self._left = _TRIES
        self._found: list[dict[str, str]] = []

    def found(self) -> Sequence[dict[str, str]] | None:
        """None where it was given up."""
        first, words = self._own[0], self._words
        if not self._marks:
            return [{}] if words == first else []
        says = any(letter.isalnum() for letter in "".join(self._own))
        if says and words.startswith(first) and words.endswith(self._own[-1]):
            self._read(0, len(first), {})
        return self._found if self._left > 0 else None

    def _read(self, number: int, at: int, values: Mapping[str, str]) -> None:
        """Take what stands from a place on for a mark, up to each place where the next words do."""
        if number == len(self._marks):
            if at == len(self._words) and values not in self._found:
                self._found.append(dict(values))
            return
        own, last = self._own[number + 1], number == len(self._marks) - 1
        end = len(self._words) - len(own) if last else self._words.find(own, at + 1)
        while at < end and self._left > 0 and len(self._found) < 2:
            self._left -= 1
            taken = self._taken(number, self._words[at:end], values)
            if taken is not None:
                self._read(number + 1, end + len(own), taken)
            end = -1 if last else self._words.find(own, end + 1)

    def _taken(self, number: int, text: str, values: Mapping[str, str]) -> Mapping[str, str] | None:
        """The values with what one more mark stands for; None: it cannot stand for that."""
        name, bar, form = self._marks[number][2:-2].partition("|")
        made, known = FORMS[bar + form], self._program.parameters[name].value
        before, after = self._own[number][-1:], self._own[number + 1][:1]
        quoted = before in _QUOTES and _QUOTES[before] == after
        further = after in text or before in text if quoted else _FURTHER.search(text)
        if "{{" in text or text != text.strip() or text not in self._instruction:
            return None
        if further and text != made(known):
            return None
        if name in values and made(values[name]) == text:
            return values
        if name in values:
            used = [other for other in FORMS if mark(name, other) in self._marks[:number]]
            same = not form and all(FORMS[f](text) == FORMS[f](values[name]) for f in used)
            return {**values, name: text} if same else None
        head, old, tail = known.rpartition(made(known))
        value = f"{head}{text}{tail}" if form and old else text
        return {**values, name: value} if made(value) == text else None
