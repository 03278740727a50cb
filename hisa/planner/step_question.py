"""The question to the judge about one step: the planner's view, and the candidates as data."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from hisa.models.tokens import estimate_tokens, longest
from hisa.planner.sampling import Candidate
from hisa.protocols import Message, ModelRequest, TextPart, ToolCall
from hisa.text.prompt_text import excerpt, sections, without_tags
from hisa.text.prompts import render

__all__ = ["CANDIDATE_TOKENS", "step_question"]

CANDIDATE_TOKENS = 2000
"""Most tokens of all candidates together: enough for eight of usual length."""
_BEGINNING = 160
"""Characters at the beginning of a shortened text, before the part where candidates differ; chosen
by hand."""


def step_question(
    request: ModelRequest, candidates: Sequence[Candidate], *, must_pick: bool
) -> tuple[Message, Message]:
    """Returns the messages that ask which candidate should be executed.

    Args:
        request: the planner's request: the judge sees the same state and pictures.
        candidates: no two with the same key, so that their number does not influence the judge.
        must_pick: whether the judge may not refuse all candidates.
    """
    _, user = request.messages
    system = render("judge", picture=request.images > 0, must_pick=must_pick)
    calls = [candidate.call for candidate in candidates]
    listed = TextPart(sections({"candidates": _list_calls(calls)}))
    return (
        Message("system", (TextPart(system),)),
        replace(user, parts=(*user.parts, listed)),
    )


def _list_calls(calls: Sequence[ToolCall]) -> str:
    """Returns the calls, one per line; if they are too long, without thoughts and shortened."""
    most = max(len(text) for call in calls for text in _words(call).values())

    def lines(size: int, *, thoughts: bool = False) -> str:
        common = _common([_words(call)["input"] for call in calls])
        return "\n".join(
            _line(index, call, thoughts=thoughts, cut=lambda text: _cut(text, common, size))
            for index, call in enumerate(calls, 1)
        )

    if _fits(full_text := lines(most, thoughts=True)):
        return full_text
    return lines(longest(most, lambda size: _fits(lines(size))))


def _common(texts: Sequence[str]) -> int:
    """Returns the length of the beginning that all texts have in common."""
    first, last = min(texts), max(texts)
    pairs = enumerate(zip(first, last, strict=False))
    return next((at for at, (character, other) in pairs if character != other), len(first))


def _fits(text: str) -> bool:
    return estimate_tokens(text) <= CANDIDATE_TOKENS


def _cut(text: str, common: int, size: int) -> str:
    """Returns the beginning of a long text, and the part from where candidates differ."""
    if len(text) <= size:
        return text
    beginning = min(_BEGINNING, size // 2)
    start = max(beginning, common - beginning // 4)
    skipped = "…" if start > beginning else ""
    return f"{text[:beginning]}{skipped}{excerpt(text[start:], size - beginning)}"


def _words(call: ToolCall) -> dict[str, str]:
    value = call.input
    text = value if isinstance(value, str) else json.dumps(dict(value), default=str)
    return {"input": text, "description": call.description, "description_2": call.description_2}


def _line(index: int, call: ToolCall, *, thoughts: bool, cut: Callable[[str], str]) -> str:
    """Returns a call as JSON; the calls of a sequence are in ``actions``."""
    fields: dict[str, object] = {"index": index}
    if thoughts and call.thought:
        fields["thought"] = call.thought
    calls = [_call(part, cut) for part in call.sequence]
    fields |= calls[0] if len(calls) == 1 else {"actions": calls}
    return without_tags(json.dumps(fields, ensure_ascii=False))


def _call(call: ToolCall, cut: Callable[[str], str]) -> dict[str, object]:
    words = {name: cut(text) for name, text in _words(call).items()}
    texts = {name: text for name, text in words.items() if text or name == "input"}
    return {"tool": call.tool, **texts}
