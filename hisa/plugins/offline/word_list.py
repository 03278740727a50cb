"""The words of the system's dictionaries, against which read text is held."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

__all__ = ["is_word", "known_words"]

_PLACES = (
    "/usr/share/dict/words",
    "/usr/share/hunspell/*.dic",
    "/usr/lib/libreoffice/share/extensions/dict-*/*.dic",
)
"""A list of a word a line, or Hunspell's dictionaries, where flags follow a stroke."""
_ENDING = re.compile(r"(?:'s|s|es|d|ed|ing|ly|er|ers|n't)$")
"""Endings that dictionaries leave to their rules; English, as most of what is drawn."""
_TRIMMED = ".,:;!?()[]{}<>\"'“”‘’«»…-–—*|"


@cache
def known_words() -> frozenset[str]:
    """The words in lower case; empty where no dictionary is installed."""
    found: set[str] = set()
    for pattern in _PLACES:
        for file in Path("/").glob(pattern[1:]):
            lines = file.read_text("utf-8", errors="ignore").splitlines()
            found.update(line.partition("/")[0].strip().casefold() for line in lines)
    return frozenset(found)


def is_word(text: str, others: frozenset[str]) -> bool:
    """Whether a word has three letters and is in a dictionary or among others, in lower case."""
    word = text.strip(_TRIMMED).casefold()
    if sum(character.isalpha() for character in word) < 3:
        return False
    known = known_words()
    stem = _ENDING.sub("", word)
    return word in others or any(each in known for each in (word, stem, f"{stem}e"))
