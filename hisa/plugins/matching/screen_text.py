"""Text read off the picture, as elements to choose from besides those of accessibility."""

from __future__ import annotations

from collections.abc import Iterable

from hisa.grounder.thing import READ
from hisa.plugins.matching.description import Query
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation
from hisa.screen.ocr import Line, ReadText, Word
from hisa.text.similar import similarity

__all__ = ["read_elements"]

_MAX_WORDS = 12
"""Most words of a run that is compared with a name; chosen by hand."""
_SHORT = 3
"""Most words of a line that is only taken as a whole."""
_MIN_LIKENESS = 0.8
"""Least likeness to a name for words inside a line to be a separate element."""


def read_elements(
    queries: Iterable[Query], observation: Observation, read: ReadText
) -> tuple[Element, ...]:
    """Returns the lines on the picture, and the words in them that a query names; in screen space.

    Args:
        queries: the readings of the description.
        observation: the look.
        read: reads the text on the picture.

    Raises:
        OcrUnavailable: the picture cannot be read.
    """
    names = set[str]()
    for query in queries:
        names |= {query.name, *query.also, *query.values, *query.literals}
        names |= {relation.anchor.name for relation in query.relations}
    elements: list[Element] = []
    for line in read(observation.without_pointer.screenshot, None):
        words = _without_icons(line.words)
        elements.append(_element(words, observation))
        if len(words) > _SHORT:
            runs = (_best_run(name, words) for name in names if name)
            elements += [_element(run, observation) for run in dict.fromkeys(runs) if run]
    return tuple(elements)


def _element(words: tuple[Word, ...], observation: Observation) -> Element:
    line = Line(words)
    box = line.box
    plain = BoundingBox(box.left, box.top, box.right, box.bottom, "image")
    return Element(READ, line.text, observation.convert_box(plain, "screen"))


def _best_run(name: str, words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Returns the words inside a line that are most like a name; empty if none are alike."""
    runs = list(_runs(words, len(name.split())))
    scored = [(similarity(name, Line(run).text), run) for run in runs]
    score, best = max(scored, key=lambda pair: pair[0], default=(0.0, ()))
    return best if score >= _MIN_LIKENESS and len(best) < len(words) else ()


def _without_icons(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Returns words without icons at the ends, which are read as "©", "PS)" or "v"."""
    first, last = 0, len(words)
    while first < last - 1 and _looks_like_icon(words[first]):
        first += 1
    while last > first + 1 and sum(map(str.isalnum, words[last - 1].text)) < 2:
        last -= 1
    return words[first:last]


def _looks_like_icon(word: Word) -> bool:
    letters = sum(map(str.isalnum, word.text))
    broken = word.text.count("(") != word.text.count(")")
    return letters < 2 or (letters < 3 and (broken or word.confidence < 0.6))


def _runs(words: tuple[Word, ...], count: int) -> Iterable[tuple[Word, ...]]:
    """Yields runs of about as many words as the name has: two words may have been read as one."""
    for length in range(max(1, count - 1), min(count + 1, _MAX_WORDS) + 1):
        for start in range(len(words) - length + 1):
            yield words[start : start + length]
