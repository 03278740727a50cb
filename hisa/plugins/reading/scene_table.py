"""The things of a scene as arrays, so that each hint is looked up for all of them at once."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hisa.grounder.thing import SHOWS_TEXT, Thing
from hisa.plugins.matching.evidence import role_factor
from hisa.plugins.matching.scene import Scene
from hisa.plugins.reading.looks import Looks
from hisa.screen.role_words import Kind
from hisa.screen.roles import CONTAINERS, FIELDS
from hisa.screen.sight import is_seen
from hisa.text.similar import clean, similarity
from hisa.text.words import token_match, tokens

__all__ = ["FAMILIES", "Floats", "Ints", "Table", "family"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_LONG = 80
"""Characters; a longer text is no name."""
_FIELDS_OWN = 0.75
"""The share of a wide field that holds no arrows or icons; chosen by hand."""
_MIN_LIKENESS = 82
"""Percent; a slip of reading leaves names this much alike."""

FAMILIES = (
    *("button", "field", "choice", "tick", "item", "tab", "link", "cell", "header"),
    *("text", "part", "holder", "picture", "slider", "menu", "other"),
)
"""Groups of roles that look and work alike."""
_NAMED_ROLES = {
    "button": "push button, button, toggle button, push button menu, split button",
    "choice": "combo box",
    "tick": "check box, toggle switch, switch, radio button",
    "item": "check menu item, radio menu item, menu item, list item, tree item, option, "
    "list box option, table row, row",
    "menu": "menu",
    "tab": "page tab, tab",
    "link": "link, hyper link",
    "cell": "table cell, cell",
    "part": "arrow part, slider handle",
    "picture": "icon, image",
    "slider": "slider, scroll bar",
}
_FAMILY = (
    dict.fromkeys(FIELDS, "field")
    | dict.fromkeys(SHOWS_TEXT, "text")
    | dict.fromkeys(CONTAINERS, "holder")
    | {role: name for name, roles in _NAMED_ROLES.items() for role in roles.split(", ")}
)


def family(role: str) -> str:
    """The group of roles that one belongs to."""
    if "header" in role:
        return "header"
    return _FAMILY.get(role, "other")


class Table:
    """The things of a scene in rows; the boxes in columns left, top, right, bottom."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.things: list[Thing] = scene.things
        count = len(self.things)
        sides = [(t.box.left, t.box.top, t.box.right, t.box.bottom) for t in self.things]
        self.box: Floats = np.array(sides, dtype=float).reshape(count, 4)
        self.width: Floats = self.box[:, 2] - self.box[:, 0]
        self.height: Floats = self.box[:, 3] - self.box[:, 1]
        self.x: Floats = (self.box[:, 0] + self.box[:, 2]) / 2
        self.y: Floats = (self.box[:, 1] + self.box[:, 3]) / 2
        self.families = [family(t.role) for t in self.things]
        self.family: Ints = np.array([FAMILIES.index(f) for f in self.families], dtype=int)
        self.front: Floats = np.array([t.front for t in self.things])
        self.texts = [_list_texts(t) for t in self.things]
        self._fits: dict[Kind | None, Floats] = {}
        self.called = [tokens(" ".join(texts)) if texts else frozenset() for texts in self.texts]

    def fits(self, kind: Kind | None) -> Floats:
        """Rate each role against a kind, once for each kind."""
        if kind not in self._fits:
            self._fits[kind] = np.array([role_factor(kind, thing) for thing in self.things])
        return self._fits[kind]

    @cached_property
    def reach(self) -> Floats:
        """The part of each thing whose click means it: a field's right end may hold others."""
        reach = self.box.copy()
        cut = (self.family == FAMILIES.index("field")) & (self.width > 1.5 * self.height)
        reach[cut, 2] = (self.box[:, 0] + _FIELDS_OWN * self.width)[cut]
        return reach

    @cached_property
    def is_seen(self) -> bool:
        """Whether the elements were seen on the picture, not reported by the machine."""
        return is_seen(self.scene.observation)

    @cached_property
    def looks(self) -> Looks:
        """The things as the picture shows them."""
        return Looks(self.scene, self.box, self.family)

    @cached_property
    def twins(self) -> Floats:
        """The number of things that say the same, at most 6."""
        texts = [clean(mine[0]) if mine else "" for mine in self.texts]
        number = Counter(texts)
        return np.array([min(number[text], 6) if text else 0 for text in texts], dtype=float)

    @cached_property
    def index(self) -> dict[str, Ints]:
        """The things that each word is written on."""
        return _index_words(self.called)

    @cached_property
    def labelled(self) -> dict[str, Ints]:
        """The things that each word stands beside as a label."""
        return _index_words(
            [
                tokens(" ".join(text for text, _ in t.labels)) if t.labels else frozenset()
                for t in self.things
            ]
        )

    @cached_property
    def names(self) -> list[tuple[frozenset[str], ...]]:
        """The words of each name that a thing goes by: its own, and those beside it."""
        return [
            tuple(
                dict.fromkeys(tokens(text) for text in (*texts, *(label for label, _ in t.labels)))
            )
            for t, texts in zip(self.things, self.texts, strict=True)
        ]

    @cached_property
    def has_short_text(self) -> NDArray[np.bool_]:
        """Whether a thing says something short, which may tell of what lies around it."""
        tall = ("frame", "document web")
        return np.array(
            [bool(c) and t.role not in tall for c, t in zip(self.called, self.things, strict=True)],
            dtype=bool,
        )

    @cached_property
    def rarity(self) -> dict[str, float]:
        """For each word: 1 over the number of places where it is written."""
        return {word: 1 / self._places(at) for word, at in self.index.items()}

    def _places(self, at: Ints) -> int:
        return len({(int(self.x[i]) // 20, int(self.y[i]) // 12) for i in at})

    @cached_property
    def _by_text(self) -> dict[str, list[int]]:
        rows_by_text: dict[str, list[int]] = defaultdict(list)
        for row, texts in enumerate(self.texts):
            for text in texts:
                rows_by_text[clean(text)].append(row)
        return rows_by_text

    def rate_written(self, name: str, *, loosely: bool = False) -> Floats:
        """Rate how surely each thing has a name on it, 0..1; ``loosely``: word by word too."""
        from rapidfuzz import fuzz, process

        score = np.zeros(len(self.things))
        clean_name = clean(name)
        rows = set[int]()
        for word in tokens(name):
            rows.update(map(int, self.index.get(word, ())))
        if len(clean_name) >= 4:
            close = process.extract(
                clean_name,
                list(self._by_text),
                scorer=fuzz.ratio,
                score_cutoff=_MIN_LIKENESS,
                limit=40,
            )
            for text, _, _ in close:
                rows.update(self._by_text[text])
        rows.update(self._by_text.get(clean_name, ()))
        for row in rows:
            best = max((similarity(name, text) for text in self.texts[row]), default=0.0)
            if loosely:
                words = max((token_match(name, text) for text in self.texts[row]), default=0.0)
                best = max(best, 0.93 * words)
            score[row] = best
        return score

    def match_exactly(self, name: str) -> Floats:
        """Whether each has just these words on it, and no others that mean the same."""
        score = np.zeros(len(self.things))
        score[self._by_text.get(clean(name), [])] = 1.0
        return score

    def rate_label(self, name: str, *, loosely: bool = False) -> Floats:
        """Rate how surely each thing has a name as its label, 0..1."""
        score = np.zeros(len(self.things))
        for row in {int(i) for word in tokens(name) for i in self.labelled.get(word, ())}:
            for text, trust in self.things[row].labels:
                likeness = similarity(name, text)
                if loosely:
                    likeness = max(likeness, 0.93 * token_match(name, text))
                score[row] = max(score[row], likeness * trust)
        return score


def _list_texts(thing: Thing) -> tuple[str, ...]:
    e = thing.element
    texts = (e.name, e.text, e.description, e.label if e.role not in SHOWS_TEXT else "")
    short = (" ".join(text.split()) for text in texts if text)
    return tuple(dict.fromkeys(text for text in short if 0 < len(text) <= _LONG))


def _index_words(words: list[frozenset[str]]) -> dict[str, Ints]:
    rows_by_word: dict[str, list[int]] = defaultdict(list)
    for row, mine in enumerate(words):
        for word in mine:
            rows_by_word[word].append(row)
    return {word: np.array(rows, dtype=int) for word, rows in rows_by_word.items()}
