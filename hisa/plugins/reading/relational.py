"""A description read as one relation, and how well each thing satisfies it as a whole.

What is asked for is of a kind, is called something, lies so to other things, and is the nth or the
outermost of those for which all this holds. Each of that is evidence of its own in `features`; here
they are evaluated one upon the other, as a person does: of the buttons in the tool bar, the third.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hisa.grounder.thing import SHOWS_TEXT
from hisa.plugins.matching.description import Relation
from hisa.plugins.reading.belonging import find_mentions, rate_belonging, rate_crossing
from hisa.plugins.reading.description_hints import read_extremes
from hisa.plugins.reading.features import Evidence
from hisa.plugins.reading.scene_table import FAMILIES, Floats, Ints
from hisa.plugins.reading.series import SeriesPlaces, line_up, number_lines

__all__ = ["build_relational"]

_NUMBERS = {"two": 2, "both": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
_NUMBER = re.compile(
    rf"\b(?:of|the|these|those|all|its)(?: \w+)? ({'|'.join(_NUMBERS)}|\d)(?= [a-z])"
)
_WORDS = (
    *("first", "second", "third", "fourth", "fifth"),
    *("sixth", "seventh", "eighth", "ninth", "tenth"),
)
_ENDS = {"last": -1, "final": -1, "bottom": -1, "lowest": -1, "lower": -1, "bottommost": -1} | {
    "rightmost": -1, "right": -1, "top": 1, "topmost": 1, "upper": 1, "uppermost": 1,
    "leftmost": 1, "left": 1, "penultimate": -2,
}  # fmt: skip
_LINE = re.compile(
    rf"\b(?:(?P<back>last but one|second last|second[- ]to[- ]last|next[- ]to[- ]last) |"
    rf"(?P<word>{'|'.join(_WORDS)}|{'|'.join(_ENDS)}) |(?P<digits>\d{{1,2}})(?:st|nd|rd|th) )"
    r"(?:(?!row|line|column|of|and|in|to)[\w-]+ ){0,2}(?P<sort>row|line|column)\b"
    r"(?! ?(?:head|title|number|name))(?P<but> but one)?"
)
"""A row or a column by its number: "in the third row", "of the rightmost column"."""
_SIDE = r"(?:top|bottom|upper|lower|left|right|centre|center|middle)"
_PLACE = re.compile(
    rf"\b(?:at|in|on|near|along|towards?) (?:the )?(?:very |far )?"
    rf"{_SIDE}(?:[- ](?:hand )?{_SIDE})?\b|"
    rf"\b(?:top|bottom|upper|lower)[- ](?:left|right)\b"
)
_BESIDE = re.compile(r"\b(?:left|right)(?:[- ]hand)? of\b")
_SIDES = {"left": "left", "right": "right", "top": "top", "bottom": "bottom"}
_FIRST = re.compile(r"(?:the )?(left|right|top|bottom)(?:[- ]hand)?\b")
_DIALOG = re.compile(r"\b(?:dialog|dialogue|popup|pop-up|modal)\b")
_LINES = frozenset({"row", "column"})
_FRAMES = frozenset({"dialog", "alert", "popup menu", "window", "file chooser", "color chooser"})
_TITLE = 40
"""Pixels of the screen that the title bar of a window is high, at most."""
_SHAPES = frozenset({"icon", "arrow"})
"""Kinds that are told by how they look, whatever their role is."""
_UNKNOWN = 0.3
"""How alike the best name must be for a name to count as known here; chosen by hand."""
_NAMELESS = 0.1
"""What is left to a thing that is not called so, where others are; chosen by hand."""
_MISCOUNTED = 0.7
"""What is left of what is in a series of another number than told; chosen by hand."""
_POOL = 0.6
"""Share of the best that what is counted has of kind, name and relations; chosen by hand."""


@dataclass
class _Reading:
    """One description before one table, evaluated step by step."""

    evidence: Evidence

    @cached_property
    def count(self) -> int:
        return len(self.evidence.table.things)

    @cached_property
    def text(self) -> str:
        """The words without what is quoted."""
        query = self.evidence.query
        text = query.context.casefold()
        for quote in query.literals:
            text = text.replace(quote.casefold(), " ")
        return " ".join(text.split())

    @cached_property
    def line(self) -> tuple[str, int] | None:
        """The row or column that is counted, and its number."""
        match = _LINE.search(self.text)
        if match is None:
            return None
        sort = "column" if match["sort"] == "column" else "row"
        if match["back"]:
            return sort, -2
        if match["digits"]:
            return sort, int(match["digits"])
        word = match["word"]
        nth = _WORDS.index(word) + 1 if word in _WORDS else _ENDS[word]
        return sort, nth - 1 if match["but"] and nth == -1 else nth

    @cached_property
    def nth(self) -> int | None:
        """The number asked for of the thing itself."""
        nth = self.evidence.query.nth
        if nth is None and self.line is None:
            nth = self.evidence.hints.nth
        return nth

    @cached_property
    def extremes(self) -> frozenset[str]:
        """The sides of which the outermost is meant; "at the lower left" only tells the place."""
        text = _PLACE.sub(" ", _LINE.sub(" ", self.text))
        sides = read_extremes(_BESIDE.sub(" ", text))
        first = _FIRST.match(self.text)
        if self.number is not None and first:
            sides |= {_SIDES[first[1]]}
        return sides

    @cached_property
    def number(self) -> int | None:
        """The number of like things that is told: "of the four buttons"."""
        if self.evidence.query.number is not None:
            return self.evidence.query.number
        match = _NUMBER.search(self.text)
        if match is None:
            return None
        return _NUMBERS[match[1]] if match[1] in _NUMBERS else int(match[1])

    @cached_property
    def kind(self) -> Floats:
        """Rate each against the kind asked for; where none is, as a thing to click."""
        table, query = self.evidence.table, self.evidence.query
        if query.kind is None:
            shows = np.isin(table.family, [FAMILIES.index(f) for f in ("text", "other")])
            holds = table.family == FAMILIES.index("holder")
            dull = np.where(holds, 0.2, np.where(shows, 0.6, 1.0))
            return np.where(shows & (self.own >= 0.9), 0.95, dull)
        roles, also = query.kind.roles, query.kind.also
        like = 0.95 if query.kind.word in _SHAPES else 0.55
        also = also - SHOWS_TEXT if query.kind.word in _SHAPES else also
        if "menu item" in roles:
            roles = roles | {"menu"}
        return np.array(
            [1.0 if t.role in roles else like if t.role in also else 0.1 for t in table.things]
        )

    @cached_property
    def own(self) -> Floats:
        """Rate the name on each."""
        query = self.evidence.query
        if not query.name:
            return np.zeros(self.count)
        return self.evidence.table.rate_written(query.name, loosely=not query.quoted)

    @cached_property
    def name(self) -> Floats:
        """Rate the name on each or on its label; 1 for all where nothing here has it."""
        query = self.evidence.query
        if not query.name:
            return np.ones(self.count)
        trust = 0.9 if query.kind is None else 1.0
        label = self.evidence.table.rate_label(query.name, loosely=not query.quoted)
        fit = np.maximum(self.own, trust * label)
        known = fit.max(initial=0.0) >= _UNKNOWN
        return np.maximum(fit, _NAMELESS) if known else np.ones(self.count)

    @cached_property
    def identity(self) -> Floats:
        front = self.evidence.table.front
        usable = np.where(front >= 0.9, 1.0, np.where(front > 0.55, 0.55, 0.5))
        return self.kind * self.name * usable * self.drawn

    @cached_property
    def drawn(self) -> Floats:
        """Less for what is too small to be seen."""
        table = self.evidence.table
        return np.where((table.width >= 4) & (table.height >= 4), 1.0, 0.3)

    @cached_property
    def relations(self) -> list[tuple[Relation, Floats]]:
        """Rate each in each relation whose anchor is there."""
        fits = []
        for relation, related in zip(
            self.evidence.query.relations, self.evidence.related, strict=True
        ):
            if relation.position == "within":
                fit = self._within(relation)
            elif self.line is not None and not relation.anchor.name and relation.position in _LINES:
                continue
            else:
                fit = np.maximum(related, self._itself(relation, related))
                if relation.position == "row":
                    fit = fit * self._same_side(relation)
            if fit.max(initial=0.0) > 0:
                fits.append((relation, fit))
        return fits

    def _itself(self, relation: Relation, related: Floats) -> Floats:
        """Rate each by the words beside it: a tick carries them, a field has a label."""
        table, name = self.evidence.table, relation.anchor.name
        if relation.position not in ("left", "near", "right", "below") or not name:
            return np.zeros(self.count)
        ticks = table.family == FAMILIES.index("tick")
        called = np.where(ticks & (relation.position != "below"), table.rate_written(name), 0.0)
        if relation.position != "left":
            called = np.maximum(called, table.rate_label(name))
        fit = np.where((called >= 0.85) & (self.kind >= 0.9), called * table.front, 0.0)
        nearest = (related * (fit > 0)).max(initial=0.0)
        return fit * np.where(related > 0, related / nearest, 1.0) if nearest > 0 else fit

    def _same_side(self, relation: Relation) -> Floats:
        """Less for what is far along a row: another pane may go on beside it."""
        table = self.evidence.table
        near = np.zeros(self.count)
        for row, _ in self.evidence.anchors(relation.anchor):
            gap = np.maximum(
                table.box[row, 0] - table.box[:, 2], table.box[:, 0] - table.box[row, 2]
            )
            near = np.maximum(near, 1 / (1 + np.maximum(gap, 0) / 800))
        return near if near.any() else np.ones(self.count)

    def _within(self, relation: Relation) -> Floats:
        fit = np.zeros(self.count)
        for row, trust in self.evidence.anchors(relation.anchor):
            fit = np.maximum(fit, trust * rate_belonging(self.evidence.table, row))
        return fit

    @cached_property
    def held(self) -> Floats:
        """Rate the place of each in containers, rows and columns."""
        fit = np.ones(self.count)
        for relation, relation_fit in self.relations:
            if relation.position in ("within", "row", "column"):
                unsure = np.clip(1.2 - 1.5 * relation_fit.max(), 0.05, 0.6)
                fit = fit * np.maximum(relation_fit / relation_fit.max(), unsure)
        return fit * self.counted_line

    @cached_property
    def counted_line(self) -> Floats:
        """Whether each is in the row or column that is counted."""
        if self.line is None:
            return np.ones(self.count)
        sort, nth = self.line
        members = self._members(self.identity)
        table = self.evidence.table
        across, down = line_up(table, members)
        places = down if sort == "row" else across
        middle, size = (table.y, table.height) if sort == "row" else (table.x, table.width)
        return np.maximum(
            np.maximum(places.nth(nth), number_lines(middle, size, members).nth(nth)), 0.2
        )

    @cached_property
    def beside(self) -> Floats:
        """1 for the nearest in each direction asked for, of what fits by itself; less for more."""
        fit = np.ones(self.count)
        base = self.identity * self.held
        pool = base >= _POOL * base.max(initial=0.0)
        for relation, relation_fit in self.relations:
            if relation.position not in ("within", "row", "column"):
                fit = fit * np.maximum(_rate_rank(relation_fit, pool), 0.05)
        return fit

    @cached_property
    def along(self) -> Floats:
        """Rate each by the directions asked for, near or far, for counting there."""
        fit = np.ones(self.count)
        for relation, relation_fit in self.relations:
            if relation.position not in ("within", "row", "column"):
                along_fit = np.where(
                    relation_fit > 0, 0.7 + 0.3 * relation_fit / relation_fit.max(), 0.05
                )
                if relation.position == "below":
                    under = self._within(relation)
                    along_fit = np.maximum(under / under.max(), 0.05) if under.any() else along_fit
                if relation.position == "near":
                    along_fit = np.maximum(along_fit, np.minimum(self._within(relation) * 1.4, 1.0))
                fit = fit * along_fit
        return fit

    def _members(self, base: Floats) -> Ints:
        """The rows to be counted: as good as the best, each place once."""
        table = self.evidence.table
        rows = np.flatnonzero(base >= _POOL * base.max(initial=0.0))
        rows = rows[np.argsort(-base[rows] * 4 - _leaf(table.family[rows]), kind="stable")]
        places = np.round(np.stack([table.x[rows], table.y[rows]], axis=1) / 5).astype(int)
        _, first = np.unique(places, axis=0, return_index=True)
        return np.asarray(np.sort(rows[first])[:1500], dtype=int)

    @cached_property
    def crossed(self) -> tuple[Floats, Floats, Floats]:
        """Texts mentioned over each, beside each, and crossing at it."""
        return rate_crossing(self.evidence, find_mentions(self.evidence))

    @property
    def asks_order(self) -> bool:
        """Whether the thing is the nth, or the outermost, of some."""
        return self.nth is not None or bool(self.extremes)

    @cached_property
    def ordered(self) -> dict[str, Floats]:
        """Rate the place of each in the order asked for."""
        zero = np.zeros(self.count)
        names = (
            "set",
            "set_more",
            "set_along",
            "series",
            "series_any",
            "counted",
            "across",
            "down",
        )
        result = dict.fromkeys(names, zero)
        if not self.asks_order:
            return result
        base = self.identity * self.held * np.sqrt(self.place)
        members = self._members(base)
        result["set"] = self._in_set(members)
        result["set_more"] = self._in_set(self._members(base * self.beside))
        result["set_along"] = self._in_set(self._members(base * self.along))
        unnamed = self._members(base / self.name)
        across, down = line_up(self.evidence.table, unnamed)
        result["series"], result["series_any"] = self._in_series(across, down)
        result["across"] = np.clip(across.number, 0, 20).astype(float)
        result["down"] = np.clip(down.number, 0, 20).astype(float)
        if self.number is not None:
            of_many = (across.number == self.number) | (down.number == self.number)
            result["counted"] = of_many.astype(float)
        return result

    def _in_series(self, across: SeriesPlaces, down: SeriesPlaces) -> tuple[Floats, Floats]:
        fits_across, fits_down = np.ones(self.count), np.ones(self.count)
        if self.nth is not None:
            fits_across, fits_down = across.nth(self.nth), down.nth(self.nth)
        for side in self.extremes:
            if side == "middle":
                fits_across, fits_down = fits_across * across.middle(), fits_down * down.middle()
            elif side in ("left", "right"):
                fits_across = fits_across * across.end(last=side == "right")
            else:
                fits_down = fits_down * down.end(last=side == "bottom")
        sideways, upright = self.extremes & {"left", "right"}, self.extremes & {"top", "bottom"}
        if bool(sideways) != bool(upright):
            longer = fits_across if sideways else fits_down
            return longer, longer
        longer = np.where(across.number >= down.number, fits_across, fits_down)
        return longer, np.maximum(fits_across, fits_down)

    def _in_set(self, members: Ints) -> Floats:
        """The place among all that fit, wherever they stand."""
        table = self.evidence.table
        fit = np.zeros(self.count)
        if len(members) < 2:
            return fit
        fit[members] = 1.0
        x, y = table.x[members], table.y[members]
        order = np.argsort(_reading(table.y, table.height, table.x, members), kind="stable")
        if "middle" in self.extremes:
            fit[members] = np.arange(len(members))[np.argsort(order)] * 2 == len(members) - 1
        for side in self.extremes - {"middle"}:
            away = {"left": x, "right": -x, "top": y, "bottom": -y}[side]
            ranks = np.searchsorted(np.unique(np.round(away / 6)), np.round(away / 6))
            fit[members] *= 1.0 / (1 + ranks)
        if self.nth is not None:
            index = self.nth - 1 if self.nth > 0 else len(members) + self.nth
            chosen = np.zeros(len(members))
            if 0 <= index < len(members):
                chosen[order[index]] = 1.0
            fit[members] *= chosen
        return fit

    @cached_property
    def place(self) -> Floats:
        """Rate each by the sides asked for, of its frame: a dialog where one is named."""
        sides = self.evidence.query.where - self.extremes
        if not sides:
            return np.ones(self.count)
        fits = [self._rate_place(frame, sides) for frame in self._frames()]
        return np.asarray(np.max(fits, axis=0))

    def _rate_place(
        self, frame: tuple[float, float, float, float], sides: frozenset[str]
    ) -> Floats:
        left, top, right, bottom = frame
        table = self.evidence.table
        x = np.clip((table.x - left) / max(right - left, 1), 0, 1)
        y = np.clip((table.y - top) / max(bottom - top, 1), 0, 1)
        inside = (table.x >= left) & (table.x <= right) & (table.y >= top) & (table.y <= bottom)
        away = {"left": x, "right": 1 - x, "top": y, "bottom": 1 - y}
        far = np.max([away[side] for side in sides if side in away], axis=0)
        return np.where(inside, np.clip(1.2 - far, 0.05, 1.0) ** 2, 0.05)

    @cached_property
    def fit(self) -> Floats:
        """Rate each by all that is asked for but the order."""
        beside = np.maximum(self.beside, 0.97 * self.along) if self.asks_order else self.beside
        return self.identity * self.held * beside * self.place

    @cached_property
    def satisfied(self) -> Floats:
        """Rate each by all that is asked for. The weights are chosen by hand."""
        if not self.asks_order:
            return self.fit
        order = self.ordered
        ways = (order["set"], 0.95 * order["set_more"], 0.97 * order["set_along"])
        best = np.maximum.reduce([*ways, 0.8 * order["series"]])
        best = np.maximum(best, 0.97 * order["series"] * order["counted"])
        if order["counted"].any():
            best = best * np.where(order["counted"] > 0, 1.0, _MISCOUNTED)
        return self.fit * np.maximum(best, 0.1)

    def _frames(self) -> list[tuple[float, float, float, float]]:
        """The boxes whose sides are meant: a holder, a dialog where one is named, the window."""
        evidence, table = self.evidence, self.evidence.table
        for relation, _ in self.relations:
            if relation.position == "within":
                rows = [row for row, _ in evidence.anchors(relation.anchor)]
                large = [r for r in rows if table.height[r] > 60 and table.width[r] > 60]
                if large:
                    return [_box(table.box[row]) for row in large]
        if _DIALOG.search(self.text):
            dialogs = [i for i, t in enumerate(table.things) if t.role in _FRAMES and t.front > 0.6]
            if dialogs:
                return [
                    _box(table.box[min(dialogs, key=lambda i: table.width[i] * table.height[i])])
                ]
        active = table.scene.observation.active
        box = active.box if active and active.box else table.scene.screen
        return [(box.left, box.top - _TITLE, box.right, box.bottom)]


def _box(sides: Floats) -> tuple[float, float, float, float]:
    left, top, right, bottom = sides.tolist()
    return left, top, right, bottom


def build_relational(evidence: Evidence) -> dict[str, Floats]:
    """Features by name: how well each thing satisfies the description as one relation."""
    reading = _Reading(evidence)
    orders = ("across", "down", "series", "series_any")
    parts = {f"order_{name}": reading.ordered[name] for name in orders}
    return parts | _total_features(reading) | _mention_features(reading)


def _total_features(reading: _Reading) -> dict[str, Floats]:
    count, evidence, total = reading.count, reading.evidence, reading.satisfied
    return {
        "whole": total,
        "whole_rank": _rate_rank(total, np.ones(count, dtype=bool)),
        "whole_alike": np.full(count, _count_places(evidence, total)),
        "whole_lead": _lead(evidence, total),
        "whole_base": reading.fit,
        "whole_place": reading.place,
        "whole_conditions": np.full(count, float(_count_conditions(reading))),
    }


def _mention_features(reading: _Reading) -> dict[str, Floats]:
    column, line, cross = reading.crossed
    of_kind = reading.kind > 0.5
    return {
        "mention_column": column,
        "mention_line": line,
        "mention_cross": cross,
        "mention_cross_rank": _rate_rank(cross * reading.kind, of_kind),
        "mention_line_rank": _rate_rank(line * reading.kind, of_kind),
        "mention_line_alike": _level(reading.evidence, reading.kind),
    }


def _count_conditions(reading: _Reading) -> int:
    """The number of things asked for that can be told here."""
    named = bool(reading.evidence.query.name) and bool((reading.name < 1).any())
    return len(reading.relations) + reading.asks_order + named + (reading.line is not None)


def _rate_rank(score: Floats, pool: NDArray[np.bool_]) -> Floats:
    """1 for the best of a pool, less for the next; 0 for what scores nothing."""
    levels = np.unique(np.round(score[pool & (score > 0)], 2))[::-1]
    place = np.searchsorted(-levels, -np.round(score, 2))
    return np.asarray(np.where(score > 0, 1 / (1 + place), 0.0))


def _count_places(evidence: Evidence, score: Floats) -> float:
    """The number of places that satisfy it as well as the best does, at most 10."""
    table = evidence.table
    rows = np.flatnonzero(score >= 0.93 * score.max(initial=0.0))
    places = {(int(table.x[row]) // 12, int(table.y[row]) // 12) for row in rows[:40]}
    return float(min(len(places), 10))


def _lead(evidence: Evidence, score: Floats) -> Floats:
    """The lead of each over the best elsewhere; negative if behind."""
    if not score.any():
        return np.zeros(len(score))
    table, top = evidence.table, int(np.argmax(score))
    here = (np.abs(table.x - table.x[top]) < 8) & (np.abs(table.y - table.y[top]) < 8)
    elsewhere = float(score[~here].max(initial=0.0))
    return np.asarray(score - np.where(here, elsewhere, score.max()))


def _level(evidence: Evidence, kind: Floats) -> Floats:
    """The number of things of the kind on the line of each, at most 10."""
    table = evidence.table
    rows = np.flatnonzero(kind >= 0.9)
    if not len(rows):
        return np.zeros(len(kind))
    shared = np.abs(table.y[:, None] - table.y[None, rows]) < 0.5 * np.minimum(
        table.height[:, None], table.height[None, rows]
    )
    return np.asarray(np.minimum(shared.sum(axis=1), 10), dtype=float)


def _leaf(families: Ints) -> Floats:
    """More for what is clicked than for what only shows."""
    dull = np.isin(families, [FAMILIES.index(f) for f in ("text", "holder", "picture", "other")])
    return np.where(dull, 0.0, 1.0)


def _reading(y: Floats, height: Floats, x: Floats, members: Ints) -> Floats:
    """A number for each member that grows in reading order."""
    order = np.argsort(y[members], kind="stable")
    line = np.zeros(len(members))
    number, start = 0, None
    for place in order:
        row = members[place]
        if start is not None and y[row] - y[start] >= 0.5 * min(height[row], height[start]):
            number, start = number + 1, row
        start = row if start is None else start
        line[place] = number
    return line * 1e5 + x[members]
