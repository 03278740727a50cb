"""Pattern induction and synthesis by rules: what a run taught, and advice made of it (3.3.3).

A lesson is written only where one way was seen to fail and another one to work for the same
instruction. That a way worked at once says nothing of others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hisa.models.tokens import estimate_tokens
from hisa.offline.apps import find_app
from hisa.offline.instruction_records import Open
from hisa.offline.instructions import read_script
from hisa.offline.script_progress import HistoryStep, history_steps

__all__ = ["induce_patterns", "synthesise_advice"]

_MAX_PATTERNS = 3
_MAX_ADVICE = 5
_SAME = 85
"""Likeness, of 100, from which on two lessons say the same; a word of ten may differ."""
_SAVE_KEYS = "hotkey('ctrl', 'shift', 's')"
_NUMBER = re.compile(r"Instruction (\d+) of")
_LOOK = re.compile(r"Instruction [^:]*, look \d")
_MENU = re.compile(r'menu "([^"]{1,40})"')
_ENTRY = re.compile(r'"([^"]{1,40})"')
_Lesson = dict[str, str | list[int]]


@dataclass(frozen=True, slots=True)
class _Turn:
    """An instruction that failed one way and then was done another way.

    ``sort`` is what the application is called: "text editor", "spreadsheet". ``between`` was done
    in preparation after the failure, and worked.
    """

    sort: str
    failed: HistoryStep
    between: Sequence[HistoryStep]
    done: HistoryStep


def induce_patterns(sections: dict[str, str]) -> str:
    """At most three lessons as JSON; but for names of controls no text of the task is in them."""
    steps = tuple(history_steps(sections.get("steps", "")))
    instructions = read_script(sections.get("task", "")).instructions
    opened = next((step for step in instructions if isinstance(step, Open) and step.app), None)
    sort = find_app(opened.app).sort if opened else "application"
    found = filter(None, (_shortcut(turn) or _behind_menu(turn) for turn in _turns(steps, sort)))
    lessons = {str(lesson["lesson"]): lesson for lesson in reversed(list(found))}
    patterns = list(reversed(lessons.values()))[:_MAX_PATTERNS]
    return json.dumps({"patterns": patterns}, ensure_ascii=False)


def _turns(steps: Sequence[HistoryStep], sort: str) -> Iterator[_Turn]:
    """Where an instruction's first way did not succeed and its last one did, in order."""
    numbered: dict[str, list[HistoryStep]] = {}
    for step in steps:
        if (number := _NUMBER.match(step.thought)) is not None and step.tool == "gui_action":
            numbered.setdefault(number[1], []).append(step)
    for own in numbered.values():
        wrong = [place for place, step in enumerate(own) if step.verdict != "succeeded"]
        if not wrong:
            continue
        after = own[wrong[-1] + 1 :]
        done = [place for place, step in enumerate(after) if not _LOOK.match(step.thought)]
        if done:
            yield _Turn(sort, own[wrong[0]], after[: done[0]], after[done[0]])


def _shortcut(turn: _Turn) -> _Lesson | None:
    entry = next((s for s in [*turn.between, turn.done] if "Save As" in s.description), None)
    if entry is None or _SAVE_KEYS not in turn.failed.source:
        return None
    return _lesson(
        f"In the {turn.sort}, don't rely on the keyboard shortcut Ctrl+Shift+S to save under a new "
        "name; choose Save As in the File menu instead.",
        condition=f"Save the file under a new name in the {turn.sort}",
        actions='click the "File" menu; click "Save As"; type the whole path; press Enter',
        expected="With the shortcut no dialog for the file's name appeared.",
        steps=[turn.failed, entry],
    )


def _behind_menu(turn: _Turn) -> _Lesson | None:
    opened = turn.between[-1] if turn.between else None
    menu = _MENU.search(opened.description) if opened else None
    entry = _ENTRY.search(turn.failed.description)
    if opened is None or menu is None or entry is None:
        return None
    return _lesson(
        f'In the {turn.sort}, "{entry[1]}" is not found as long as its menu is closed: open the '
        f'"{menu[1]}" menu before "{entry[1]}".',
        condition=f'Click "{entry[1]}" in the {turn.sort}',
        actions=f'open the "{menu[1]}" menu; click "{entry[1]}"',
        expected="The first look for it found nothing; with the menu open it was there.",
        steps=[turn.failed, opened, turn.done],
    )


def _lesson(
    text: str, *, condition: str, actions: str, expected: str, steps: Sequence[HistoryStep]
) -> _Lesson:
    return {
        "type": "failure",
        "lesson": text,
        "condition": condition,
        "scope": "application",
        "actions": actions,
        "expected": expected,
        "steps": [step.number for step in steps],
    }


# ---------------------------------------------------------------- synthesis

_RECALLED = re.compile(
    r"\[(?P<mark>p\d{1,2})\] \((?:success|failure)(?:, (?P<score>-?\d{1,3}(?:\.\d{1,9})?))?\)"
    r" (?P<text>.+)"
)


def synthesise_advice(sections: dict[str, str], *, limit: int | None = None) -> str:
    """At most five lines that begin with ``- `` and a mark: the lessons by similarity.

    Args:
        sections: ``lessons``, where there are any.
        limit: most tokens of the answer.
    """
    lines = (_RECALLED.fullmatch(line.strip()) for line in sections.get("lessons", "").split("\n"))
    found = sorted((hit for hit in lines if hit), key=lambda hit: -float(hit["score"] or 0.5))
    kept: dict[str, str] = {}
    for hit in found:
        text = " ".join(hit["text"].split())
        more = _bullets({**kept, text: hit["mark"]})
        fits = len(kept) < _MAX_ADVICE and estimate_tokens(more) <= (limit or 1000)
        if fits and not _known(text, list(kept)):
            kept[text] = hit["mark"]
    return _bullets(kept)


def _bullets(lessons: dict[str, str]) -> str:
    return "\n".join(f"- [{mark}] {text}" for text, mark in lessons.items())


def _known(line: str, kept: Sequence[str]) -> bool:
    from rapidfuzz import fuzz

    return any(fuzz.token_sort_ratio(line, other) >= _SAME for other in kept)
