"""Induction: learns at most three patterns from the steps of a run (HiSA, appendix A.6).

Each lesson names the steps that it rests on. A lesson of success is refused if one of these steps
failed, changed nothing or did something unexpected. A lesson of failure is refused if fewer than
two of them went wrong.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hisa.errors import InvalidReply
from hisa.models.correction import with_correction
from hisa.models.tokens import estimate_tokens, longest
from hisa.patterns.excerpt import STEPS_TOKENS, excerpt, step_numbers, verdict
from hisa.patterns.pattern_text import LESSON_CHARS, block, clean, generalise, unbinding, wordings
from hisa.protocols import Message, Model, ModelRequest, Pattern, Scope, Task, TextPart
from hisa.text.prompt_text import sections
from hisa.text.prompts import render

__all__ = ["MOST", "induce", "new_id"]

MOST = 3
"""Most patterns of one run (HiSA, appendix A.6)."""
TRIED = 2  # steps that must go wrong for a warning: "after multiple attempts" (HiSA, A.6)
_REPLY_CHARS = 20_000  # chosen by hand
_TASK_TOKENS = 1000
"""Most tokens of the instruction; of a longer one the beginning is shown."""
_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?```\s*\Z", re.DOTALL)


class _Lesson(BaseModel):
    model_config = ConfigDict(extra="forbid")
    type: Literal["success", "failure"]
    lesson: str = Field(min_length=1)
    condition: str = ""
    actions: str = ""
    expected: str = ""
    scope: Scope = "family"
    steps: list[int] = Field(min_length=1, max_length=50)


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid")
    patterns: list[_Lesson] = Field(max_length=MOST)


def new_id() -> str:
    """Returns a random id of twelve hexadecimal digits."""
    return secrets.token_hex(6)


def _parse_reply(text: str) -> _Reply:
    """Returns the reply, checked.

    Raises:
        InvalidReply: the text says what is wrong and what is allowed.
    """
    if len(text) > _REPLY_CHARS:
        raise InvalidReply(f"{len(text)} characters; at most {_REPLY_CHARS}")
    fenced = _FENCE.match(text)
    try:
        return _Reply.model_validate_json(fenced.group(1) if fenced else text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the answer"
        raise InvalidReply(f"{where}: {first['msg']}") from error


def _fault(item: _Lesson, lines: dict[int, str]) -> str:
    """Returns why the steps of a lesson do not support it; empty if they do."""
    unknown = [str(number) for number in item.steps if number not in lines]
    if unknown:
        return f"no step {', '.join(unknown)} is shown"
    wrong = [n for n in dict.fromkeys(item.steps) if verdict(lines[n]) != "succeeded"]
    if item.type == "success" and wrong:
        return (
            f"a lesson of success rests on step {wrong[0]}, which is not one that "
            '"Succeeded."; leave the lesson out or make it one of failure'
        )
    if item.type == "failure" and len(wrong) < TRIED:
        return f"a lesson of failure needs {TRIED} steps that went wrong, and names {len(wrong)}"
    return ""


def _request(task: Task, lines: Sequence[str]) -> ModelRequest:
    instruction = block(task.instruction)
    room = longest(
        len(instruction), lambda size: estimate_tokens(instruction[:size]) <= _TASK_TOKENS
    )
    text = sections({"task": instruction[:room], "steps": "\n".join(lines)})
    system = render("pattern_induction", most=MOST, chars=LESSON_CHARS, tried=TRIED)
    return ModelRequest(
        role="state",
        messages=(Message("system", (TextPart(system),)), Message("user", (TextPart(text),))),
        schema=_Reply.model_json_schema(),
        max_tokens=2048,
    )


async def _ask(model: Model, request: ModelRequest, lines: dict[int, str]) -> list[_Lesson]:
    """Returns the lessons that their steps support; asks again once if none is."""
    first = await model.complete(request)
    try:
        return _sound(_parse_reply(first.text), lines)
    except InvalidReply as error:
        demand = (
            f"That answer could not be used: {error}. Answer again with the one JSON object that "
            "the instructions describe and nothing around it."
        )
        second = await model.complete(with_correction(request, first, demand))
    lessons = _parse_reply(second.text).patterns
    return [item for item in lessons if not _fault(item, lines)]


def _sound(reply: _Reply, lines: dict[int, str]) -> list[_Lesson]:
    faults = [_fault(item, lines) for item in reply.patterns]
    if all(faults) and faults:
        raise InvalidReply(f"patterns.0: {faults[0]}")
    return [item for item, fault in zip(reply.patterns, faults, strict=True) if not fault]


async def induce(
    model: Model, task: Task, *, run_id: str, lines: Sequence[str]
) -> tuple[Pattern, ...]:
    """Ask a model for the patterns of a run; they are not yet stored.

    The model is not asked if no step could support a lesson. A lesson that only repeats the task,
    or its own condition, is dropped.

    Args:
        model: the state role's model.
        task: what the agent had to do.
        run_id: the run that the patterns are learned from.
        lines: the line of each step; the model is shown at most `STEPS_TOKENS` of them, and never
            the score.

    Raises:
        InvalidReply: no usable reply, though asked twice.
        ModelUnavailable, BudgetExceeded: from the model.
    """
    shown = excerpt(lines, STEPS_TOKENS)
    numbered = step_numbers(shown)
    worked = [verdict(line) == "succeeded" for line in numbered.values()]
    if not any(worked) and len(worked) < TRIED:
        return ()
    lessons = await _ask(model, _request(task, shown), numbered)
    patterns = [_pattern(item, task.domain, run_id) for item in lessons]
    new = {new.lesson: new for new in patterns if new.lesson and not _repeats(new, task)}
    return tuple(new.values())


def _pattern(item: _Lesson, domain: str, run_id: str) -> Pattern:
    """Returns the pattern of a lesson; its text is cleaned and binds nobody."""
    return Pattern(
        id=new_id(),
        domain=domain,
        kind=item.type,
        lesson=clean(unbinding(item.lesson)),
        condition=clean(unbinding(item.condition)),
        actions=clean(unbinding(item.actions)),
        expected=clean(unbinding(item.expected)),
        source_run=run_id,
        created_at=time.time(),
        scope=item.scope,
    )


def _repeats(pattern: Pattern, task: Task) -> bool:
    """Whether a lesson only repeats the words of the task, a part of it, or its condition."""
    words = wordings(pattern.lesson)
    texts = (task.instruction, generalise(task.instruction), *pattern.conditions)
    return any(f" {words} " in f" {wordings(text)} " for text in texts)
