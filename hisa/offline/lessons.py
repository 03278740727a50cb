"""Pattern induction and synthesis by rules: what a run taught, and advice made of it (3.3.3).

A lesson is written only where one way was seen to fail and another one to work for the same
instruction. That a way worked at once says nothing of others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hisa.models.tokens import estimate_tokens
from hisa.offline.apps import find_app
from hisa.offline.instructions import read_script
from hisa.offline.progress import HistoryStep, history_steps
from hisa.offline.records import Open
from hisa.verdicts import split_verdict

__all__ = ["MAX_ADVICE", "MAX_PATTERNS", "induce_patterns", "synthesise_advice"]

MAX_PATTERNS = 3
MAX_ADVICE = 5
_SAME = 85
_SAVE_KEYS = re.compile(r"hotkey\('ctrl', 'shift', 's'\)")
_NAME_BOX = re.compile(r"hotkey\('ctrl', 'shift', 't'\)")
_CELL = re.compile(r"table cell |\bcell ")
_NUMBER = re.compile(r"Instruction (\d+) of")
_LOOK = re.compile(r"Instruction [^:]*, look \d")
_MENU = re.compile(r'menu "([^"]{1,40})"')
_ENTRY = re.compile(r'(?:menu item )?"([^"]{1,40})"')


@dataclass(frozen=True, slots=True)
class _Turn:
    """An instruction that failed one way and then was done another way."""

    sort: str
    """What the application is called: "text editor", "spreadsheet", …"""
    failed: HistoryStep
    between: Sequence[HistoryStep]
    """What was done in preparation after the failure; all of it worked."""
    done: HistoryStep


@dataclass(frozen=True, slots=True)
class _Lesson:
    lesson: str
    condition: str
    actions: str
    expected: str
    steps: tuple[int, ...]


def induce_patterns(sections: dict[str, str]) -> str:
    """At most three lessons as JSON; but for names of controls no text of the task is in them."""
    steps = tuple(history_steps(sections.get("steps", "")))
    instructions = read_script(sections.get("task", "")).instructions
    opened = next((step for step in instructions if isinstance(step, Open) and step.app), None)
    sort = find_app(opened.app).sort if opened else "application"
    found: dict[str, _Lesson] = {}
    for turn in _turns(steps, sort):
        lesson = next((made for rule in _RULES if (made := rule(turn)) is not None), None)
        if lesson is not None:
            found.setdefault(lesson.lesson, lesson)
    patterns = [
        {
            "type": "failure",
            "lesson": lesson.lesson,
            "condition": lesson.condition,
            "scope": "application",
            "actions": lesson.actions,
            "expected": lesson.expected,
            "steps": lesson.steps,
        }
        for lesson in list(found.values())[:MAX_PATTERNS]
    ]
    return json.dumps({"patterns": patterns}, ensure_ascii=False)


def _succeeded(step: HistoryStep) -> bool:
    return split_verdict(step.result)[0] == "succeeded"


def _turns(steps: Sequence[HistoryStep], sort: str) -> Iterator[_Turn]:
    """Where an instruction's first way did not succeed and its last one did, in order."""
    numbered: dict[str, list[HistoryStep]] = {}
    for step in steps:
        if (number := _NUMBER.match(step.thought)) is not None and step.tool == "gui_action":
            numbered.setdefault(number[1], []).append(step)
    for own in numbered.values():
        wrong = [place for place, step in enumerate(own) if not _succeeded(step)]
        if not wrong:
            continue
        after = own[wrong[-1] + 1 :]
        done = [place for place, step in enumerate(after) if not _LOOK.match(step.thought)]
        if done:
            yield _Turn(sort, own[wrong[0]], after[: done[0]], after[done[0]])


# ---------------------------------------------------------------- rules, the most useful first


