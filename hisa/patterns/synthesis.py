"""Synthesis: turns retrieved lessons into short advice (HiSA, appendix A.7).

The model is shown the rules too, so that no advice contradicts one, but it does not repeat them.
Each line of its reply begins with the marks of the lessons that it is made of ("[p1, p3]"); the
planner cites these marks when it follows the advice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hisa.models.tokens import estimate_tokens, prefix_within
from hisa.patterns.pattern_text import block, clean, unbinding
from hisa.protocols import Message, Model, ModelRequest, PatternHit, StepSummary, TextPart
from hisa.text.prompt_text import sections
from hisa.text.prompts import render

__all__ = [
    "BULLETS",
    "CitedAdvice",
    "find_citations",
    "is_cited",
    "limit_bullets",
    "mark",
    "synthesise",
]

BULLETS = 5
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_MARKS = re.compile(r"\[p\d{1,2}(?:[\s,;]*p\d{1,2})*\]")
_CITATION = re.compile(r"\[(p\d{1,2}(?:\s*[,;]\s*p\d{1,2})*)\]")
_LEADING = re.compile(rf"(?:{_MARKS.pattern}[\s,;]*)+")


@dataclass(frozen=True)
class CitedAdvice:
    """Lines of advice, and the lessons that they cite, in the order of their marks."""

    text: str = ""
    hits: tuple[PatternHit, ...] = ()


def mark(number: int) -> str:
    """Returns the mark that cites the pattern at that place of the advice, from 1 on: "p1"."""
    return f"p{number}"


def find_citations(thought: str) -> frozenset[str]:
    """Returns the marks that a thought cites."""
    groups = _CITATION.findall(thought)
    return frozenset(cited_mark for group in groups for cited_mark in re.findall(r"p\d+", group))


def is_cited(number: int, steps: Sequence[StepSummary]) -> bool:
    """Whether a step cites the pattern at that place of the advice, from 1 on."""
    return any(mark(number) in find_citations(step.thought) for step in steps)


def _lesson(hit: PatternHit) -> str:
    return unbinding(clean(_MARKS.sub("", hit.pattern.lesson)))


def _lesson_line(number: int, hit: PatternHit) -> str:
    return f"[{mark(number)}] ({hit.pattern.kind}, {hit.score:.2f}) {_lesson(hit)}"


def _request(
    instruction: str, hits: Sequence[PatternHit], rules: Sequence[str], limit: int
) -> ModelRequest:
    parts = {
        "task": block(instruction),
        "requirements": "\n".join(f"- {rule}" for rule in rules),
        "lessons": "\n".join(_lesson_line(number, hit) for number, hit in enumerate(hits, 1)),
    }
    system = render("pattern_synthesis", bullets=BULLETS, limit=limit, words=limit * 3 // 4)
    return ModelRequest(
        role="state",
        messages=(
            Message("system", (TextPart(system),)),
            Message("user", (TextPart(sections(parts)),)),
        ),
        max_tokens=max(1024, 2 * limit),
        may_be_empty=True,
    )


def _split_bullets(text: str) -> list[str]:
    """Returns the bullets of a reply; a line without a bullet continues the one above.

    Prose before the first bullet is dropped. A reply without any bullet is one bullet.
    """
    bullets: list[str] = []
    for line in text[:20_000].splitlines():
        if _BULLET.match(line):
            bullets.append(_BULLET.sub("", line))
        elif bullets:
            bullets[-1] += f" {line}"
    cleaned = [clean(bullet, 2000) for bullet in bullets or [text[:20_000]]]
    return [bullet for bullet in cleaned if bullet]


def _join_bullets(bullets: Sequence[str]) -> str:
    return "\n".join(f"- {bullet}" for bullet in bullets)


def limit_bullets(text: str, limit: int) -> str:
    """Returns at most `BULLETS` whole bullets within ``limit`` tokens.

    Only a first bullet that is too long by itself is cut.
    """
    shown_bullets: list[str] = []
    bullets = _split_bullets(text)[:BULLETS]
    for bullet in bullets:
        if estimate_tokens(_join_bullets([*shown_bullets, bullet])) > limit:
            break
        shown_bullets.append(bullet)
    if bullets and not shown_bullets:
        return prefix_within(_join_bullets(bullets[:1]), limit, end=" …").rstrip() + " …"
    return _join_bullets(shown_bullets)


def _marks(line: str) -> frozenset[str]:
    """Returns the marks that a line, with or without its bullet, begins with."""
    match = _LEADING.match(_BULLET.sub("", line).lstrip())
    return frozenset(re.findall(r"p\d+", match[0])) if match else frozenset()


async def synthesise(
    model: Model,
    instruction: str,
    *,
    hits: Sequence[PatternHit],
    rules: Sequence[str],
    limit: int,
) -> CitedAdvice:
    """Ask a model to turn lessons into advice; without lessons it is not asked.

    A reply that is too long is cut. If none of its lines has a mark, the lessons themselves are
    the advice. The marks are then renumbered, so that the lessons that are cited count from 1.

    Args:
        model: the state role's model.
        instruction: the instruction of the task.
        hits: the retrieved patterns, nearest first.
        rules: the rules that bind, for the model to respect.
        limit: most tokens of the advice.

    Raises:
        ModelUnavailable, BudgetExceeded: from the model.
    """
    if not hits:
        return CitedAdvice()
    marks = frozenset(mark(number) for number in range(1, len(hits) + 1))
    request = _request(instruction, hits, rules, limit)
    text = (await model.complete(request)).text.strip()
    lines = [line for line in _split_bullets(text) if _marks(line) & marks]
    if text and not lines:
        lines = [f"[{mark(number)}] {_lesson(hit)}" for number, hit in enumerate(hits, 1)]
    return _renumber_marks(
        limit_bullets(_join_bullets([_plain(line, marks) for line in lines]), limit), hits
    )


def _plain(line: str, marks: frozenset[str]) -> str:
    """Returns the line with its known marks in front, and no other text that looks like a mark."""
    known = sorted(_marks(line) & marks, key=lambda cited_mark: int(cited_mark[1:]))
    return f"[{', '.join(known)}] {unbinding(_MARKS.sub('', line).strip())}"


def _renumber_marks(text: str, hits: Sequence[PatternHit]) -> CitedAdvice:
    """Returns the advice with its marks renumbered from 1, and the lessons that it cites."""
    named = sorted(
        {int(cited_mark[1:]) for line in text.splitlines() for cited_mark in _marks(line)}
    )
    new = {mark(old): mark(place) for place, old in enumerate(named, 1)}
    lines = (
        _MARKS.sub(lambda match: re.sub(r"p\d+", lambda m: new[m[0]], match[0]), line, count=1)
        for line in text.splitlines()
    )
    return CitedAdvice("\n".join(lines), tuple(hits[number - 1] for number in named))
