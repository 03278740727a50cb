"""What speaks for each thing on the screen being the one described, as numbers for a ranker."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hisa.grounder.thing import READ
from hisa.plugins.matching.description import Query, Relation
from hisa.plugins.reading.description_hints import Hints, read_hints
from hisa.plugins.reading.layout import Order, measure_distances, orders
from hisa.plugins.reading.purposes import acting_families, find_purposes, serves
from hisa.plugins.reading.scene_table import FAMILIES, Floats, Table, family
from hisa.plugins.reading.series import SERIES_FAMILY
from hisa.screen.role_words import find_kind
from hisa.screen.roles import CONTAINERS
from hisa.screen.sight import SEEN
from hisa.text.words import purpose_match, tokens

__all__ = ["Evidence", "build_features"]

_ANCHORS = 6
"""Things that the words after "next to" may mean, at most."""
_NEAR = 90.0
"""Pixels of the screen over which nearness halves."""
_TITLE_BAR = re.compile(
    r"\btitle ?bar|\b(?:clos|minimi[sz]|maximi[sz]|restor)\w* (?:\w+ ){0,3}window|"
    r"\bwindow(?:'s)? (?:close|minimi[sz]e|maximi[sz]e)"
)
_TITLE_HIGH = 44
"""Pixels of the screen from a window's upper edge within which its title bar lies, either way."""
_KIND_AS_NAME = 0.9
"""How surely a word for a kind is the name of an anchor that is called just so."""
_HOLDERS = CONTAINERS | {"landmark"}
"""Roles of anchors that need only have the words for them: "the notebook" is "notebook content"."""
_DIRECTIONS = frozenset({"left", "right", "above", "below", "near", "between"})


@dataclass
class Evidence:
    """One description before one table of things."""

    queries: tuple[Query, ...]
    table: Table

    @property
    def query(self) -> Query:
        """The usual reading."""
        return self.queries[-1]

    @cached_property
    def hints(self) -> Hints:
        """The hints in the words."""
        return read_hints(self.query)

    @cached_property
    def roles(self) -> Floats:
        """Rate each role against the kind that is asked for."""
        return self.table.fits(self.query.kind)

    @cached_property
    def in_kind(self) -> NDArray[np.bool_]:
        """Whether each is of the kind asked for; of any kind that is clicked, where none is."""
        kind = self.query.kind
        if kind is None:
            holder = FAMILIES.index("holder")
            return np.asarray(self.table.family != holder, dtype=bool)
        roles = kind.roles | kind.also
        return np.array([t.role in roles for t in self.table.things], dtype=bool)

    @cached_property
    def related(self) -> list[Floats]:
        """For each relation: how well each thing stands in it, 0..1."""
        return [self._rate_relation(relation) for relation in self.query.relations]

    def _rate_relation(self, relation: Relation) -> Floats:
        table = self.table
        fit = self._reference(relation)
        others = self.anchors(relation.other) if relation.other else []
        for row, trust in self.anchors(relation.anchor):
            if relation.position == "between":
                for other, more in others:
                    between = _rate_between(table.box, table.box[row], table.box[other])
                    fit = np.maximum(fit, trust * more * between)
                continue
            far = measure_distances(relation.position, table.box, table.box[row])
            fit = np.maximum(fit, trust / (1 + far / _NEAR))
        return fit

    def _reference(self, relation: Relation) -> Floats:
        """Cells by the letter of their column or the number of their row: "in column C"."""
        called = relation.anchor.name.casefold()
        pattern = {"row": rf"[a-z]{{1,3}}{called}", "column": rf"{called}\d+"}.get(
            relation.position
        )
        if pattern is None or not re.fullmatch(r"\d{1,7}|[a-z]{1,3}", called):
            return np.zeros(len(self.table.things))
        cell = re.compile(pattern, re.I)
        things = self.table.things
        fits = (t.role == "table cell" and cell.fullmatch(t.element.name) for t in things)
        return np.array([float(bool(fit)) for fit in fits])

    def anchors(self, query: Query) -> list[tuple[int, float]]:
        """The rows of the things that an anchor may be, and how surely each is."""
        table = self.table
        trust = self.anchor_fit(query)
        best = trust.max(initial=0.0)
        if best < 0.3:
            return []
        likely = np.argsort(-trust, kind="stable")[: 4 * _ANCHORS]
        rows = [int(row) for row in likely if trust[row] >= 0.75 * best]
        return [(row, float(trust[row] * table.front[row])) for row in rows[:_ANCHORS]]

    def anchor_fit(self, query: Query) -> Floats:
        """Rate each thing against the words for an anchor."""
        table = self.table
        kind = table.fits(query.kind)
        if not query.name:
            roles = query.kind.roles if query.kind else frozenset()
            fit = np.array([float(t.role in roles) for t in table.things]) * 0.6
            for name in query.also:
                fit = np.maximum(fit, _KIND_AS_NAME * table.match_exactly(name))
        else:
            fit = table.rate_written(query.name, loosely=not query.quoted)
            fit = np.maximum(fit, 0.9 * table.rate_label(query.name)) * np.sqrt(kind)
            fit = np.maximum(fit, _KIND_AS_NAME * self._holders(query))
            for name in query.also:
                fit = np.maximum(fit, 0.9 * table.rate_written(name))
        return fit if query.nth is None else fit * 0.8

    def _holders(self, query: Query) -> Floats:
        """Whether each holds others, and has all the words for the anchor in its name."""
        words, kind = tokens(query.name), query.kind
        roles = _HOLDERS & kind.roles if kind else _HOLDERS
        held = (t.role in roles and words <= tokens(t.element.name) for t in self.table.things)
        return np.array([float(words != frozenset() and fits) for fits in held])


