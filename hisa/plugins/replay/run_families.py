"""What several runs of the same steps agree on: again, or with the values of their instructions.

An effect or figure that came but once was the machine's own. What differs is a value where each
run's instruction says it; what none says is left open, where the rest tells what is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from hisa.actions import parse, points
from hisa.errors import UsageError
from hisa.plugins.replay.compiling import free_name, label_of, typed_text
from hisa.plugins.replay.program_records import (
    Parameter,
    Program,
    ProgramStep,
    Target,
    mark,
    stands,
    with_mark,
    with_parameters,
)
from hisa.plugins.replay.surroundings import OTHERS, figureless
from hisa.plugins.replay.target_ladder import WINDOW
from hisa.screen.roles import CONTAINERS, LAYOUT
from hisa.state.held_regions import letters

__all__ = ["agreed", "of_family"]

_PASSED = frozenset({"action", "purpose", "words", "picture", "box", "app", "role", "what"})
"""Parts of a step in which no values are looked for."""

_AREAS = CONTAINERS | LAYOUT | {"image", "canvas"}
"""Roles of what may be large, and is another thing at another spot."""


def of_family(programs: Sequence[Program]) -> Program:
    """The first program, with what all of them agree on, and values that differ as proposals.

    Raises:
        UsageError: they did other things, or are told apart by what no instruction says.
    """
    first = programs[0]
    for number, kinds in enumerate(zip_longest(*(map(_kind, p.steps) for p in programs)), 1):
        _require_same(programs, kinds, f"action {number} is not the same in all of them")
    rows = _values(programs)
    marked = [
        with_parameters(program, {name: Parameter(value=row[at]) for name, row in rows.items()})
        for at, program in enumerate(programs)
    ]
    for words in zip_longest(*(program.instruction.split() for program in marked), fillvalue=""):
        reason = f"no step uses what their instructions differ in: {', '.join(words)}"
        _require_same(programs, words, reason)
    checks = [program.task.get("check") for program in marked]
    _require_same(programs, checks, "their checks differ in more than the values")
    program = agreed(programs, marked)
    for number, steps in enumerate(zip(*(p.steps for p in programs), strict=True)):
        texts = tuple(map(typed_text, steps))
        if not _same(texts, [typed_text(program.steps[number]) for program in marked]):
            rows[free_name(label_of(first.steps, number), rows)] = texts
    proposed = {
        name: Parameter(value=row[0], origin=f"the other runs have {row[1:]}"[:4000])
        for name, row in rows.items()
    }
    source = tuple(run for program in programs for run in program.source)
    return program.model_copy(update={"proposed": proposed, "source": source})


def _require_same(programs: Sequence[Program], parts: Sequence[Any], reason: str) -> None:
    if any(part != parts[0] for part in parts):
        ids = ", ".join(program.source[0] for program in programs)
        raise UsageError(f"{ids} make no program together: {reason}", fix="hisa compile RUN")


def _kind(step: ProgramStep) -> tuple[object, ...]:
    """Tells the act, what it is done to and where in an area; not what it types."""
    source, roles = str(step.action), [target.role for target in step.targets]
    if step.tool != "gui_action":
        return (step.tool, source)
    spots = []
    for (left, top, right, bottom), role, at in zip(
        (target.box for target in step.targets), roles, points(parse(source)), strict=False
    ):
        wide, high = max(1, right - left), max(1, bottom - top)
        if role in _AREAS and wide * high >= 10_000:
            spots.append((round((at.x - left) / wide, 1), round((at.y - top) / high, 1)))
    return (re.sub(r"(?<=write\().*|(?<=\()[\d., ]+", "", source), *roles, *spots)


def _values(programs: Sequence[Program]) -> dict[str, tuple[str, ...]]:
    """Rows of texts at one place that differ as the runs' instructions do, by a name."""
    rows: dict[tuple[str, ...], str] = {}
    for number, steps in enumerate(zip(*(program.steps for program in programs), strict=True)):
        typed = label_of(programs[0].steps, number), tuple(map(typed_text, steps))
        for word, texts in (typed, *_texts([step.model_dump() for step in steps], "text")):
            for row in (texts, _core(texts)):
                if all(stands(t, p.instruction) for t, p in zip(row, programs, strict=True)):
                    rows.setdefault(row, word)
                    break
    names: dict[str, tuple[str, ...]] = {}
    for row, word in sorted(rows.items(), key=lambda item: len(item[0][0])):
        texts = row
        for name, known in names.items():
            texts = tuple(with_mark(t, k, mark(name)) for t, k in zip(texts, known, strict=True))
        if len(set(texts)) > 1:  # else shorter values say it
            names[free_name(word, names)] = row
    return names


