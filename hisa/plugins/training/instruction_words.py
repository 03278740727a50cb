"""The words of an instruction: what a policy may type, and what `Act.word` counts."""

from __future__ import annotations

import re

__all__ = ["MAX_WORDS", "instruction_words"]

MAX_WORDS = 40
"""Chosen by hand."""
_WORD = re.compile(r"[A-Za-z0-9\-_@#]+(?:\.[A-Za-z0-9\-_@#]+)*|[^\sA-Za-z0-9]")


def instruction_words(text: str) -> tuple[str, ...]:
    """Returns the words of a text in order, at most `MAX_WORDS`.

    Letters, digits, ``-_@#`` and full stops between them make a word; any other sign is a word of
    its own, so that quotes around a text to type, and a full stop after it, are no part of it.
    """
    words = (match.group() for match in _WORD.finditer(text))
    return tuple(word for word, _ in zip(words, range(MAX_WORDS), strict=False))
