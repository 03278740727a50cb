"""Texts that a judge compares, in less room: what all of them have is shortened first."""

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
"""Words, marks and blanks in a row that all candidates have; chosen by hand: some four words."""
_LEAST, _NOTED = 24, 80
"""Characters that are left of what all have, and of a cut that says how much it left out."""


def shortened(candidates: Texts, fits: Callable[[Texts], bool], *, least: int) -> Texts:
    """Returns the texts as they are where they fit, else in less room.

    A stretch that all candidates have, wherever it stands, keeps its ends around an ellipsis. Only
    where that is not enough are the others cut as well, to ``least`` characters at least, and say
    by how many; the texts may still not fit then.
    """
    if fits(candidates):
        return candidates
    pieces = [[_PIECE.findall(text) for text in texts] for texts in candidates]
    known = [{window for text in texts for window in _windows(text)} for texts in pieces]
    everywhere = set.intersection(*known)
    split = [[[*_stretches(text, everywhere)] for text in texts] for texts in pieces]
    most = max(len(text) for texts in candidates for text in texts)

    def shown(size: int) -> Texts:
        own = least + min(size, most)
        room = {True: min(_LEAST, own) + max(0, size - most), False: own}
        return [
            ["".join(_cut(part, room[same], same) for same, part in text) for text in texts]
            for texts in split
        ]

    return shown(longest(2 * most, lambda size: fits(shown(size))))


def _windows(pieces: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for at in range(max(1, len(pieces) - _WINDOW + 1)):
        yield tuple(pieces[at : at + _WINDOW])


def _stretches(pieces: list[str], everywhere: set[tuple[str, ...]]) -> Iterator[tuple[bool, str]]:
    same = [False] * len(pieces)
    for at, window in enumerate(_windows(pieces)):
        if window in everywhere:
            same[at : at + len(window)] = [True] * len(window)
    for is_same, part in groupby(range(len(pieces)), key=same.__getitem__):
        yield is_same, "".join(pieces[at] for at in part)


def _cut(text: str, chars: int, same: bool) -> str:
    if len(text) <= chars:
        return text
    if chars >= _NOTED and not same:
        return " ".join(ends(text, chars).split("\n"))
    first, last = (" " if chars and char.isspace() else "" for char in (text[0], text[-1]))
    return f"{first}{excerpt(text, chars)}{last}"
