"""What a model thought aloud, told from what it answers."""

from __future__ import annotations

import json
import re

__all__ = ["without_thinking"]

_MAX_STARTS = 64
"""How many opening braces are tried as beginnings of JSON."""
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
    """The text without what stands in thinking tags.

    An opening tag without an end holds all that follows, an end without a beginning all before it:
    templates of chats often write the first tag themselves. What is inside a JSON object is text
    of that object, so that a model may type such a tag.
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
    """Returns the end of a JSON object; the end of its brace if it is none."""
    try:
        return _decoder.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return start + 1
