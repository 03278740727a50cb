"""Synthesis: retrieved patterns and SOPs made into short advice (HiSA, appendix A.7)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from hisa.models.tokens import estimate_tokens
from hisa.patterns.text import block, clean, sentences
from hisa.prompts import render
from hisa.protocols import Message, Model, ModelRequest, PatternHit, TextPart

__all__ = ["BULLETS", "bounded", "synthesise"]

BULLETS = 5
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")


def _lesson_line(hit: PatternHit) -> str:
    kind, lesson = hit.pattern.kind, clean(hit.pattern.lesson)
    return f"[{hit.pattern.id}] ({kind}, {hit.score:.2f}) {lesson}"


def _request(
    instruction: str, hits: Sequence[PatternHit], rules: Sequence[str], limit: int
) -> ModelRequest:
    parts = {
        "task": block(instruction),
        "requirements": "\n".join(f"- {rule}" for rule in rules),
        "lessons": "\n".join(_lesson_line(hit) for hit in hits),
    }
    text = "\n".join(f"<{tag}>\n{body}\n</{tag}>" for tag, body in parts.items() if body)
    system = render("pattern_synthesis", bullets=BULLETS, limit=limit, words=limit * 3 // 4)
    return ModelRequest(
        role="state",
        messages=(Message("system", (TextPart(system),)), Message("user", (TextPart(text),))),
        max_tokens=max(1024, 2 * limit),
    )


def _bullets(text: str) -> list[str]:
    """One bullet a line; a line that is none goes on with the one above, prose before is dropped.

    An answer without any bullet is one bullet.
    """
    found: list[str] = []
    for line in text[:20_000].splitlines():
        if _BULLET.match(line):
            found.append(_BULLET.sub("", line))
        elif found:
            found[-1] += f" {line}"
    cleaned = [clean(bullet, 2000) for bullet in found or [text[:20_000]]]
    return [bullet for bullet in cleaned if bullet]


def _joined(bullets: Sequence[str]) -> str:
    return "\n".join(f"- {bullet}" for bullet in bullets)


def _shortened(bullet: str, limit: int) -> str:
    """Whole sentences within ``limit`` tokens, else whole words; "" where not even one fits."""
    parts, mark = sentences(bullet), ""
    if estimate_tokens(_joined(parts[:1])) > limit:
        parts, mark = bullet.split(), " …"
    while parts and estimate_tokens(_joined([" ".join(parts) + mark])) > limit:
        parts.pop()
    return " ".join(parts) + mark if parts else ""


def bounded(text: str, limit: int) -> str:
    """At most `BULLETS` bullets within ``limit`` tokens: whole ones first, then a cut one."""
    kept: list[str] = []
    for bullet in _bullets(text)[:BULLETS]:
        if estimate_tokens(_joined([*kept, bullet])) > limit:
            room = limit - estimate_tokens(_joined(kept)) - 1 if kept else limit
            last = _shortened(bullet, room)
            return _joined([*kept, last] if last else kept)
        kept.append(bullet)
    return _joined(kept)


def _excess(text: str, limit: int) -> str:
    """What is wrong with an answer's size; empty where nothing is."""
    lines = [line for line in text.splitlines() if line.strip()]
    if lines and not any(_BULLET.match(line) for line in lines):
        return 'no line begins with "- "'
    if sum(bool(_BULLET.match(line)) for line in lines) > BULLETS:
        return f"more than {BULLETS} lines"
    if estimate_tokens(text) > limit:
        return f"about {estimate_tokens(text)} tokens where {limit} are allowed"
    return ""


async def synthesise(
    model: Model,
    instruction: str,
    *,
    hits: Sequence[PatternHit],
    rules: Sequence[str],
    limit: int,
) -> str:
    """Advice of at most ``limit`` tokens; "" without a call where there is nothing to say.

    What is too much is asked for again once, then cut.

    Raises:
        ModelUnavailable, BudgetExceeded: from the model.
    """
    if not hits and not rules:
        return ""
    request = _request(instruction, hits, rules, limit)
    text = (await model.complete(request)).text.strip()
    if problem := _excess(text, limit):
        again = (
            Message("assistant", (TextPart(text[:4000]),)),
            Message("user", (TextPart(f"Not usable: {problem}. Write it again as instructed."),)),
        )
        second = (await model.complete(replace(request, messages=request.messages + again))).text
        text = second.strip() or text
    return bounded(text, limit)
