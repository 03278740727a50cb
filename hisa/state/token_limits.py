"""Keeps text within a limit of tokens: cut at the end of a sentence, a word or a line."""

from __future__ import annotations

import re

from hisa.models.tokens import estimate_tokens, longest
from hisa.protocols import Model, ModelRequest
from hisa.text.prompt_text import clean, excerpt

__all__ = [
    "ask_within",
    "cut_at_line",
    "cut_at_sentence",
    "cut_at_word",
    "excerpt_within",
    "words_of",
]

_SENTENCE_END = re.compile(r"""[.!?…]["')\]»”]*(?=\s|$)|[。！？]|(?=\n)""")
_ELLIPSIS = "…"
_MOST_CHARS = 8
"""Most characters that a token of one line has: a short word with its blank has five."""


async def ask_within(model: Model, request: ModelRequest, limit_tokens: int) -> str:
    """Returns a model's reply, cut at the end of a sentence.

    Args:
        model: the model to ask.
        request: the request to send; its prompt should ask for the same limit.
        limit_tokens: most tokens of the text that is returned.

    Raises:
        ModelUnavailable, BudgetExceeded: from the model.
    """
    return cut_at_sentence(clean((await model.complete(request)).text), limit_tokens)


def words_of(tokens: int) -> int:
    """Returns how many English words surely fit into so many tokens, to tell it to a model."""
    return tokens * 3 // 5


def cut_at_sentence(text: str, tokens: int) -> str:
    """Returns the longest beginning within ``tokens`` that ends with a sentence or a line.

    If that would lose more than half of what fits, the text is cut at a word instead and ends with
    an ellipsis.
    """
    text = text.strip()
    if estimate_tokens(text) <= tokens:
        return text
    fit = longest(len(text), lambda size: estimate_tokens(text[:size]) <= tokens)
    ends = [m.end() for m in _SENTENCE_END.finditer(text[: fit + 8]) if m.end() <= fit]
    if ends and ends[-1] * 2 >= fit:
        return text[: ends[-1]].rstrip()
    return cut_at_word(text, tokens)


def cut_at_word(text: str, tokens: int) -> str:
    """Returns the longest beginning that ends with a word, within ``tokens`` with its ellipsis."""
    text = text.strip()
    if estimate_tokens(text) <= tokens:
        return text
    fit = longest(len(text), lambda size: estimate_tokens(text[:size] + _ELLIPSIS) <= tokens)
    beginning = text[:fit].rstrip()
    blank = max(beginning.rfind(" "), beginning.rfind("\n"))
    if not text[len(beginning)].isspace() and blank * 2 >= fit:
        beginning = beginning[:blank].rstrip()
    return beginning + _ELLIPSIS if beginning else ""


def cut_at_line(text: str, tokens: int) -> str:
    """Returns the first whole lines within ``tokens``; a last line says how many do not fit.

    If not even the first line fits, returns its beginning.
    """
    lines = text.strip().split("\n")

    def shown(count: int) -> str:
        left = len(lines) - count
        rest = [f"({left} more lines do not fit into {tokens} tokens)"] if left else []
        return "\n".join([*lines[:count], *rest])

    if estimate_tokens(shown(len(lines))) <= tokens:
        return shown(len(lines))
    line_count = longest(len(lines) - 1, lambda count: estimate_tokens(shown(count)) <= tokens)
    return shown(line_count) if line_count else cut_at_sentence(text, tokens)


def excerpt_within(text: str, tokens: int) -> str:
    """Returns beginning and end of a text, on one line, within ``tokens``; see `excerpt`."""
    most = min(len(text), _MOST_CHARS * max(0, tokens))
    size = longest(most, lambda chars: estimate_tokens(excerpt(text, chars)) <= tokens)
    return excerpt(text, size)
