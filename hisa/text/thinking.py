"""Removes from a model's reply what it thought aloud."""

from __future__ import annotations

import json
import re

__all__ = ["without_thinking"]

_MAX_STARTS = 64
"""Most opening braces that are tried as the beginning of JSON."""
_NEXT = re.compile(
    r"(?P<object>\{)"
    # <think>, </thinking>, <seed:think>, <|END_THINKING|>, <|begin_of_thought|>, ◁/think▷
    r"|[<◁]\|?(?P<closes>/|end_(?:of_)?)?(?:[a-z]+(?:_of)?[:_])?"
    r"(?:think|thought|reason)\w*(?:\s[^<>▷]*)?\|?[>▷]"
    r"|\[(?P<ends>/)?think\]"  # Mistral's
    r"|<\|channel\|?>\s*(?P<channel>\w*)|(?P<closed><channel\|>)",  # Harmony's, and Gemma's
    re.IGNORECASE,
)
_decoder = json.JSONDecoder()


def _closes(mark: re.Match[str]) -> bool:
    final = (mark["channel"] or "").lower() == "final"
    return bool(mark["closes"] or mark["ends"] or mark["closed"] or final)


def without_thinking(text: str) -> str:
    """Returns the text without what is inside thinking tags.

    After an opening tag without an end, all is thinking. Before an end without a beginning, all is
    thinking too: chat templates often write the first tag themselves. Tags inside a JSON object
    are left alone, so that a model can type one.
    """
    parts: list[str] = []
    begun = position = starts = 0
    while mark := _NEXT.search(text, position):
        position = mark.end()
        if mark["object"]:
            starts += 1
            position = _end_of_object(text, mark.start()) if starts <= _MAX_STARTS else position
            continue
        if _closes(mark):
            parts.clear()
        else:
            parts.append(text[begun : mark.start()])
            ends = (later for later in _NEXT.finditer(text, position) if _closes(later))
            position = next((later.end() for later in ends), len(text))
        begun = position
    return "".join([*parts, text[begun:]]).strip() if begun else text


def _end_of_object(text: str, start: int) -> int:
    """Returns the end of the JSON object at ``start``; the end of the brace if there is none."""
    try:
        return _decoder.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return start + 1