def _rate_between(box: Floats, first: Floats, second: Floats) -> Floats:
    x, y = (box[:, 0] + box[:, 2]) / 2, (box[:, 1] + box[:, 3]) / 2
    first_middle = ((first[0] + first[2]) / 2, (first[1] + first[3]) / 2)
    second_middle = ((second[0] + second[2]) / 2, (second[1] + second[3]) / 2)
    wide, high = abs(first_middle[0] - second_middle[0]), abs(first_middle[1] - second_middle[1])
    if max(wide, high) < 4:
        return np.zeros(len(box))
    along, at = (x, 0) if wide > high else (y, 1)
    across = y if wide > high else x
    low, top = sorted((first_middle[at], second_middle[at]))
    share = np.clip(np.minimum(along - low, top - along) / (top - low) * 4, 0, 1)
    middle = (first_middle[1 - at] + second_middle[1 - at]) / 2
    off = np.abs(across - middle) - max(abs(first_middle[1 - at] - second_middle[1 - at]) / 2, 12)
    return np.asarray(share / (1 + np.maximum(off, 0) / 20) / (1 + (top - low) / 600))


def build_features(evidence: Evidence, known: dict[str, Floats]) -> dict[str, Floats]:
    """Every feature by its name, a number for each thing.

    Args:
        evidence: the description and the things.
        known: what other scores say, by a name for each.
    """
    by_name = dict(known)
    for part in _PARTS:
        by_name |= part(evidence)
    return by_name


def _words(evidence: Evidence) -> dict[str, Floats]:
    """The words of the description on a thing, on its label, and around it."""
    table, hints = evidence.table, evidence.hints
    count = len(table.things)
    rarity = {w: table.rarity[w] ** 0.5 for w in hints.words if w in table.rarity}
    telling = {w: v for w, v in rarity.items() if w in hints.telling}
    own = {w: _spread(table.index[w], count) for w in rarity}
    total = sum(rarity.values()) or 1.0
    heads = {w: v for w, v in rarity.items() if w in hints.head}
    result = {
        "own": _sum(own, rarity, count) / total,
        "own_head": _sum(own, heads, count) / (sum(heads.values()) or 1.0),
        "own_meant": _sum(own, telling, count) / (sum(telling.values()) or 1.0),
        "label": _sum(
            {w: _spread(table.labelled.get(w, ()), count) for w in telling}, telling, count
        )
        / (sum(telling.values()) or 1.0),
    }
    places = {w: table.index[w][table.has_short_text[table.index[w]]] for w in telling}
    for name, rate_near in _AROUND.items():
        near = {w: rate_near(table, rows) * (1 - own[w]) for w, rows in places.items() if len(rows)}
        result[name] = _sum(near, telling, count) / (sum(telling.values()) or 1.0)
    covered = {
        w: np.maximum.reduce(
            [
                own[w],
                *(rate_near(table, places[w]) for rate_near in _AROUND.values() if len(places[w])),
            ]
        )
        for w in telling
    }
    result["covered"] = _sum(covered, telling, count) / (sum(telling.values()) or 1.0)
    result["known_words"] = np.full(count, len(telling) / max(len(hints.telling), 1))
    return result | _shares(evidence)


