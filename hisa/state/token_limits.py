"""Hard limits on text: asked for, then cut where a sentence ends."""

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
"""Characters of a token at most, on one line: a short word and the blank after it have five."""


async def ask_within(model: Model, request: ModelRequest, limit_tokens: int) -> str:
    """The model's answer in at most ``limit_tokens``, cut at the end of a sentence.

    Raises:
        ModelUnavailable, BudgetExceeded: from the model.
    """
    return cut_at_sentence(clean((await model.complete(request)).text), limit_tokens)


def words_of(tokens: int) -> int:
    """English words that surely fit into so many tokens, for a model that counts words."""
    return tokens * 3 // 5


def cut_at_sentence(text: str, tokens: int) -> str:
    """The longest beginning of ``text`` within ``tokens`` that ends a sentence or a line.

    Where the last such end would give up more than half of what fits, the cut is at a word,
    marked with an ellipsis.
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
    """The longest beginning within ``tokens``, an ellipsis included, that ends with a word."""
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
    """The first whole lines within ``tokens``; a last line says how many do not fit.

    Where not even the first one fits, its beginning.
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
    """`hisa.text.prompt_text.excerpt` of at most ``tokens``: both ends of a text, on one line."""
    most = min(len(text), _MOST_CHARS * max(0, tokens))
    size = longest(most, lambda chars: estimate_tokens(excerpt(text, chars)) <= tokens)
    return excerpt(text, size)
