"""Measures how similar a name in a description and a text on the screen are."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["clean", "similarity", "title_similarity"]

_SHORTCUT = re.compile(r"[\s(\[]*\b(?:(?:ctrl|alt|shift|super|cmd)\s?\+\s?)+\S{1,12}?[)\]]?$")
_BRACKETS = re.compile(r"\s*\([^()]*\)\s*$")
_DIGITS = re.compile(r"\d+")
_ENDS = " .,;:!?…*_-–>»▸▾▼\"'“”‘’`«"
_LONG = 200
"""A longer text is a document, not a name; only its beginning is compared."""
_SAME_RATIO = 0.94
"""Names this similar differ only by a typing mistake: "Sort Ascending" is not "Descending"."""
_LESS = 0.85
"""Factor if the text is only a part of the name."""
_BEGINNING = 20
"""So many equal characters at the beginning are enough."""


@lru_cache(maxsize=8192)
def clean(text: str) -> str:
    """Returns a name in lower case, with single blanks, without mnemonics, shortcuts and dots."""
    joined = " ".join(text.casefold().replace("&", "").split())
    joined = _SHORTCUT.sub("", joined).strip(_ENDS) or joined
    return joined.replace("’", "'")


@lru_cache(maxsize=32768)
def similarity(name: str, text: str) -> float:
    """Returns the similarity, 0 to 1; 1: equal but for case, blanks and punctuation at the ends.

    A part of several words is probably the same thing, a single word of a longer text hardly:
    "save" is not "save all".
    """
    if not text:
        return 0.0
    clean_name = clean(name)
    if len(clean_name) >= _BEGINNING and clean(text[: 2 * len(name)]).startswith(clean_name):
        return 0.95
    if len(text) > _LONG:
        return 0.0
    clean_text = clean(text)
    if not clean_name or not clean_text:
        return 0.0
    if clean_name == clean_text:
        return 1.0
    if clean_name == _BRACKETS.sub("", clean_text) or clean_name.replace(
        "_", ""
    ) == clean_text.replace("_", ""):
        return 0.97
    return max(
        _score_part(clean_name, clean_text),
        _LESS * _score_part(clean_text, clean_name),
        _score_fuzzy(clean_name, clean_text),
    )


def title_similarity(name: str, title: str, app: str = "") -> float:
    """Returns the similarity of a name to a window, 0 to 1.

    Titles are often "document - application", so the best part counts.

    Args:
        name: a name in a description.
        title: the title of the window.
        app: the name of its application.
    """
    parts = [app, title, *re.split(r" [-—–] ", title)]
    return max(similarity(name, part.lstrip("*")) for part in parts)


def _score_part(part: str, text: str) -> float:
    if f" {part} " not in f" {text} " or _DIGITS.findall(part) != _DIGITS.findall(text):
        return 0.0
    share = len(part) / len(text)
    return 0.6 + 0.35 * share if " " in part else 0.3 + 0.5 * share


def _score_fuzzy(name: str, text: str) -> float:
    from rapidfuzz import fuzz

    # "Sheet1" is not "Sheet2".
    if _DIGITS.findall(name) != _DIGITS.findall(text):
        return 0.0
    ratio = fuzz.ratio(name, text) / 100
    # Short names must be equal: two of four characters may differ by chance.
    score = 0.97 * ratio if ratio >= _SAME_RATIO and len(name) >= 5 else 0.7 * ratio
    if " " in name and fuzz.token_sort_ratio(name, text) == 100:
        return 0.9
    return score
