"""The row or card around an element of a look, and the dialog that it is in.

Equal buttons are told apart by this alone, so all of it must be as it was.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence

from hisa.plugins.synthesis.exploration_acts import read_name
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import DIALOGS

__all__ = ["FIGURES", "OTHERS", "Surroundings", "figureless", "is_shown", "says"]

FIGURES, OTHERS = "{{#}}", "{{*}}"
"""Marks: in a text, a number that differed in the second run; as a text by itself, any others."""

_ROWS = frozenset({"table row", "list item", "tree item", "row", "article"})
"""Roles of containers with the parts of one entry."""
_BARS = frozenset({"tool bar", "menu bar", "page tab list", "status bar", "menu", "navigation"})
"""Roles of low and wide containers that are not the row of a list."""
_POPPED = frozenset({"menu", "popup menu", "combo box", "tool tip"})
"""Roles of elements that show their contents in a window of their own, which may be larger."""
_CONTENT = frozenset(
    {"table cell", "list item", "label", "static", "text", "heading", "paragraph", "link"}
    | {"tree item", "icon", "image", "column header", "row header", "caption"}
)
"""Roles of the texts of an entry; the buttons are the same in every row."""
_MOST = 40  # most texts of an entry
_FEW = 12  # most texts of a dialog that asks or says one thing
_LEVELS, _PART = 3, 0.25
"""Most levels up to the row or card of an element without look-alikes; its largest share of the
screen."""
_ADDRESS = re.compile(r"[A-Z]{1,3}(\d+)")
"""The name of a cell in a spreadsheet, whatever is written there."""
_DEEP = 60  # for trees that run in a circle


def is_shown(element: Element) -> bool:
    """Whether an element is on the screen; true also if it has no states."""
    return not element.states or bool({"showing", "visible"} & element.states)


def figureless(text: str) -> str:
    """Returns the text with a mark in place of its numbers."""
    return re.sub(r"\d+", FIGURES, text)


def says(beside: Collection[str], row: Collection[str]) -> bool:
    """Whether a row has the texts that were beside a target, no fewer and no more.

    Texts with `FIGURES` match any numbers; with `OTHERS` among them, the row may have more texts.
    """
    loose = {text for text in beside if FIGURES in text}
    exact = set(beside) - loose - {OTHERS}
    rest = {figureless(text) for text in row if text not in exact}
    if not exact <= set(row) or not loose <= rest:
        return False
    return OTHERS in beside or rest == loose


class Surroundings:
    """The texts around the elements of a look, gathered once."""

    def __init__(self, observation: Observation) -> None:
        self.elements = observation.elements or ()
        self._area = observation.screen.width * observation.screen.height
        self._numbers = {id(element): n for n, element in enumerate(self.elements)}
        self._texts: dict[int, list[int]] = defaultdict(list)  # by container, itself included
        self._counted: tuple[Sequence[Element], Counter[int]] = (), Counter()
        for number, element in enumerate(self.elements):
            if element.role in _CONTENT and is_shown(element):
                for holder in (number, *self.above(number), -1):
                    self._texts[holder].append(number)

    def in_dialog(self, element: Element) -> bool:
        """Whether an element is in a dialog."""
        above = self.above(self._numbers[id(element)])
        return any(self.elements[up].role in DIALOGS for up in above)

    def is_cut(self, element: Element) -> bool:
        """Whether the middle of an element is outside of a container that hides what is outside.

        A container does so if none of its shown contents are completely outside of it.
        """
        at = element.box.centre.y
        for up in self.above(self._numbers[id(element)]):
            box = self.elements[up].box
            if self.elements[up].role in _POPPED:
                return False
            if not box.top <= at < box.bottom:
                held = (
                    e for n, e in enumerate(self.elements) if is_shown(e) if up in self.above(n)
                )
                if all(e.box.bottom > box.top and e.box.top < box.bottom for e in held):
                    return True
        return False

    def in_row(self, element: Element) -> bool:
        """Whether an element is in an entry, by the role of a container, that has texts."""
        above = self.above(self._numbers[id(element)])
        return any(self._is_row(up, element) for up in above)

    def entry(self, element: Element, similar: Sequence[Element]) -> list[str]:
        """Returns the texts that tell an element from similar ones: of its row, card or dialog.

        Empty if there are none. Each is one of the texts of `rows`.
        """
        if cells := self._cells_beside(element):
            return cells
        own = list(self._own_holders(element, similar))
        if len(similar) == 1 and (element.role in _ROWS or self._is_entry(element)):
            return []
        rows = [up for up in own if self._is_row(up, element)]
        if rows:
            return self._collect_texts(rows[-1] if len(similar) > 1 else rows[0], element)
        if len(similar) > 1:
            text_lists = [texts for up in own if (texts := self._collect_texts(up, element))]
            small = [texts for texts in text_lists if len(texts) < _MOST]
            if text_lists:
                return small[-1] if small else text_lists[0]
            return self._band(element, similar) or self._between(element, similar)
        for up in own:
            if (role := self.elements[up].role) in DIALOGS:
                texts = self._collect_texts(up, element)
                return texts if len(texts) <= _FEW and role != "file chooser" else []
        for up in own[:_LEVELS]:
            if self._is_small(up) and (texts := self._collect_texts(up, element)):
                return texts if len(texts) <= _FEW else []
        return []

    def rows(self, element: Element, similar: Sequence[Element]) -> Iterator[list[str]]:
        """Yields the texts of each container that has an element but no similar one.

        If there are none, yields the texts at its height, and those between its neighbours.
        """
        if cells := self._cells_beside(element):
            yield cells
            return
        text_lists = [
            texts
            for up in self._own_holders(element, similar)
            if (texts := self._collect_texts(up, element))
        ]
        yield from text_lists
        if not text_lists:
            yield self._band(element, similar)
            yield self._between(element, similar)

    def _cells_beside(self, element: Element) -> list[str]:
        """The texts of the other cells in the row of a cell that is named by its address."""
        if not (own := _ADDRESS.fullmatch(element.name)) or element.role != "table cell":
            return []
        row = [
            other
            for other in self.elements
            if other.parent == element.parent != -1
            and other.role == element.role
            and other.name != element.name
            and (at := _ADDRESS.fullmatch(other.name))
            and at[1] == own[1]
        ]
        return [text for other in row if (text := " ".join(other.text.split())[:200])][:_MOST]

    def _is_entry(self, element: Element) -> bool:
        """Whether an element is an icon of a folder, whose other files say nothing about it."""
        return element.role == "icon" and bool(read_name(element)) and not self.in_row(element)

    def above(self, number: int) -> Iterator[int]:
        """Yields the numbers of an element's containers, innermost first."""
        at = self.elements[number].parent
        for _ in range(_DEEP):
            if at is None or not 0 <= at < len(self.elements):
                return
            yield at
            at = self.elements[at].parent

    def _own_holders(self, element: Element, similar: Sequence[Element]) -> Iterator[int]:
        """Yields the numbers of an element's containers without similar ones, innermost first."""
        if self._counted[0] is not similar:
            numbers = [self._numbers[id(other)] for other in similar]
            held = Counter(up for number in numbers for up in (number, *self.above(number)))
            self._counted = similar, held
        for up in self.above(self._numbers[id(element)]):
            if self._counted[1][up] > 1:
                return
            yield up

    def _is_row(self, holder: int, element: Element) -> bool:
        """Whether a container is an entry with texts, of which the element is a part."""
        row = self.elements[holder].role in _ROWS and element.role not in _ROWS
        return row and bool(self._collect_texts(holder, element))

    def _is_small(self, holder: int) -> bool:
        """Whether a container may be the row or card of one element: small, and not a bar."""
        part = self.elements[holder].box.area / self._area
        return part < _PART and self.elements[holder].role not in _BARS

    def _collect_texts(self, holder: int, element: Element) -> list[str]:
        return self._words(self._texts.get(holder, ()), element)

    def _together(self, element: Element, similar: Sequence[Element]) -> list[int]:
        """The texts' numbers in the nearest container that an element shares with similar ones."""
        above = list(self.above(self._numbers[id(element)]))
        own = sum(1 for _ in self._own_holders(element, similar))
        return self._texts.get(above[own] if own < len(above) else -1, [])

    def _band(self, element: Element, similar: Sequence[Element]) -> list[str]:
        """The texts at the height of an element, for grids that have no rows."""
        box, level = element.box, []
        for number in self._together(element, similar):
            other = self.elements[number].box
            if box.top <= other.centre.y < box.bottom or other.top <= box.centre.y < other.bottom:
                level.append(number)
        return self._words(level, element)

    def _between(self, element: Element, similar: Sequence[Element]) -> list[str]:
        """The texts between the similar elements before and after an element."""
        numbers = [self._numbers[id(other)] for other in similar]
        own = self._numbers[id(element)]
        first = max((number for number in numbers if number < own), default=-1)
        last = min((number for number in numbers if number > own), default=len(self.elements))
        together = self._together(element, similar)
        return self._words([number for number in together if first < number < last], element)

    def _words(self, numbers: Collection[int], element: Element) -> list[str]:
        """The texts of elements, without those inside ``element`` or that its containers repeat."""
        own, name = self._numbers[id(element)], read_name(element).strip()
        above = set(self.above(own))
        words: dict[str, None] = {}
        for number in numbers:
            other = self.elements[number]
            text = " ".join(read_name(other).split())[:200]
            if number == own or own in self.above(number) or other.window != element.window:
                continue
            if text and not (number in above and name and name in text):
                words[text] = None
        return list(words)[:_MOST]
