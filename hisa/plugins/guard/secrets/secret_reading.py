"""Finds a secret in text that was read off a picture, even if some letters were misread."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from rapidfuzz.fuzz import partial_ratio_alignment

from hisa.screen.geometry import BoundingBox, grow_box
from hisa.screen.ocr import Line, Word

__all__ = ["read_boxes", "skeleton"]

_LOOKALIKES = str.maketrans(
    {
        **dict.fromkeys("0oqdc(¢©a@4", "o"),
        **dict.fromkeys("1li|!j/\\[]7tf", "i"),
        **dict.fromkeys("5s$§z2", "s"),
        **dict.fromkeys("8b&6g9", "b"),
        **dict.fromkeys("uvy", "v"),
        **dict.fromkeys("hn", "n"),
        **dict.fromkeys("e€", "e"),
    }
)
"""Characters that tesseract takes for one another in screen text, each group as one of them."""
_GRAM = 3
"""Characters of the pieces that are compared. Three in a row are often read right, and seldom occur
in other words by chance, several side by side never."""
_SHARE = 0.6
"""Share of a value that must be seen: half a value is half a secret, and with less, words such as
"password" hide the labels of a form."""
_LIKE = 72.0
"""Likeness, of 100, from which a reading with many mistakes counts; English text beside a value of
ten characters reaches 60."""
_LEAST = 4
"""Characters of the shortest skeleton that is looked for."""
_PADDING = 4
"""Pixels added around a word: tesseract's boxes cut strokes off."""


def skeleton(text: str) -> str:
    """Returns a text as far as it is read reliably: without case, accents, blanks and signs."""
    plain = unicodedata.normalize("NFKD", text.casefold()).translate(_LOOKALIKES)
    return "".join(letter for letter in plain.replace("rn", "m") if letter.isalnum())


def read_boxes(lines: Sequence[Line], values: Iterable[str]) -> list[BoundingBox]:
    """Returns the boxes of the words that show a value, or a large part of one.

    A value may go on in the next line, or after a gap.

    Args:
        lines: the lines that were read off the picture.
        values: the values to look for.
    """
    skeletons = [bones for bones in map(skeleton, values) if len(bones) >= _LEAST]
    hits: dict[int, Word] = {}
    for words in _runs(lines) if skeletons else ():
        for bones in skeletons:
            hits |= {id(word): word for word in _find_words(words, bones)}
    return [grow_box(word.box, _PADDING) for word in hits.values()]


def _runs(lines: Sequence[Line]) -> Iterator[tuple[Word, ...]]:
    """Yields the words of every line, and of every two lines that a value may be spread over."""
    for number, line in enumerate(lines):
        yield line.words
        for other in lines[number + 1 :]:
            if other.box.top - line.box.bottom > 1.5 * line.box.height:
                break
            yield (*line.words, *other.words)
            if other.box.top < line.box.bottom:  # beside one another: which is read first?
                yield (*other.words, *line.words)


def _find_words(words: Sequence[Word], bones: str) -> list[Word]:
    owners: list[int] = []
    text = ""
    for number, word in enumerate(words):
        own = skeleton(word.text)
        text += own
        owners += [number] * len(own)
    hit = {owners[at] for at in _find_covered(text, bones)}
    return [words[number] for number in sorted(hit)]


def _find_covered(text: str, bones: str) -> set[int]:
    """The indices of a text's characters that belong to a value; both are skeletons."""
    size = min(_GRAM, len(bones))
    grams = {bones[at : at + size] for at in range(len(bones) - size + 1)}
    places = {
        place
        for at in range(len(text) - size + 1)
        if text[at : at + size] in grams
        for place in range(at, at + size)
    }
    covered: set[int] = set()
    for group in _groups(sorted(places)):
        if len(group) >= _SHARE * len(bones):
            covered |= set(range(group[0], group[-1] + 1))
    return covered | _find_similar(text, bones)


def _groups(places: Sequence[int]) -> Iterator[list[int]]:
    """Yields groups of indices with no more than two misread characters between neighbours."""
    group: list[int] = []
    for place in places:
        if group and place - group[-1] > 3:
            yield group
            group = []
        group.append(place)
    if group:
        yield group


def _find_similar(text: str, bones: str) -> set[int]:
    """The indices of the part of a text that is most like a value, if it is like enough."""
    if len(text) < _SHARE * len(bones):
        return set()
    alignment = partial_ratio_alignment(bones, text, score_cutoff=_LIKE)
    if alignment is None:
        return set()
    start, end = alignment.dest_start, alignment.dest_end
    return set(range(start, end)) if end - start >= _SHARE * len(bones) else set()