def _shares(evidence: Evidence) -> dict[str, Floats]:
    """The share of the words asked for that each thing has on it, and of its own words."""
    table, hints = evidence.table, evidence.hints
    result = {
        "told": np.array([len(mine & hints.words) / max(len(mine), 1) for mine in table.called]),
        "told_meant": np.array(
            [len(mine & hints.telling) / max(len(mine), 1) for mine in table.called]
        ),
        "twins": table.twins,
    }
    words_by_name = {
        "numbers": hints.numbers,
        "own_share": hints.telling,
        "head_share": hints.telling & hints.head,
    }
    for name, words in words_by_name.items():
        shares = [len(mine & words) / max(len(words), 1) for mine in table.called]
        result[name] = np.array(shares)
    return result


def _sum(by_word: dict[str, Floats], weights: dict[str, float], count: int) -> Floats:
    total = np.zeros(count)
    for word, weight in weights.items():
        if word in by_word:
            total += weight * by_word[word]
    return total


def _spread(rows: Iterable[int], count: int) -> Floats:
    full = np.zeros(count)
    full[list(rows)] = 1.0
    return full


def _on_line(table: Table, rows: NDArray[np.int64]) -> Floats:
    top = np.maximum(table.box[:, None, 1], table.box[None, rows, 1])
    bottom = np.minimum(table.box[:, None, 3], table.box[None, rows, 3])
    low = np.minimum(table.height[:, None], table.height[None, rows])
    short = table.height[None, rows] <= 2.5 * table.height[:, None] + 10
    return np.asarray(((bottom - top >= 0.5 * low) & short).any(axis=1), dtype=float)


def _over_column(table: Table, rows: NDArray[np.int64]) -> Floats:
    """Under a header, or in the column of what stands above."""
    header = np.array(["header" in table.things[i].role for i in rows], dtype=bool)
    x = table.x[:, None]
    beneath = table.box[:, None, 1] >= table.box[None, rows, 3] - 2
    inside = (x >= table.box[None, rows, 0]) & (x < table.box[None, rows, 2])
    aligned = np.abs(table.box[:, None, 0] - table.box[None, rows, 0]) < 6
    fits = beneath & inside & (header[None, :] | aligned)
    return np.asarray(fits.any(axis=1), dtype=float)


def _inside(table: Table, rows: NDArray[np.int64]) -> Floats:
    x, y = table.x[:, None], table.y[:, None]
    held = (
        (x > table.box[None, rows, 0])
        & (x < table.box[None, rows, 2])
        & (y > table.box[None, rows, 1])
        & (y < table.box[None, rows, 3])
        & (table.height[None, rows] > 1.4 * table.height[:, None])
    )
    return np.asarray(held.any(axis=1), dtype=float)


def _close(table: Table, rows: NDArray[np.int64]) -> Floats:
    across = np.maximum(
        table.box[None, rows, 0] - table.box[:, None, 2],
        table.box[:, None, 0] - table.box[None, rows, 2],
    )
    down = np.maximum(
        table.box[None, rows, 1] - table.box[:, None, 3],
        table.box[:, None, 1] - table.box[None, rows, 3],
    )
    far = np.maximum(across, 0) + 1.5 * np.maximum(down, 0)
    return np.asarray(1 / (1 + far.min(axis=1) / 50))


