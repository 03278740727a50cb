"""The row or card around a thing of a look, and the dialog that it is in.

Equal buttons are told apart by this alone, so that all of it has to be as it was.
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
"""In a text: figures that were others in the second run; as a text of its own: any others."""

_ROWS = frozenset({"table row", "list item", "tree item", "row", "article"})
"""Roles of what holds the parts of one entry."""
_BARS = frozenset({"tool bar", "menu bar", "page tab list", "status bar", "menu", "navigation"})
"""Roles of what is low and wide, and no row of a list."""
_POPPED = frozenset({"menu", "popup menu", "combo box", "tool tip"})
"""Roles of what shows its contents in a window of its own, which may be larger than the other."""
_CONTENT = frozenset(
    {"table cell", "list item", "label", "static", "text", "heading", "paragraph", "link"}
    | {"tree item", "icon", "image", "column header", "row header", "caption"}
)
"""Roles of what an entry says; the buttons in a row are alike in every row."""
_MOST = 40  # texts of an entry
_FEW = 12  # texts of a dialog that asks or tells one thing
_LEVELS, _PART = 3, 0.25
"""How far above a thing without its like a row or card may hold it, and its part of the screen."""
_ADDRESS = re.compile(r"[A-Z]{1,3}(\d+)")
"""The name of a cell in a spreadsheet, whatever is written there."""
_DEEP = 60  # for trees that run in a circle


def is_shown(element: Element) -> bool:
    """Whether it is on the screen, as far as it is known."""
    return not element.states or bool({"showing", "visible"} & element.states)


def figureless(text: str) -> str:
    """The text with a mark in place of its figures."""
    return re.sub(r"\d+", FIGURES, text)


def says(beside: Collection[str], row: Collection[str]) -> bool:
    """Whether a row says what a target's did, no less and no more.

    Texts with `FIGURES` fit any figures; with `OTHERS` among them the row may say more.
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
        self._texts: dict[int, list[int]] = defaultdict(list)  # by the holder, itself included
        self._counted: tuple[Sequence[Element], Counter[int]] = (), Counter()
        for number, element in enumerate(self.elements):
            if element.role in _CONTENT and is_shown(element):
                for holder in (number, *self.above(number), -1):
                    self._texts[holder].append(number)

    def in_dialog(self, element: Element) -> bool:
        """Whether a dialog holds it."""
        above = self.above(self._numbers[id(element)])
        return any(self.elements[up].role in DIALOGS for up in above)

    def is_cut(self, element: Element) -> bool:
        """Whether its middle is beyond what holds it, which shows nothing that is all beyond."""
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
        """Whether it belongs to an entry by the roles of what holds it, and that says something."""
        above = self.above(self._numbers[id(element)])
        return any(self._is_row(up, element) for up in above)

    def entry(self, element: Element, similar: Sequence[Element]) -> list[str]:
        """The texts that tell an element from those alike: of its row, card or short dialog.

        Empty where there are none. Each is a text of `rows`.
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
        """The texts of whatever holds an element and no other that is alike; else those beside."""
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
        """Whether it is an icon of a folder, which the other files tell nothing of."""
        return element.role == "icon" and bool(read_name(element)) and not self.in_row(element)

    def above(self, number: int) -> Iterator[int]:
        """The numbers of what holds an element, innermost first."""
        at = self.elements[number].parent
        for _ in range(_DEEP):
            if at is None or not 0 <= at < len(self.elements):
                return
            yield at
            at = self.elements[at].parent

    def _own_holders(self, element: Element, similar: Sequence[Element]) -> Iterator[int]:
        """The numbers of what holds an element and none of the others, innermost first."""
        if self._counted[0] is not similar:
            numbers = [self._numbers[id(other)] for other in similar]
            held = Counter(up for number in numbers for up in (number, *self.above(number)))
            self._counted = similar, held
        for up in self.above(self._numbers[id(element)]):
            if self._counted[1][up] > 1:
                return
            yield up

    def _is_row(self, holder: int, element: Element) -> bool:
        """Whether an element is a part of an entry that says something, and not one itself."""
        row = self.elements[holder].role in _ROWS and element.role not in _ROWS
        return row and bool(self._collect_texts(holder, element))

    def _is_small(self, holder: int) -> bool:
        """Whether it may be the row or card of one thing: no bar, and a part of the screen."""
        part = self.elements[holder].box.area / self._area
        return part < _PART and self.elements[holder].role not in _BARS

    def _collect_texts(self, holder: int, element: Element) -> list[str]:
        return self._words(self._texts.get(holder, ()), element)

    def _together(self, element: Element, similar: Sequence[Element]) -> list[int]:
        """The contents of the nearest holder that an element shares with others that are alike."""
        above = list(self.above(self._numbers[id(element)]))
        own = sum(1 for _ in self._own_holders(element, similar))
        return self._texts.get(above[own] if own < len(above) else -1, [])

    def _band(self, element: Element, similar: Sequence[Element]) -> list[str]:
        """Texts at its height, for grids that have no rows."""
        box, level = element.box, []
        for number in self._together(element, similar):
            other = self.elements[number].box
            if box.top <= other.centre.y < box.bottom or other.top <= box.centre.y < other.bottom:
                level.append(number)
        return self._words(level, element)

    def _between(self, element: Element, similar: Sequence[Element]) -> list[str]:
        """Texts from the like before it to the like after it."""
        numbers = [self._numbers[id(other)] for other in similar]
        own = self._numbers[id(element)]
        first = max((number for number in numbers if number < own), default=-1)
        last = min((number for number in numbers if number > own), default=len(self.elements))
        together = self._together(element, similar)
        return self._words([number for number in together if first < number < last], element)

    def _words(self, numbers: Collection[int], element: Element) -> list[str]:
        """The texts of elements; not what is drawn in one, and not what is named after it."""
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