def _shortcut(turn: _Turn) -> _Lesson | None:
    entry = next((s for s in [*turn.between, turn.done] if "Save As" in s.description), None)
    if entry is None or not _SAVE_KEYS.search(turn.failed.source):
        return None
    return _Lesson(
        f"In the {turn.sort}, don't rely on the keyboard shortcut Ctrl+Shift+S to save under a new "
        "name; choose Save As in the File menu instead.",
        f"Save the file under a new name in the {turn.sort}",
        'click the "File" menu; click "Save As"; type the whole path; press Enter',
        "With the shortcut no dialog for the file's name appeared.",
        (turn.failed.number, entry.number),
    )


def _behind_menu(turn: _Turn) -> _Lesson | None:
    opened = turn.between[-1] if turn.between else None
    menu = _MENU.search(opened.description) if opened else None
    entry = _ENTRY.search(turn.failed.description)
    if opened is None or menu is None or entry is None:
        return None
    return _Lesson(
        f'In the {turn.sort}, "{entry[1]}" is not found as long as its menu is closed: open the '
        f'"{menu[1]}" menu before "{entry[1]}".',
        f'Click "{entry[1]}" in the {turn.sort}',
        f'open the "{menu[1]}" menu; click "{entry[1]}"',
        "The first look for it found nothing; with the menu open it was there.",
        (turn.failed.number, opened.number, turn.done.number),
    )


def _cell_by_address(turn: _Turn) -> _Lesson | None:
    if not _CELL.search(turn.failed.description) or not _NAME_BOX.search(turn.done.source):
        return None
    return _Lesson(
        "In the spreadsheet, a cell that is not shown cannot be clicked: go to it by its address "
        "in the name box instead.",
        "Go to a cell of a spreadsheet",
        "press Ctrl+Shift+T; type the address; press Enter",
        "The click found no such cell; the name box went there.",
        (turn.failed.number, turn.done.number),
    )


def _not_found(turn: _Turn) -> _Lesson | None:
    if turn.between or "not found" not in turn.failed.result:
        return None
    return _Lesson(
        f"In the {turn.sort}, don't repeat a description that was not found: point at the element "
        "by its exact listed name or position instead.",
        f"Click an element in the {turn.sort}",
        "read the listed elements; use the exact role and name, or the listed position",
        "The first description was not found; the other way to point at it worked.",
        (turn.failed.number, turn.done.number),
    )


_RULES: tuple[Callable[[_Turn], _Lesson | None], ...] = (
    _shortcut,
    _behind_menu,
    _cell_by_address,
    _not_found,
)


# ---------------------------------------------------------------- synthesis

_LESSON = re.compile(
    r"\[(?P<mark>p\d{1,2})\] \((?:success|failure)(?:, (?P<score>-?[\d.]+))?\) (?P<text>.+)"
)


def synthesise_advice(sections: dict[str, str], *, limit: int | None = None) -> str:
    """At most five lines that begin with ``- `` and a mark: the lessons by similarity.

    Args:
        sections: ``lessons``, where there are any.
        limit: most tokens of the answer.
    """
    lines = (_LESSON.fullmatch(line.strip()) for line in sections.get("lessons", "").split("\n"))
    found = sorted((hit for hit in lines if hit), key=lambda hit: -_score(hit))
    kept: dict[str, str] = {}
    for hit in found:
        text = " ".join(hit["text"].split())
        more = _bullets({**kept, text: hit["mark"]})
        fits = len(kept) < MAX_ADVICE and estimate_tokens(more) <= (limit or 1000)
        if fits and not _known(text, list(kept)):
            kept[text] = hit["mark"]
    return _bullets(kept)


def _bullets(lessons: dict[str, str]) -> str:
    return "\n".join(f"- [{mark}] {text}" for text, mark in lessons.items())


def _score(hit: re.Match[str]) -> float:
    try:
        return float(hit["score"] or 0.5)
    except ValueError:
        return 0.5


def _known(line: str, kept: Sequence[str]) -> bool:
    from rapidfuzz import fuzz

    return any(fuzz.token_sort_ratio(line, other) >= _SAME for other in kept)