_AROUND: dict[str, Callable[[Table, NDArray[np.int64]], Floats]] = {
    "line": _on_line,
    "column": _over_column,
    "inside": _inside,
    "close": _close,
}


def _names(evidence: Evidence) -> dict[str, Floats]:
    """Evidence of what is quoted or named, as a whole."""
    table, query = evidence.table, evidence.query
    count = len(table.things)
    zero = np.zeros(count)
    quotes = {q: table.rate_written(q) for q in query.literals[:6]}
    anchored = {r.anchor.name for r in query.relations} | {
        r.other.name for r in query.relations if r.other
    }
    mine = [q for q in quotes if q not in anchored]
    named = table.rate_written(query.name, loosely=not query.quoted) if query.name else zero
    by_label = table.rate_label(query.name, loosely=not query.quoted) if query.name else zero
    values = [table.rate_written(v, loosely=v not in query.literals) for v in query.values[:3]]
    purpose = " ".join((query.name if not query.quoted else "", query.hints))
    names = [t.element.name or t.element.description for t in table.things]
    does = np.array([purpose_match(purpose, n) if n else 0.0 for n in names])
    return {
        "name": named,
        "name_label": by_label,
        "name_asked": np.full(count, float(bool(query.name))),
        "name_quoted": np.full(count, float(query.quoted)),
        "quote_own": np.maximum.reduce([zero, *(quotes[q] for q in mine)]),
        "quote_found": np.full(
            count, min((float(s.max(initial=0.0)) for s in quotes.values()), default=1.0)
        ),
        "quotes": np.full(count, float(len(quotes))),
        "value": np.maximum.reduce([zero, *values]),
        "value_asked": np.full(count, float(bool(values))),
        "also": np.maximum.reduce([zero, *(table.rate_written(a) for a in query.also[:3])]),
        "does": does,
    }


def _purposes(evidence: Evidence) -> dict[str, Floats]:
    """Evidence by what controls are called that do what is said, or show the picture said."""
    table, query = evidence.table, evidence.query
    text, head = query.context.casefold(), query.head.casefold()
    for quote in query.literals:
        text, head = (part.replace(quote.casefold(), " ") for part in (text, head))
    by_name: dict[str, Floats] = {}
    for name, part_text in (("purpose", text), ("purpose_head", head)):
        names_for_it = find_purposes(part_text)
        fits = [max((serves(names_for_it, n) for n in names), default=0.0) for names in table.names]
        by_name[name] = np.array(fits) if names_for_it else np.zeros(len(table.things))
    by_name["purpose_asked"] = np.full(len(table.things), float(bool(find_purposes(text))))
    acting = acting_families(text.strip())
    by_name["acts"] = np.array([float(f in acting) for f in table.families])
    return by_name | {"title_bar": _rate_in_title_bars(evidence, text)}


def _rate_in_title_bars(evidence: Evidence, text: str) -> Floats:
    """Whether each thing stands where the title bar of a window is, if one is asked for."""
    table = evidence.table
    in_bar = np.zeros(len(table.things), dtype=bool)
    windows = table.scene.observation.windows if _TITLE_BAR.search(text) else ()
    for box in (w.box for w in windows if w.box):
        across = (box.left - 8 <= table.x) & (table.x < box.right + 8)
        in_bar |= across & (np.abs(table.y - box.top) <= _TITLE_HIGH)
    return in_bar.astype(float)


def _kinds(evidence: Evidence) -> dict[str, Floats]:
    table, query = evidence.table, evidence.query
    things = table.things
    kind = query.kind
    count = len(things)
    roles = kind.roles if kind else frozenset[str]()
    named = find_kind(query.head.casefold())[0]
    result = {
        "role": evidence.roles,
        "role_in": np.array([float(t.role in roles) for t in things]),
        "role_head": table.fits(named),
        "kind_asked": np.full(count, float(kind is not None)),
        "drawn": np.array([-1.0 if t.drawn is None else t.drawn for t in things]),
        "read": np.array([float(t.role == READ) for t in things]),
        "seen": np.array([float(SEEN in t.element.states) for t in things]),
        "front": table.front,
    }
    for name in ("button", "cell", "holder", "item", "menu", "part", "picture", "text"):
        result[f"is_{name}"] = (table.family == FAMILIES.index(name)).astype(float)
    families = _find_families(evidence)
    result |= {
        f"asks_{name}": np.full(count, float(name in families))
        for name in ("button", "item", "picture", "part")
    }
    return result


