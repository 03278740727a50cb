"""How alike a name in a description and a text on the screen are."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["clean", "similarity", "title_similarity"]

_SHORTCUT = re.compile(r"[\s(\[]*\b(?:(?:ctrl|alt|shift|super|cmd)\s?\+\s?)+\S{1,12}?[)\]]?$")
_BRACKETS = re.compile(r"\s*\([^()]*\)\s*$")
_DIGITS = re.compile(r"\d+")
_ENDS = " .,;:!?…*_-–>»▸▾▼\"'“”‘’`«"
_LONG = 200
"""Longer texts are documents, not names; they go by how they begin."""
_ALIKE = 0.94
"""Names this much alike are the same but for a slip: "Sort Ascending" is not "Descending"."""
_LESS = 0.85
"""Factor where the text is only a part of the name."""
_BEGINNING = 20
"""Characters that are enough of a beginning."""


@lru_cache(maxsize=8192)
def clean(text: str) -> str:
    """Lower case, single blanks, without mnemonics, shortcuts, dots and colons at the ends."""
    joined = " ".join(text.casefold().replace("&", "").split())
    joined = _SHORTCUT.sub("", joined).strip(_ENDS) or joined
    return joined.replace("’", "'")


@lru_cache(maxsize=32768)
def similarity(name: str, text: str) -> float:
    """0..1: 1 is the same but for case, blanks and punctuation at the ends.

    A part of several words counts as likely the same thing, a single word inside a longer text
    hardly: "save" is not "save all".
    """
    if not text:
        return 0.0
    wanted = clean(name)
    if len(wanted) >= _BEGINNING and clean(text[: 2 * len(name)]).startswith(wanted):
        return 0.95
    if len(text) > _LONG:
        return 0.0
    found = clean(text)
    if not wanted or not found:
        return 0.0
    if wanted == found:
        return 1.0
    if wanted == _BRACKETS.sub("", found) or wanted.replace("_", "") == found.replace("_", ""):
        return 0.97
    return max(_contained(wanted, found), _LESS * _contained(found, wanted), _fuzzy(wanted, found))


def title_similarity(wanted: str, title: str, app: str = "") -> float:
    """`similarity` to a window; a title is often "document - application": each part counts."""
    parts = [app, title, *re.split(r" [-—–] ", title)]
    return max(similarity(wanted, part.lstrip("*")) for part in parts)


def _contained(part: str, whole: str) -> float:
    if f" {part} " not in f" {whole} " or _DIGITS.findall(part) != _DIGITS.findall(whole):
        return 0.0
    share = len(part) / len(whole)
    return 0.6 + 0.35 * share if " " in part else 0.3 + 0.5 * share


def _fuzzy(wanted: str, found: str) -> float:
    from rapidfuzz import fuzz

    # "Sheet1" is not "Sheet2".
    if _DIGITS.findall(wanted) != _DIGITS.findall(found):
        return 0.0
    ratio = fuzz.ratio(wanted, found) / 100
    # Two characters of four may differ by chance; short names must be right.
    alike = 0.97 * ratio if ratio >= _ALIKE and len(wanted) >= 5 else 0.7 * ratio
    if " " in wanted and fuzz.token_sort_ratio(wanted, found) == 100:
        return 0.9
    return alike
