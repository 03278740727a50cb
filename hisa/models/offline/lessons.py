"""Pattern induction and synthesis by rules: what a run taught, and advice made of it (3.3.3)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hisa.models.offline.apps import find_app
from hisa.models.offline.instructions import read_script
from hisa.models.offline.progress import HistoryStep, history_steps
from hisa.models.offline.records import (
    Click,
    GoTo,
    Instruction,
    Open,
    Press,
    Run,
    SaveAs,
    Scroll,
    Tick,
    Type,
)

__all__ = ["MAX_ADVICE", "MAX_PATTERNS", "induce_patterns", "synthesise_advice"]

MAX_PATTERNS = 3
MAX_ADVICE = 5
_SAME = 85
_RULE_SHARE = 0.6
"""Part of the room that requirements keep where there are lessons."""
_LESSON_LINES = 3
"""Lines that lessons may claim beside many requirements."""
_SAVE_KEYS = re.compile(r"hotkey\('ctrl', 'shift', 's'\)")
_NAMED = re.compile(r"hotkey\('ctrl', 'a'\).*write\(", re.S)
_INTO = re.compile(r"[cC]lick\(.*?\);.*write\(", re.S)
_LAUNCH = re.compile(r"setsid -f ")
_NAME_BOX = re.compile(r"hotkey\('ctrl', 'shift', 't'\)")
_CELL = re.compile(r"table cell ")
_NUMBER = re.compile(r"Instruction (\d+) of")
_DOING: tuple[tuple[type[Instruction], str], ...] = (
    (Type, "type text"),
    (GoTo, "go to cells"),
    (Press, "press keys"),
    (Click, "click things"),
    (Tick, "tick boxes"),
    (Scroll, "scroll"),
    (Run, "run a command"),
    (SaveAs, "save the file under a name"),
)


@dataclass(frozen=True, slots=True)
class _Run:
    steps: Sequence[HistoryStep]
    sort: str
    """What the application is called: "text editor", "spreadsheet", …"""

    def worked(self, pattern: re.Pattern[str]) -> bool:
        """Whether an input of that form succeeded."""
        return any(step.ok and pattern.search(step.source) for step in self.steps)


@dataclass(frozen=True, slots=True)
class _Lesson:
    type: str
    lesson: str
    actions: str
    expected: str


def induce_patterns(sections: dict[str, str]) -> str:
    """At most three lessons as JSON, general by construction: no text of the task is in them."""
    steps = tuple(history_steps(sections.get("steps", "")))
    instructions = read_script(sections.get("task", "")).instructions
    opened = next((step for step in instructions if isinstance(step, Open) and step.app), None)
    sort = find_app(opened.app).sort if opened else "application"
    run = _Run(steps, sort)
    found = [lesson for rule in _RULES if (lesson := rule(run)) is not None][:MAX_PATTERNS]
    condition = _condition(instructions, opened is not None, sort)
    patterns = [
        {
            "type": lesson.type,
            "lesson": lesson.lesson,
            "condition": condition,
            "actions": lesson.actions,
            "expected": lesson.expected,
        }
        for lesson in found
    ]
    return json.dumps({"patterns": patterns}, ensure_ascii=False)


def _condition(instructions: Sequence[Instruction], opened: bool, sort: str) -> str:
    """The kind of task, put as a person would ask for it."""
    doing = [f"open the {sort}"] if opened else []
    doing += [words for kind, words in _DOING if any(isinstance(i, kind) for i in instructions)]
    text = ", ".join(doing[:-1]) + (" and " if len(doing) > 1 else "") + "".join(doing[-1:])
    return f"{text[:1].upper()}{text[1:]}." if text else f"Work in the {sort}."


# ---------------------------------------------------------------- rules, the most useful first


def _shortcut_failed(run: _Run) -> _Lesson | None:
    tried = any(_SAVE_KEYS.search(step.source) for step in run.steps)
    menu = any(step.ok and re.search(r"Save As", step.description) for step in run.steps)
    if not (tried and menu):
        return None
    return _Lesson(
        "failure",
        f"In the {run.sort}, don't rely on the keyboard shortcut Ctrl+Shift+S to save under a new "
        "name; choose Save As in the File menu instead.",
        "click the File menu; click Save As; type the whole path; press Enter",
        "With the shortcut no dialog for the file's name appeared.",
    )


def _not_found(run: _Run) -> _Lesson | None:
    """A thing that was missed first and met later."""
    failed: dict[str, int] = {}
    for step in run.steps:
        number = _NUMBER.match(step.thought)
        if number is None or step.tool != "gui_action":
            continue
        if not step.ok:
            failed[number[1]] = failed.get(number[1], 0) + 1
        elif number[1] in failed:
            return _Lesson(
                "failure",
                f"In the {run.sort}, don't repeat a description that was not found: point at the "
                "element by its exact listed name or position instead.",
                "read the listed elements; use the exact role and name, or the listed position",
                "The first description was not found; the other way to point at it worked.",
            )
    return None


def _gave_up(run: _Run) -> _Lesson | None:
    last = run.steps[-1] if run.steps else None
    if last is None or last.tool != "infeasible" or "was not found" not in last.source:
        return None
    return _Lesson(
        "failure",
        f"In the {run.sort}, do not start before the named elements are on the screen: one that "
        "was named never appeared, whichever way it was looked for.",
        "check that the right window and view are open; look for the element in menus and by "
        "scrolling; then act",
        "The element was not found and the task was given up.",
    )


def _saved(run: _Run) -> _Lesson | None:
    if not (run.worked(_SAVE_KEYS) and run.worked(_NAMED)):
        return None
    asked = any(re.search(r"Replace|Format|\bOK\b", step.description) for step in run.steps)
    tail = "; then answer the question about format or replacing" if asked else ""
    return _Lesson(
        "success",
        f"Saving under a new name in the {run.sort} worked with the keyboard shortcut "
        f"Ctrl+Shift+S: type the whole path into the name field and press Enter{tail}.",
        f"press Ctrl+Shift+S; wait for the dialog; select all; type the whole path; "
        f"press Enter{tail}",
        "The dialog closes and the window's title shows the new name.",
    )


def _cells(run: _Run) -> _Lesson | None:
    clicked = any(step.ok and _CELL.search(step.description) for step in run.steps)
    if not (clicked or run.worked(_NAME_BOX)):
        return None
    return _Lesson(
        "success",
        "Filling cells of a spreadsheet worked by going to the first cell by its address, typing, "
        "and pressing Tab or Enter for the next cell.",
        "click the first cell by its address; type; press Tab for the next column or Enter for "
        "the next row",
        "Each cell shows what was typed.",
    )


def _typed_into(run: _Run) -> _Lesson | None:
    if not run.worked(_INTO):
        return None
    return _Lesson(
        "success",
        "Typing into a field worked when the field was clicked and the text typed in one action.",
        "click the field by its label; type the text",
        "The field shows the text.",
    )


def _launched(run: _Run) -> _Lesson | None:
    if not any(
        step.ok and step.tool == "bash_execution" and _LAUNCH.search(step.source)
        for step in run.steps
    ):
        return None
    return _Lesson(
        "success",
        f"The {run.sort} opens quickest by starting its program in the background with a command "
        "and waiting until its window is there.",
        "run the program with setsid -f; wait for its window",
        "Its window is in front.",
    )


_RULES: tuple[Callable[[_Run], _Lesson | None], ...] = (
    _shortcut_failed,
    _not_found,
    _gave_up,
    _saved,
    _cells,
    _typed_into,
    _launched,
)


# ---------------------------------------------------------------- synthesis

_LESSON = re.compile(
    r"\[(?P<id>[^\]]*)\] \((?P<kind>success|failure)(?:, (?P<score>-?[\d.]+))?\) (?P<text>.+)"
)


def synthesise_advice(sections: dict[str, str], *, limit: int | None = None) -> str:
    """At most five lines that begin with ``- ``: requirements, then lessons by similarity.

    Where lessons need lines, the later requirements share one; where they need room, the
    requirements that touch the task least give way.

    Args:
        sections: ``requirements`` and ``lessons``, each where there are any.
        limit: most tokens of the answer.
    """
    bare = (_bare(line) for line in sections.get("requirements", "").split("\n"))
    rules = [rule for rule in bare if rule]
    lessons = _by_similarity(sections.get("lessons", ""))
    room = 4 * limit if limit else 4000
    if lessons:
        rules = _touching(rules, sections.get("task", ""), int(room * _RULE_SHARE))
    most = MAX_ADVICE - min(len(lessons), _LESSON_LINES)
    wanted = [*_joined(rules, most), *lessons]
    kept: list[str] = []
    for line in wanted:
        size = len(line.encode()) + 3
        if len(kept) < MAX_ADVICE and size <= room and not _known(line, kept):
            kept.append(line)
            room -= size
    return "\n".join(f"- {line}" for line in kept)


def _touching(rules: Sequence[str], task: str, room: int) -> list[str]:
    """The rules that fit into so many bytes: those with most words of the task, in their order."""
    words = _words(task) | {"task"}
    ranked = sorted(rules, key=lambda rule: -len(_words(rule) & words))
    kept: set[str] = set()
    for rule in ranked:
        room -= len(rule.encode()) + 8
        if room >= 0:
            kept.add(rule)
    return [rule for rule in rules if rule in kept]


def _words(text: str) -> set[str]:
    """Words that carry meaning, without the endings that English gives them."""
    return {re.sub(r"(?:e|es|s|ed|ing)$", "", w) for w in re.findall(r"[a-z]{4,}", text.casefold())}


def _joined(rules: Sequence[str], most: int) -> list[str]:
    """The rules in at most so many lines, each marked as binding."""
    lines = [rule if rule.startswith("MUST") else f"MUST: {rule}" for rule in rules]
    return lines if len(lines) <= most else [*lines[: most - 1], " ".join(lines[most - 1 :])]


def _by_similarity(lessons: str) -> list[str]:
    found = [hit for line in lessons.split("\n") if (hit := _LESSON.fullmatch(line.strip()))]
    found.sort(key=lambda hit: -_score(hit))
    return [" ".join(hit["text"].split()) for hit in found if _score(hit) > 0]


def _score(hit: re.Match[str]) -> float:
    try:
        return float(hit["score"] or 0.5)
    except ValueError:
        return 0.5


def _bare(line: str) -> str:
    return " ".join(line.strip().lstrip("-*• ").split())


def _known(line: str, kept: Sequence[str]) -> bool:
    from rapidfuzz import fuzz

    return any(fuzz.token_sort_ratio(line, other) >= _SAME for other in kept)
