"""The stored program that does a task, by the words of its instruction.

A program's instruction is a template. It fits as a whole or not at all, and in one way alone: what
might be meant otherwise is left to the planner.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from hisa.errors import UsageError
from hisa.plugins.replay.program_records import FORMS, Program, mark, read_program, stands
from hisa.protocols import Task

__all__ = ["fitting_program", "values_in"]

_LONGEST = 4000  # characters of an instruction; no template has more
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
    own = "".join(pieces[::2])
    values: dict[str, str] = {}
    words = " ".join(instruction.split()) if len(instruction) <= _LONGEST else ""
    texts = _texts(pieces[::2], words)
    if texts is None or not re.search(r"\w", own) or any(t not in instruction for t in texts):
        return None
    marks = list(zip(pieces[1::2], texts, strict=True))
    for name, known in program.parameters.items():
        told = [(m(known.value), m, t) for f, m in FORMS.items() for sign, t in marks
                if sign == mark(name, f)]  # fmt: skip
        if not told and not any(stands(made(known.value), own) for made in FORMS.values()):
            return None
        for old, _, text in told[:1]:  # the value itself, where it is told
            head, found, tail = known.value.rpartition(old)
            values[name] = head + text + tail if found else text
        if any(made(values[name]) != text for _, made, text in told):
            return None
    around = zip(pieces[:-1:2], texts, pieces[2::2], strict=True)
    recorded = {known.value for known in program.parameters.values()}
    plain = all(_is_plain(t, b[-1:] + a[:1]) or t in recorded for b, t, a in around)
    return values if plain else None


def _pieces(program: Program) -> list[str]:
    """The template with one kind of blanks: words of its own, a mark, words, a mark, … words."""
    template, marks = (
        " ".join(program.instruction.split()),
        "|".join(re.escape(mark(name, form)) for name in program.parameters for form in FORMS),
    )
    return re.split(f"({marks})", template) if marks else [template]


def _texts(own: Sequence[str], words: str) -> list[str] | None:
    """What stands between words of a template, in order; None: that is not one way alone.

    The way with the first places of its words and the one with the last bound all others.
    """
    if len(own) == 1 or "" in own[1:-1]:
        return [] if list(own) == [words] else None
    size = len(own[0]) + len(own[-1])
    if len(words) <= size or not (words.startswith(own[0]) and words.endswith(own[-1])):
        return None
    first = last = words[len(own[0]) : len(words) - len(own[-1])]
    texts: list[str] = []
    again: list[str] = []
    for inner, other in zip(own[1:-1], own[-2:0:-1], strict=True):
        text, _, first = first.partition(inner)
        last, _, tail = last.rpartition(other)
        texts, again = [*texts, text], [tail, *again]
    texts, again = [*texts, first], [last, *again]
    return texts if texts == again and all(texts) else None


def _is_plain(text: str, around: str) -> bool:
    """Whether a mark with these signs around it may stand for a text, and it asks for no more."""
    further = set(around) & set(text) if around in _QUOTES else _FURTHER.search(text)
    return text == text.strip() and "{{" not in text and not further
