"""The stored program that does a task, by the words of its instruction.

A program's instruction is a template. It fits as a whole or not at all, and in one way alone: what
might be meant otherwise is left to the planner.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
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
) -> tuple[Path, dict[str, str]] | str:
    """The one proved program that does a task, and its values; else why none does.

    Of several, the one that says most in words of its own is it; only the instruction is read.
    ``note`` gets a line about each program of the folder that cannot be read.
    """
    fits: dict[int, list[tuple[Path, dict[str, str]]]] = {}
    reasons: dict[float, str] = {}
    for file in sorted(folder.glob("*/program.yaml")):
        try:
            program = read_program(file.parent)
        except UsageError as error:
            note(f"left out: {error}")
            continue
        unproved = "" if program.proof else "no second run proved it"
        values = unproved or values_in(program, task.instruction)
        if isinstance(values, str):
            words = task.instruction[:_LONGEST].split()
            alike = SequenceMatcher(None, program.instruction.split(), words).ratio()
            reasons.setdefault(alike, f"closest is {program.name}: {values}")
        else:
            own = len("".join(_pieces(program)[::2]))
            fits.setdefault(own, []).append((file.parent, values))
    if not fits:
        return reasons[max(reasons)] if reasons else "there is none"
    best = fits[max(fits)]
    return best[0] if len(best) == 1 else f"{', '.join(p.name for p, _ in best)} fit it alike"


def values_in(program: Program, instruction: str) -> dict[str, str] | str:
    """Values with which a program's instruction says the same; else why there are none.

    Blanks and line breaks are alike. A parameter without a mark keeps its value where the template
    says that value, and where one run alone showed it: its words are that run's. Of several runs
    with other values nobody knows which it is to be, and the program does not fit.
    """
    pieces, values = _pieces(program), dict[str, str]()
    own = "".join(pieces[::2])
    words = " ".join(instruction.split()) if len(instruction) <= _LONGEST else ""
    texts = _texts(pieces[::2], words)
    if texts is None or not re.search(r"\w", own) or any(t not in instruction for t in texts):
        return f"its words are “{''.join(pieces)[:200]}”"
    by_mark = dict(zip(pieces[1::2], texts, strict=True))
    if [by_mark[sign] for sign in pieces[1::2]] != texts:
        return "the task has two texts for one parameter"
    for name, known in program.parameters.items():
        forms = [
            (made, by_mark[sign])
            for form, made in FORMS.items()
            if (sign := mark(name, form)) in by_mark
        ]
        for made, text in forms[:1]:  # the value itself, where it is told
            head, old, tail = known.value.rpartition(made(known.value))
            values[name] = head + text + tail if old else text
        if any(made(values[name]) != text for made, text in forms):
            return f"the task has two texts for {name}"
        is_said = forms or any(stands(made(known.value), own) for made in FORMS.values())
        if not is_said and len(program.source) > 1:
            return f"no words of the task say what {name} is to be (hisa replay --set {name}=…)"
    around = zip(pieces[:-1:2], texts, pieces[2::2], strict=True)
    recorded = {known.value for known in program.parameters.values()}
    unlike = [t for b, t, a in around if not _is_plain(t, b[-1:] + a[:1]) and t not in recorded]
    return f"“{unlike[0][:200]}” may ask for more" if unlike else values


def _pieces(program: Program) -> list[str]:
    """The template with one kind of blanks: words of its own, a mark, words, a mark, … words."""
    template = " ".join(program.instruction.split())
    marks = [re.escape(mark(name, form)) for name in program.parameters for form in FORMS]
    return re.split(f"({'|'.join(marks)})", template) if marks else [template]


def _texts(own: Sequence[str], words: str) -> list[str] | None:
    """The texts between words of a template, in order; None: there is no way, or more than one.

    The way with the first places of its words and the one with the last bound all others.
    """
    inner, size = own[1:-1], len(own[0]) + len(own[-1])
    if len(own) == 1 or "" in inner:
        return [] if list(own) == [words] else None
    if len(words) <= size or not (words.startswith(own[0]) and words.endswith(own[-1])):
        return None
    rest = words[len(own[0]) : len(words) - len(own[-1])]
    texts = _cut(rest, inner)
    mirrored = _cut(rest[::-1], [part[::-1] for part in reversed(inner)])
    return texts if all(texts) and texts == [text[::-1] for text in reversed(mirrored)] else None


def _cut(words: str, inner: Sequence[str]) -> list[str]:
    texts = []
    for part in inner:
        text, _, words = words.partition(part)
        texts.append(text)
    return [*texts, words]


def _is_plain(text: str, around: str) -> bool:
    """Whether a mark with these signs around it may stand for a text, and it asks for no more."""
    further = set(around) & set(text) if around in _QUOTES else _FURTHER.search(text)
    return text == text.strip() and "{{" not in text and not further
