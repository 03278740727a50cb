"""The stored program that does a task, by the words of its instruction.

A program's instruction is a template. It fits as a whole or not at all, and in one way alone: what
might be meant otherwise is left to the planner.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from hisa.errors import UsageError
from hisa.plugins.replay.program_records import FORMS, Program, mark, read_program
from hisa.plugins.replay.proving import stands
from hisa.protocols import Task

__all__ = ["fitting_program", "values_in"]

_LONGEST, _TRIES = 4000, 500
"""Characters of an instruction, and places in it at which the next words are looked for."""
_QUOTES = frozenset(['""', "''", "“”", "‘’", "„“", "«»", "``"])
_FURTHER = re.compile(r"[.;:!?,] |\b(?:and|then|or)\b", re.IGNORECASE)
"""Signs that words without quotes ask for something more."""
_log = logging.getLogger(__name__)


def fitting_program(
    task: Task, folder: Path, *, note: Callable[[str], object] = _log.warning
) -> tuple[Path, dict[str, str]] | None:
    """The one proved program that does a task, and its values; None: none does, or several.

    Of several, the one that says most in words of its own is it; only the instruction is read.
    ``note`` gets a line about each program of the folder that cannot be read.
    """
    fits: dict[int, list[tuple[Path, dict[str, str]]]] = {0: []}
    for file in sorted(folder.glob("*/program.yaml")):
        try:
            program = read_program(file.parent)
        except UsageError as error:
            note(f"left out: {error}")
            continue
        values = values_in(program, task.instruction) if program.proof else None
        if values is not None:
            own = len("".join(_pieces(program)[::2]))
            fits.setdefault(own, []).append((file.parent, values))
    best = fits[max(fits)]
    return best[0] if len(best) == 1 else None


def values_in(program: Program, instruction: str) -> dict[str, str] | None:
    """Values with which a program's instruction says the same; None: none, or more than one way.

    Blanks and line breaks are alike. A parameter without a mark keeps its value where the template
    says that value; else nobody knows what it is to be, and the program does not fit.
    """
    pieces = _pieces(program)
    if len(instruction) > _LONGEST or not re.search(r"\w", "".join(pieces[::2])):
        return None
    known = {mark(n, f): FORMS[f](p.value) for n, p in program.parameters.items() for f in FORMS}
    tries = list(islice(_ways(pieces, " ".join(instruction.split()), {}, known), _TRIES))
    found = [texts for texts in tries if texts is not None]
    if len(found) != 1 or len(tries) == _TRIES:
        return None
    verbatim = all(text in instruction for text in found[0].values())
    return _bound(program, found[0], "".join(pieces[::2])) if verbatim else None


def _pieces(program: Program) -> list[str]:
    """The template with one kind of blanks: words of its own, a mark, words, a mark, … words."""
    template, marks = (
        " ".join(program.instruction.split()),
        "|".join(re.escape(mark(name, form)) for name in program.parameters for form in FORMS),
    )
    return re.split(f"({marks})", template) if marks else [template]


def _ways(
    pieces: Sequence[str], words: str, texts: Mapping[str, str], known: Mapping[str, str]
) -> Iterator[Mapping[str, str] | None]:
    """The texts of the marks, in each way in which words can be read; None for each try."""
    own = pieces[0]
    if len(pieces) == 1 or not words.startswith(own):
        yield texts if words == own else None
        return
    words = words[len(own) :]
    _, sign, after, *further = pieces
    last = [len(words) - len(after)] if not further else None
    for end in last or (m.start() for m in re.finditer(f"(?={re.escape(after)})", words)):
        yield None
        text = words[: max(0, end)]
        if _can_be(text, own[-1:] + after[:1], known.get(sign)) and text == texts.get(sign, text):
            yield from _ways(pieces[2:], words[end:], {**texts, sign: text}, known)


def _can_be(text: str, around: str, known: str | None) -> bool:
    """Whether a mark, with these signs around it, may stand for a text."""
    plain = bool(text) and text == text.strip() and "{{" not in text
    further = set(around) & set(text) if around in _QUOTES else _FURTHER.search(text)
    return plain and (not further or text == known)


def _bound(program: Program, texts: Mapping[str, str], own: str) -> dict[str, str] | None:
    """The values of which the texts are forms."""
    values: dict[str, str] = {}
    for name, known in program.parameters.items():
        told = {f: texts[mark(name, f)] for f in FORMS if mark(name, f) in texts}
        if not told and not any(stands(made(known.value), own) for made in FORMS.values()):
            return None
        for form, text in list(told.items())[:1]:  # the value itself, where it is told
            head, old, tail = known.value.rpartition(FORMS[form](known.value))
            values[name] = head + text + tail if old else text
        if any(FORMS[form](values[name]) != text for form, text in told.items()):
            return None
    return values
