"""Distinguishes equal elements by the words of the row, card or line that each is in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from hisa.grounder.thing import SHOWS_TEXT, Thing, gaps, overlap
from hisa.screen.hit_test import is_part_of
from hisa.screen.observation import Element, Observation
from hisa.text.prompt_text import excerpt

__all__ = ["row_names"]

_USED = frozenset({"clickable", "focusable", "selectable", "editable"})
"""States of texts and cells that can be used, not only read."""
_TEXTS = SHOWS_TEXT | {"table cell", "table row header", "link"}
_CHARS = 40
"""Most characters of the words of a row: as many as of a name in a short list."""


def row_names(
    things: Sequence[Thing],
    observation: Observation,
    line: Callable[[Thing], str],
    *,
    counted: bool = False,
) -> Mapping[Thing, str]:
    """Returns words, beginning with "of" or "(", for elements that are listed with equal lines.

    Elements that only show text get none. Words that all rows begin with are left out.

    Args:
        things: the elements, in the order of the screen.
        observation: the look that they are from.
        line: returns the line of an element.
        counted: whether elements that no words distinguish are numbered.
    """
    groups: dict[str, list[Thing]] = {}
    for thing in things:
        if thing.role not in SHOWS_TEXT | {"table cell"} or thing.element.states & _USED:
            groups.setdefault(line(thing), []).append(thing)
    names: dict[Thing, str] = {}
    for group in (group for group in groups.values() if len(group) > 1):
        rows = [tuple(_own_words(thing, group, observation.elements or ())) for thing in group]
        row_words = [_shortest(row, [other for other in rows if other != row]) for row in rows]
        for number, (thing, words) in enumerate(zip(group, row_words, strict=True)):
            of = f'of "{words}"' if words else ""
            same = row_words.count(words)
            place = (
                f"({row_words[: number + 1].count(words)} of {same})"
                if counted and same > 1
                else ""
            )
            names[thing] = f"{of} {place}".strip()
    return names


def _shortest(row: tuple[str, ...], others: Sequence[tuple[str, ...]]) -> str:
    """Returns the first words of a row that no other has, after those that all begin with."""
    shared_columns = (len(set(column)) == 1 for column in zip(row, *others, strict=False))
    start = sum(takewhile(bool, shared_columns)) if others else 0
    for end in range(start + 1, len(row) + 1):
        words = _join_words(row[start:end])
        if all(_join_words(other[start:end]) != words for other in others):
            return words
    return _join_words(row[start : start + 1])


def _join_words(words: Sequence[str]) -> str:
    return excerpt(", ".join(words), _CHARS).replace('"', "'")


def _own_words(thing: Thing, group: Sequence[Thing], elements: Sequence[Element]) -> list[str]:
    """Returns the texts of an element's containers, else those on its line.

    The containers are taken from the inside out until one holds another element of the group. The
    search goes further if there is no text in them or on the line, but never to a container of
    the whole group.
    """
    number = thing.number
    if number is None or elements[number].parent is None:
        return _texts(_own_line(thing, group, elements), thing)
    others = [t.number for t in group if t.number is not None and t is not thing]
    texts: list[str] = []
    holder = elements[number].parent
    while holder is not None and holder >= 0:
        inside = [other for other in others if is_part_of(other, holder, elements)]
        if inside and not texts:
            texts = _texts(_own_line(thing, group, elements), thing)
        if (inside and texts) or len(inside) == len(others):
            break
        within = takewhile(_part_of(holder, elements), range(holder, len(elements)))
        parts = [elements[row] for row in within if not is_part_of(row, number, elements)]
        texts, holder = _texts(parts, thing), elements[holder].parent
    return texts or _texts(_own_line(thing, group, elements), thing)


def _part_of(holder: int, elements: Sequence[Element]) -> Callable[[int], bool]:
    return lambda row: is_part_of(row, holder, elements)


def _own_line(thing: Thing, group: Sequence[Thing], elements: Sequence[Element]) -> list[Element]:
    """Returns the elements on an element's line, from the left; none if its group shares it."""
    if any(other is not thing and _is_level(other.element, thing) for other in group):
        return []
    level = (element for element in elements if _is_level(element, thing))
    return sorted(level, key=lambda element: element.box.left)


def _is_level(element: Element, thing: Thing) -> bool:
    """Whether an element is beside another in the same window and about as high."""
    least, most = sorted((element.box.height, thing.box.height))
    shared = -gaps(element.box, thing.box)[1]
    same = element.window == thing.element.window
    return same and shared >= 0.5 * least and most <= 3 * max(least, 1)


def _texts(elements: Sequence[Element], thing: Thing) -> list[str]:
    """Returns the texts or names of elements, plain texts first, without repeats and own words."""
    own, texts = thing.element.name.split(), list[str]()
    for element in sorted(elements, key=lambda element: element.role not in _TEXTS):
        words = (element.name or element.text).split()
        repeats = set(words) <= set(own) and (words != own or element.role not in SHOWS_TEXT)
        line = " ".join(words)
        known = any(f" {line} " in f" {other} " for other in texts)
        has_words = any(map(str.isalnum, line)) and not repeats
        if has_words and not known and overlap(thing.box, element.box) <= 0.8:
            texts.append(line)
    return texts
