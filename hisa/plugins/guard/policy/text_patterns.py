"""How sure it is that a rule applies: yes, no, or that it cannot be told."""

from __future__ import annotations

from enum import IntEnum
from fnmatch import fnmatchcase

__all__ = ["Match", "literal_start", "text_match", "words"]

_WILD = "*?["


class Match(IntEnum):
    """An allowing rule needs YES; a refusing one that may apply makes a person be asked."""

    NO = 0
    MAYBE = 1
    YES = 2


def literal_start(pattern: str) -> str:
    """Returns the beginning of a pattern, up to its first wildcard."""
    ends = [pattern.index(mark) for mark in _WILD if mark in pattern]
    return pattern[: min(ends)] if ends else pattern


def text_match(pattern: str, text: str) -> Match:
    """Whether a pattern means a text that is known."""
    return Match.YES if fnmatchcase(text, pattern) else Match.NO


def words(text: str) -> frozenset[str]:
    """Returns the words of a list that is written as one text."""
    return frozenset(text.split())
