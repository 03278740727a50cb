"""The question to the judge about one step: what the planner saw, and the candidates as data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from hisa.models.tokens import estimate_tokens
from hisa.planner.sampling import Candidate
from hisa.planner.side_by_side import Texts, shortened
from hisa.protocols import Message, ModelRequest, TextPart, ToolCall
from hisa.text.prompt_text import sections, without_tags
from hisa.text.prompts import render

__all__ = ["CANDIDATE_TOKENS", "step_question"]

CANDIDATE_TOKENS = 2000
"""Most tokens of all candidates together: eight of the length that planners write, uncut."""
_LITTLE = 160
"""Characters of a text that still tell what it does; chosen by hand."""


def step_question(
    asked: ModelRequest, candidates: Sequence[Candidate], *, must_pick: bool
) -> tuple[Message, Message]:
    """Returns the messages that ask which candidate is carried out.

    Args:
        asked: the planner's request: the judge sees what it shows.
        candidates: no two with the same key, so that their number does not sway the judge.
        must_pick: it is offered no refusal.
    """
    _, user = asked.messages
    system = render("judge", picture=asked.images > 0, must_pick=must_pick)
    listed = TextPart(sections({"candidates": _listed(candidates)}))
    return (
        Message("system", (TextPart(system),)),
        replace(user, parts=(*user.parts, listed)),
    )


def _listed(candidates: Sequence[Candidate]) -> str:
    """Returns the candidates, one a line; what all of them have is shortened first.

    Where little would be left of what differs, the thoughts give way: the action is judged.
    """
    for thoughts, least in ((True, _LITTLE), (False, _LITTLE), (False, 0)):
        lines = _within(candidates, thoughts=thoughts, least=least)
        if estimate_tokens(lines) <= CANDIDATE_TOKENS:
            break
    return lines


def _within(candidates: Sequence[Candidate], *, thoughts: bool, least: int) -> str:
    texts = [[*_texts(candidate.call, thoughts=thoughts)] for candidate in candidates]

    def lines(cut: Texts) -> str:
        shown = [dict(zip(*pair, strict=True)) for pair in zip(texts, cut, strict=True)]
        calls = (candidate.call for candidate in candidates)
        return "\n".join(map(_line, range(1, len(texts) + 1), calls, shown))

    def fits(cut: Texts) -> bool:
        return estimate_tokens(lines(cut)) <= CANDIDATE_TOKENS

    return lines(shortened(texts, fits, least=least))


def _texts(call: ToolCall, *, thoughts: bool) -> Iterator[str]:
    if thoughts:
        yield call.thought
    for each in call.sequence:
        yield from _words(each).values()


def _words(call: ToolCall) -> dict[str, str]:
    value = call.input
    text = value if isinstance(value, str) else json.dumps(dict(value), default=str)
    return {"input": text, "description": call.description, "description_2": call.description_2}


def _line(index: int, call: ToolCall, shown: Mapping[str, str]) -> str:
    """Returns a call as JSON, its texts as shown; of a sequence, each call in ``actions``."""
    fields: dict[str, object] = {"index": index}
    if thought := shown.get(call.thought):
        fields["thought"] = thought
    calls = [_call(each, shown) for each in call.sequence]
    fields |= calls[0] if len(calls) == 1 else {"actions": calls}
    return without_tags(json.dumps(fields, ensure_ascii=False))


def _call(call: ToolCall, shown: Mapping[str, str]) -> dict[str, object]:
    words = {name: shown[text] for name, text in _words(call).items()}
    kept = {name: text for name, text in words.items() if text or name == "input"}
    return {"tool": call.tool, **kept}
