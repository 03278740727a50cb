"""Pattern induction and synthesis by rules: lessons of a run, and advice from them (HiSA, 3.3.3).

A lesson is written only if one way failed and another worked for the same instruction. A way that
worked at once says nothing about others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from hisa.models.tokens import estimate_tokens
from hisa.plugins.offline.apps import find_app
from hisa.plugins.offline.instruction_records import Open
from hisa.plugins.offline.instructions import read_script
from hisa.plugins.offline.script_progress import HistoryStep, read_history

__all__ = ["induce_patterns", "synthesise_advice"]

_MAX_PATTERNS = 3
_MAX_ADVICE = 5
_SAME = 85
"""Least likeness, of 100, of two lessons that say the same; one word of ten may differ."""
_NUMBER = re.compile(r"Instruction (\d+) of")
_LOOK = re.compile(r"Instruction [^:]*, look \d")
_MENU = re.compile(r'menu "([^"]{1,40})"')
_ENTRY = re.compile(r'"([^"]{1,40})"')
_Lesson = dict[str, str | list[int]]


def induce_patterns(sections: dict[str, str]) -> str:
    """Returns at most three lessons as JSON; of the task's text they have only control names."""
    steps = tuple(read_history(sections.get("steps", "")))
    instructions = read_script(sections.get("task", "")).instructions
    opened = next((step for step in instructions if isinstance(step, Open) and step.app), None)
    sort = find_app(opened.app).sort if opened else "application"
    found_lessons = list(_find_lessons(steps, sort))
    lessons = {str(lesson["lesson"]): lesson for lesson in reversed(found_lessons)}
    patterns = list(reversed(lessons.values()))[:_MAX_PATTERNS]
    return json.dumps({"patterns": patterns}, ensure_ascii=False)


def _find_lessons(steps: Sequence[HistoryStep], sort: str) -> Iterator[_Lesson]:
    """Yields a lesson for each instruction that failed at first and worked with a menu open.

    Args:
        steps: of the run, in order.
        sort: the sort of application: "text editor", "spreadsheet".
    """
    numbered: dict[str, list[HistoryStep]] = {}
    for step in steps:
        if (number := _NUMBER.match(step.thought)) is not None and step.tool == "gui_action":
            numbered.setdefault(number[1], []).append(step)
    for own in numbered.values():
        wrong = [place for place, step in enumerate(own) if step.verdict != "succeeded"]
        after = own[wrong[-1] + 1 :] if wrong else []
        first_act = next((n for n, step in enumerate(after) if not _LOOK.match(step.thought)), 0)
        if first_act:
            yield from _build_menu_lesson(
                sort, own[wrong[0]], after[first_act - 1], after[first_act]
            )


def _build_menu_lesson(
    sort: str, failed: HistoryStep, opened: HistoryStep, succeeded: HistoryStep
) -> Iterator[_Lesson]:
    menu, entry = _MENU.search(opened.description), _ENTRY.search(failed.description)
    if menu is None or entry is None:
        return
    yield {
        "type": "success",
        "lesson": (
            f'In the {sort}, "{entry[1]}" is not found as long as its menu is closed: open '
            f'the "{menu[1]}" menu before "{entry[1]}".'
        ),
        "condition": f'Click "{entry[1]}" in the {sort}',
        "scope": "application",
        "actions": f'open the "{menu[1]}" menu; click "{entry[1]}"',
        "expected": "The first look for it found nothing; with the menu open it was there.",
        "steps": [step.number for step in (opened, succeeded)],
    }


# ---------------------------------------------------------------- synthesis

_RECALLED = re.compile(
    r"\[(?P<mark>p\d{1,2})\] \((?:success|failure)(?:, (?P<score>-?\d{1,3}(?:\.\d{1,9})?))?\)"
    r" (?P<text>.+)"
)


def synthesise_advice(sections: dict[str, str], *, limit: int | None = None) -> str:
    """Returns at most five lines that begin with ``- `` and a mark: lessons by similarity.

    Args:
        sections: ``lessons``, if there are any.
        limit: most tokens of the answer; None: 1,000.
    """
    lines = (_RECALLED.fullmatch(line.strip()) for line in sections.get("lessons", "").split("\n"))
    hits = sorted((hit for hit in lines if hit), key=lambda hit: -float(hit["score"] or 0.5))
    chosen: dict[str, str] = {}
    for hit in hits:
        text = " ".join(hit["text"].split())
        more = _bullets({**chosen, text: hit["mark"]})
        fits = len(chosen) < _MAX_ADVICE and estimate_tokens(more) <= (limit or 1000)
        if fits and not _is_repeated(text, list(chosen)):
            chosen[text] = hit["mark"]
    return _bullets(chosen)


def _bullets(lessons: dict[str, str]) -> str:
    return "\n".join(f"- [{mark}] {text}" for text, mark in lessons.items())


def _is_repeated(line: str, lines: Sequence[str]) -> bool:
    from rapidfuzz import fuzz

    return any(fuzz.token_sort_ratio(line, other) >= _SAME for other in lines)