def _find_families(evidence: Evidence) -> frozenset[str]:
    kind = evidence.query.kind
    return frozenset(family(role) for role in kind.roles) if kind else frozenset()


def _relations(evidence: Evidence) -> dict[str, Floats]:
    """Evidence of the other things named, and its rank among what fits the kind."""
    count = len(evidence.table.things)
    rows = list(zip(evidence.query.relations, evidence.related, strict=True))
    known = [(r, s) for r, s in rows if s.max(initial=0.0) > 0]
    result = {
        "relations": np.full(count, float(len(rows))),
        "relations_lost": np.full(count, float(len(rows) - len(known))),
        "related": np.ones(count) if not known else np.mean([s for _, s in known], axis=0),
        "related_least": np.ones(count) if not known else np.min([s for _, s in known], axis=0),
    }
    ranks = [(r, _rank(evidence, s)) for r, s in known]
    for name, sort in (("beside", _DIRECTIONS), ("held", {"within", "row", "column"})):
        mine = [s for r, s in ranks if r.position in sort]
        result[f"{name}_rank"] = np.mean(mine, axis=0) if mine else np.zeros(count)
    return result


def _rank(evidence: Evidence, score: Floats) -> Floats:
    """1 for the best of what fits the kind, less for the next; 0 for what does not stand so."""
    fits = evidence.in_kind & (score > 0)
    levels = np.unique(np.round(score[fits], 2))[::-1]
    place = np.searchsorted(-levels, -np.round(score, 2))
    return np.asarray(np.where(score > 0, 1 / (1 + place), 0.0))


def _places(evidence: Evidence) -> dict[str, Floats]:
    """The place on the screen and in the window, and the order among like things."""
    table, query = evidence.table, evidence.query
    count = len(table.things)
    screen = table.scene.screen
    active = table.scene.observation.active
    window = active.box if active and active.box else screen
    result = {}
    for name, frame in (("screen", screen), ("window", window)):
        x = np.clip((table.x - frame.left) / max(frame.width, 1), 0, 1)
        y = np.clip((table.y - frame.top) / max(frame.height, 1), 0, 1)
        away = {"left": x, "right": 1 - x, "top": y, "bottom": 1 - y}
        sides = [away[side] for side in query.where if side in away]
        result[f"off_{name}"] = np.mean(sides, axis=0) if sides else np.zeros(count)
    return result | _order_features(evidence)


def _order_features(evidence: Evidence) -> dict[str, Floats]:
    table, hints = evidence.table, evidence.hints
    count = len(table.things)
    names = ("across", "down", "reading")
    result = {f"nth_{name}": np.zeros(count) for name in names}
    result |= {f"nth_held_{name}": np.zeros(count) for name in names}
    result |= {"extreme": np.zeros(count), "extreme_held": np.zeros(count)}
    result["nth_asked"] = np.full(count, float(hints.nth is not None))
    result["extreme_asked"] = np.full(count, float(bool(hints.extremes)))
    if hints.nth is None and not hints.extremes:
        return result
    held = np.ones(count, dtype=bool)
    for relation, score in zip(evidence.query.relations, evidence.related, strict=True):
        if score.max(initial=0.0) > 0 and relation.position in ("within", "row", "column"):
            held &= score > 0
    usable = np.ones(count, dtype=bool) & (table.front > 0.55)
    for suffix, members in (("", usable), ("_held", usable & held)):
        order = orders(table.box, SERIES_FAMILY[table.family], members)
        if hints.nth is not None:
            for name, fit in zip(names, order.fits(hints.nth), strict=True):
                result[f"nth{suffix}_{name}"] = fit
        if hints.extremes:
            result[f"extreme{suffix}"] = _rate_extremes(order, hints.extremes)
    return result


