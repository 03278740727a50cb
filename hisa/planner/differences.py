"""Texts that a judge compares, in less room: what all of them have is shortened first.

What tells two candidates apart may be one word in the middle of a long text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from hisa.models.tokens import longest
from hisa.text.prompt_text import ends, excerpt

__all__ = ["Texts", "shortened"]

Texts = Sequence[Sequence[str]]
"""The texts of each candidate."""
_PIECE = re.compile(r"\w{1,16}|\s+|[^\w\s]")
_WINDOW = 8
"""Words, marks and blanks in a row that stand somewhere in every candidate's texts; chosen by hand:
three or four words."""
_LEAST = 24
"""Characters that are left of a stretch that all have: a word or two at both ends."""


def shortened(candidates: Texts, fits: Callable[[Texts], bool], *, least: int) -> Texts:
    """Returns the texts as they are, or in less room.

    A stretch that all candidates have, wherever it stands, keeps its ends around an ellipsis. Only
    where that is not enough are a candidate's own stretches cut, and say by how many characters.

    Args:
        candidates: at least one.
        fits: whether texts are short enough; those that are returned may still not be.
        least: characters that are left of an own stretch in any case.
    """
    if fits(candidates):
        return candidates
    pieces = [[_PIECE.findall(text) for text in texts] for texts in candidates]
    known = [{window for text in texts for window in _windows(text)} for texts in pieces]
    everywhere = set.intersection(*known)
    split = [[[*_stretches(text, everywhere)] for text in texts] for texts in pieces]
    most = max((len(text) for texts in candidates for text in texts), default=0)

    def shown(same: int, own: int) -> Texts:
        return [
            ["".join(_cut(part, same if is_same else own, is_same) for is_same, part in text)
             for text in texts]
            for texts in split
        ]  # fmt: skip

    if fits(shown(_LEAST, most)):
        more = longest(max(0, most - _LEAST), lambda more: fits(shown(_LEAST + more, most)))
        return shown(_LEAST + more, most)
    more = longest(max(0, most - least), lambda more: fits(shown(_LEAST, least + more)))
    return shown(_LEAST, least + more)


def _windows(pieces: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for at in range(max(1, len(pieces) - _WINDOW + 1)):
        yield tuple(pieces[at : at + _WINDOW])


def _stretches(
    pieces: Sequence[str], everywhere: set[tuple[str, ...]]
) -> Iterator[tuple[bool, str]]:
    """Yields the parts of a text in turn, each with whether all candidates have it."""
    same = [False] * len(pieces)
    for at, window in enumerate(_windows(pieces)):
        if window in everywhere:
            same[at : at + len(window)] = [True] * len(window)
    for is_same, part in groupby(range(len(pieces)), key=same.__getitem__):
        yield is_same, "".join(pieces[at] for at in part)


def _cut(text: str, chars: int, is_same: bool) -> str:
    if len(text) <= chars:
        return text
    if not is_same:
        return " ".join(ends(text, chars).split("\n"))
    first, last = (" " if char.isspace() else "" for char in (text[0], text[-1]))
    return f"{first}{excerpt(text, chars)}{last}"
