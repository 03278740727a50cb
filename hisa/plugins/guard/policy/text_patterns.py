"""Matches patterns: a rule applies, does not apply, or may apply."""

from __future__ import annotations

from enum import IntEnum
from fnmatch import fnmatchcase

__all__ = ["Match", "literal_start", "text_match", "words"]

_WILD = "*?["


class Match(IntEnum):
    """Whether a rule applies: one that allows needs YES, one that refuses asks if it is MAYBE."""

    NO = 0
    MAYBE = 1
    YES = 2


def literal_start(pattern: str) -> str:
    """Returns the beginning of a pattern, up to its first wildcard."""
    ends = [pattern.index(mark) for mark in _WILD if mark in pattern]
    return pattern[: min(ends)] if ends else pattern


def text_match(pattern: str, text: str) -> Match:
    """Whether a pattern matches a text that is fully known."""
    return Match.YES if fnmatchcase(text, pattern) else Match.NO


def words(text: str) -> frozenset[str]:
    """Returns the words of a text that is separated by spaces."""
    return frozenset(text.split())