def _rate_extremes(order: Order, sides: frozenset[str]) -> Floats:
    """1 for the outermost of its row or column on the sides asked for, less for the next."""
    fits = []
    for side in sides:
        if side == "middle":
            fits.append(np.maximum(_middle(order.across), _middle(order.down)))
            continue
        places = order.across if side in ("left", "right") else order.down
        index, number = places[:, 0], places[:, 1]
        place = index if side in ("left", "top") else number - 1 - index
        fit = 1 / (1 + np.maximum(place, 0))
        fits.append(np.where((number >= 2) & (index >= 0), fit, 0.0))
    return np.asarray(np.mean(fits, axis=0))


def _middle(places: Floats) -> Floats:
    index, number = places[:, 0], places[:, 1]
    return np.asarray((number >= 3) & (2 * index == number - 1), dtype=float)


def _look_features(evidence: Evidence) -> dict[str, Floats]:
    """Size, colour and standing out from the like."""
    table, hints = evidence.table, evidence.hints
    area = np.sqrt(np.maximum(table.width * table.height, 1))
    small = np.clip((60 - area) / 60, -1, 1)
    return {
        "size": np.log(area),
        "flat": np.log(np.maximum(table.width, 1) / np.maximum(table.height, 1)),
        "sized": small * (float(hints.small) - float(hints.large)),
        "colour": evidence.table.looks.rate_colours(hints.colours),
        "colour_asked": np.full(len(area), float(bool(hints.colours))),
        **_state_features(evidence),
    }


_STATES = {
    "selected": frozenset({"selected", "checked", "pressed"}),
    "ticked": frozenset({"checked", "pressed"}),
    "open": frozenset({"expanded", "selected", "pressed"}),
}
_HALF_STATES = {"selected": frozenset({"active", "focused"})}
"""States that what is meant often has, and many another thing too."""
_USABLE = frozenset({"enabled", "sensitive"})
_TICKED_TOO = frozenset({"toggle button", "check menu item", "radio menu item", "table cell"})
"""Roles of what may be ticked, beside those that are there for it."""


def _state_features(evidence: Evidence) -> dict[str, Floats]:
    """The states asked for, and which thing alone has one.

    What is drawn or read, and told by nobody, has no state that is known.
    """
    table, hints = evidence.table, evidence.hints
    count = len(table.things)
    states = [t.element.states for t in table.things]
    has_states = np.array([float(bool(s)) for s in states])
    by_state = {}
    for name, state_names in _STATES.items():
        half = _HALF_STATES.get(name, frozenset())
        has = np.array([1.0 if s & state_names else 0.5 * bool(s & half) for s in states])
        by_state[name] = has if name in hints.states else np.zeros(count)
    dead = np.array([float(not s & _USABLE) for s in states])
    by_state["disabled"] = dead * has_states
    is_tick = table.family == FAMILIES.index("tick")
    is_tick |= np.array([t.role in _TICKED_TOO for t in table.things], dtype=bool)
    bare = np.array([float(not s & _STATES["ticked"]) for s in states])
    drawn = np.array([t.drawn is not None and t.role == "check box" for t in table.things])
    known = np.maximum(has_states, drawn)
    by_state["unticked"] = bare * known * is_tick
    lit = hints.states & {"selected", "open"}
    return {
        "selected": by_state["selected"],
        "state_alone": _rate_alone(table, by_state, hints.states),
        "stands_out": evidence.table.looks.standing_out() if lit else np.zeros(count),
    }


def _rate_alone(table: Table, by_state: dict[str, Floats], requested: frozenset[str]) -> Floats:
    """1 for the only one of its group that has a state asked for, less where several have it."""
    names = [name for name in by_state if name in requested]
    has = (
        np.max([by_state[name] for name in names], axis=0) if names else np.zeros(len(table.things))
    )
    shown = has * (table.front > 0.55) > 0.9
    number = np.bincount(table.family[shown], minlength=len(FAMILIES))
    return np.asarray(np.where(shown, 1 / np.maximum(number[table.family], 1), 0.0))


_PARTS = (_words, _names, _purposes, _kinds, _relations, _places, _look_features)