def _texts(trees: Sequence[Any], word: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The texts at each place that all of them have, with a word for what they are."""
    if all(isinstance(tree, str) for tree in trees):
        yield word, tuple(trees)
    elif all(isinstance(tree, dict) for tree in trees):
        word = trees[0].get("role") or word
        for key in [key for key in trees[0] if key not in _PASSED]:
            yield from _texts([tree[key] for tree in trees], "row" if key == "beside" else word)
    elif all(isinstance(tree, list | tuple) for tree in trees):
        for parts in zip(*trees, strict=False):
            yield from _texts(parts, word)


def _core(texts: Sequence[str]) -> tuple[str, ...]:
    """The texts without the words that all of them begin and end with."""
    words = [re.findall(r"\w+|\W", text) for text in texts]
    for side in (0, -1):
        while all(words) and len({word[side] for word in words}) == 1:
            for word in words:
                word.pop(side)
    return tuple("".join(word) for word in words)


def agreed(programs: Sequence[Program], marked: Sequence[Program] | None = None) -> Program:
    """The first program with what all have, but for the values that ``marked`` ones have marks for.

    Raises:
        UsageError: they have other steps, or an act is told by what only one of them had.
    """
    marked, steps = marked or programs, []
    counts = [len(program.steps) for program in programs]
    _require_same(programs, counts, f"they have so many actions: {counts}")
    for number, step in enumerate(programs[0].steps):
        all_of, marks = ([p.steps[number] for p in some] for some in (programs, marked))
        columns = [zip(*(s.targets for s in some), strict=True) for some in (all_of, marks)]
        focus = _focus(*([s.focus for s in some] for some in (all_of, marks)))
        targets = tuple(map(_target, *columns))
        effects = tuple(_in_all([s.effects for s in all_of], [s.effects for s in marks]))
        update = {"targets": targets, "focus": focus, "effects": effects}
        steps.append(step.model_copy(update=update))
    return programs[0].model_copy(update={"steps": tuple(steps)})


def _target(targets: Sequence[Target], marked: Sequence[Target]) -> Target:
    first = targets[0]

    def agree(*parts: str) -> bool:
        texts = ([[getattr(t, part) for part in parts] for t in some] for some in (targets, marked))
        return _same(*texts)

    words = f"the act on {first.role} {', '.join(t.name or t.label for t in targets)}"
    if not agree("name") or not (first.name or agree("label")):
        raise UsageError(f"no instruction tells {words}", fix="hisa compile RUN")
    beside = _beside([target.beside for target in targets], [target.beside for target in marked])
    several = any(target.alike > 1 for target in targets)
    if several and set(beside) <= {OTHERS} and (beside or not agree("nth", "alike")):
        reason = f"nothing that stays tells {words} from its like"
        raise UsageError(reason, fix="hisa compile RUN")
    loose = [part for part in ("label", "window", "words", "within") if not agree(part)]
    update = {part: type(getattr(first, part))() for part in loose}
    return first.model_copy(update={**update, "beside": beside})


def _focus(steps: Sequence[Target | None], marked: Sequence[Target | None]) -> Target | None:
    """The place of keys, by the runs that looked: a window, where one of them knew no more."""
    known = [(s, m) for s, m in zip(steps, marked, strict=True) if s is not None and m is not None]
    windows = {letters(own.name): as_was for as_was, own in reversed(known) if own.role == WINDOW}
    if len(windows) > 1:
        titles = ", ".join(f"“{target.name[:60]}”" for target in windows.values())
        raise UsageError(f"the same keys go to other windows: {titles}", fix="hisa compile RUN")
    if windows or not known:
        return next(iter(windows.values()), None)
    return _target(*zip(*known, strict=True))


def _same(texts: Sequence[Any], marked: Sequence[Any]) -> bool:
    """Whether values alone differ; where nothing differs, no value may stand there by chance."""
    alike = all(text == texts[0] for text in texts)
    return bool(marked[0] == texts[0]) if alike else all(text == marked[0] for text in marked)


def _in_all(texts: Sequence[Sequence[Any]], marked: Sequence[Sequence[Any]]) -> list[Any]:
    """Those of the first run that all have, but for the values."""
    return [
        text
        for text, own in zip(texts[0], marked[0], strict=True)
        if all(own in row for row in marked)
        and (text == own or any(text not in row for row in texts))
    ]


def _beside(texts: Sequence[Sequence[str]], marked: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Texts of a row that all have; other figures in one may be any, and so may other texts."""
    kept = _in_all(texts, marked)
    bare = [set(map(figureless, row)) for row in texts]
    loose = [figureless(text) for text in texts[0] if text not in kept and figureless(text) != text]
    kept += [text for text in loose if all(text in row for row in bare)]
    return (*kept, OTHERS) if any(len(row) > len(kept) for row in texts) else tuple(kept)
