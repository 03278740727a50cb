"""Picks the thing on the screen that a `Query` means, or says why there is none."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from hisa.grounder.thing import READ, Thing, gaps, lines, overlap, sides
from hisa.plugins.matching.description import Query, Relation
from hisa.plugins.matching.evidence import names_itself, rate_identity, state_factor
from hisa.plugins.matching.scene import Scene
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element
from hisa.screen.role_words import find_kind
from hisa.screen.roles import CONTAINERS, FIELDS, MULTI_LINE
from hisa.text.similar import similarity, title_similarity
from hisa.text.words import tokens

__all__ = [
    "BEHIND",
    "MIN_CLOSE_SCORE",
    "READINGS",
    "Candidate",
    "Choice",
    "by_hand_choice",
    "counts_rows",
    "distinct_best",
    "fits_but_blocked",
    "is_behind",
    "is_blocked",
    "pick",
    "rate",
    "scores",
]

READINGS = 2
"""Most literal readings tried, the most literal first: each costs as much as the usual one."""
_LITERAL = 0.9
"""Least score for "the first name field" to be the field "first name", not the first one."""
_USUAL = 0.64
"""Least score for the choice by the usual reading."""
BEHIND = "behind a dialog, menu or window in front"
_BLOCKED = 0.5
"""Most `Thing.front` of a thing behind a modal dialog."""
_TIE = 0.03
"""Scores this close are equal."""
_SAME_PLACE = 0.5
"""Shared part of the smaller box; some toolkits report one thing twice, a little apart."""
_ANCHOR_SCORE = 0.6
"""Least score of the thing after "in" or "next to"; chosen by hand."""
MIN_CLOSE_SCORE = 0.35
"""Least score of a thing that is named as close to a description; chosen by hand."""
_POOL = 0.75
"""Share of the best score from which a relation may lift a thing above the best."""
_APART = 0.15
"""Share of its score that a thing loses if its line has none of the description's other words."""
_AWAY = 0.2
"""Share of its score that a thing loses at the opposite end of the frame from the place named."""
_BORNE_OUT = 1.12
"""Factor for a thing without a name, if a neighbour, a state or a place supports it."""
_BARE_SCORE = 0.45
"""Least score of a thing without any words, of a role that may be meant."""
_MENU_ITEMS = frozenset({"menu item", "check menu item", "radio menu item", "menu"})
_IN_A_SENTENCE = 0.9
"""Factor for a word of running text, if the query does not mean text."""
_BEHIND = re.compile(r"\b(?:main|parent|background) window\b|\bbehind the (?:dialog|window)")
_ADJACENT = 60
"""Most screen pixels between a thing without a name and the neighbour that identifies it."""
_FAR = 260
"""Most screen pixels for "next to" and the like."""


@dataclass(frozen=True)
class Candidate:
    """A thing and its score, which may exceed 1."""

    thing: Thing
    score: float

    @property
    def box(self) -> BoundingBox:
        """The visible part of its box, in screen space."""
        return self.thing.box

    @property
    def element(self) -> Element:
        """The element that accessibility lists."""
        return self.thing.element


@dataclass(frozen=True)
class Choice:
    """The result: ``chosen``, or why there is none. ``others`` are the closest, best first."""

    chosen: Candidate | None
    reason: str = ""
    others: tuple[Candidate, ...] = ()
    ambiguous: bool = False
    blocked: bool = False
    """Whether the thing that fits is `BEHIND`."""
    too_few: bool = False
    """Whether there is only one of its sort, but a later one is meant."""


def rate(query: Query, scene: Scene) -> list[Candidate]:
    """Returns everything that fits at all, scored by all evidence; cached in the scene."""
    known: dict[Query, list[Candidate]] = scene.__dict__.setdefault("rated", {})
    if query not in known:
        known[query] = _apply_context(query, _score_things(query, scene), scene)
    return known[query]


def by_hand_choice(queries: tuple[Query, ...], scene: Scene) -> Choice:
    """Returns the choice by the hand-set weights; literal readings need a higher score."""
    for query in queries[:-1][:READINGS]:
        choice = pick(query, scene, _LITERAL)
        if choice.chosen is not None:
            return choice
    return pick(queries[-1], scene, _USUAL)


def counts_rows(query: Query) -> bool:
    """Whether the query counts rows: "the third row"."""
    row = query.kind is not None and query.kind.word == "row"
    return row and query.nth is not None and not query.name


def is_blocked(query: Query, thing: Thing) -> bool:
    """Whether a thing is `BEHIND`, unless the description says that it is."""
    return is_behind(thing) and not _BEHIND.search(query.context)


def is_behind(thing: Thing) -> bool:
    """Whether a thing is `BEHIND`."""
    return thing.front <= _BLOCKED


def fits_but_blocked(query: Query, scene: Scene) -> bool:
    """Whether a thing fits well enough, but is blocked."""
    return any(
        c.score >= _USUAL * c.thing.front and is_blocked(query, c.thing) for c in rate(query, scene)
    )


def scores(query: Query, scene: Scene) -> list[float]:
    """Returns the score of each thing of a scene by all evidence; 0 if it does not fit."""
    by_thing = {id(c.thing): c.score for c in rate(query, scene)}
    return [by_thing.get(id(thing), 0.0) for thing in scene.things]


def pick(query: Query, scene: Scene, min_score: float) -> Choice:
    """Returns the thing that a query means, or why there is none.

    Args:
        query: one reading of the description.
        scene: the things on the screen.
        min_score: least score of the thing.
    """
    candidates = rate(query, scene)
    others = tuple(distinct_best(candidates)[:5])
    if not others or others[0].score < MIN_CLOSE_SCORE:
        others = _find_nearest(query, scene)
    good = [c for c in candidates if c.score >= min_score]
    if row := _pick_row(query, scene, min_score):
        return row
    if not good:
        return Choice(None, _why(query, scene), others)
    best = max(c.score for c in good)
    if query.nth is not None:
        peers = _distinct([c for c in good if c.score >= best - (0.1 if query.name else 0.2)])
        if query.kind is not None and not query.name:
            roles = query.kind.roles
            peers = _keep(peers, lambda c: c.thing.role in roles)
        ordered = [c for row in lines_of(peers) for c in row]
        placed = query.relations and all(_find_anchors(r.anchor, scene) for r in query.relations)
        if placed and abs(query.nth) > len(ordered) == 1:  # the neighbour selected it already
            return Choice(ordered[0], others=others)
        return _nth(query.nth, ordered, others)
    equal = _narrow_down(query, _distinct([c for c in good if c.score >= best - _TIE]), scene)
    if len(equal) > 1:
        if all(c.thing.role == READ for c in equal):
            reason = f"it is written in {len(equal)} places: say which"
            return Choice(None, reason, tuple(equal[:5]), ambiguous=True)
        reason = f"{len(equal)} elements fit equally well: say which one, and in which window"
        return Choice(None, reason, tuple(equal[:5]), ambiguous=True)
    return Choice(replace(equal[0], thing=scene.inner(equal[0].thing)), others=others)


def _find_nearest(query: Query, scene: Scene) -> tuple[Candidate, ...]:
    """Returns the things with names most like the description, for when nothing fits."""
    from rapidfuzz import fuzz

    text = (query.context or query.name).casefold()
    named = [t for t in scene.things if t.role not in CONTAINERS and 0 < len(t.element.name) < 80]
    candidates = [
        Candidate(t, fuzz.token_set_ratio(text, t.element.name.casefold()) / 200) for t in named
    ]
    candidates = candidates or [Candidate(t, 0.0) for t in scene.things]
    return tuple(distinct_best(candidates)[:3])


def _why(query: Query, scene: Scene) -> str:
    if query.window_quoted and _window_fit(query, scene)[0] < 0.6:
        return f"there is no window {query.window!r}"
    return "nothing fits"


def _nth(nth: int, ordered: Sequence[Candidate], others: tuple[Candidate, ...]) -> Choice:
    index = nth - 1 if nth > 0 else len(ordered) + nth
    if not 0 <= index < len(ordered):
        reason = f"only {len(ordered)} such are known on the screen"
        return Choice(None, reason, others, too_few=len(ordered) == 1)
    return Choice(ordered[index], others=others)


def _pick_row(query: Query, scene: Scene, min_score: float) -> Choice | None:
    """Returns the row counted by a query: a table row, a row's first cell, or a list item."""
    if not counts_rows(query) or query.nth is None:
        return None
    for word in ("table row", "cell", "list item"):
        roles = find_kind(word)[0]
        parts = _score_things(replace(query, kind=roles, nth=None), scene)
        parts = [c for c in parts if roles and c.thing.role in roles.roles]
        rows = lines_of(_distinct([c for c in parts if c.score >= min_score]))
        if rows:
            return _nth(query.nth, [row[0] for row in rows], ())
    return None


# ---------------------------------------------------------------- scores


def _score_things(query: Query, scene: Scene) -> list[Candidate]:
    """Returns everything that fits at all, scored by all evidence but the words around it."""
    fits = _window_fit(query, scene)[1]
    candidates = []
    behind = bool(_BEHIND.search(query.context))
    active = scene.observation.active.title if scene.observation.active else None
    for thing in scene.things:
        score = rate_identity(query, thing)
        if score >= 0.2:
            front = 1.0 if query.window and fits(thing) == 1 else thing.front
            if behind:
                front = 0.7 if thing.element.window == active else 1.0
            if thing in scene.running and not (query.kind and query.kind.word in ("link", "text")):
                front *= _IN_A_SENTENCE
            candidates.append(
                Candidate(thing, score * front * state_factor(query, thing) * fits(thing))
            )
    for relation in query.relations:
        candidates = _apply_relation(query, relation, candidates, scene)
    return _apply_place(query, candidates, scene)


def _apply_context(query: Query, candidates: list[Candidate], scene: Scene) -> list[Candidate]:
    """Rescores things by the description's words that are on their lines, or around them."""
    best = max((c.score for c in candidates), default=0.0)
    if not query.context:
        return candidates
    words = [word for word in tokens(query.context) if scene.frequency[word]]
    pool = [c for c in candidates if c.score >= _POOL * best]
    shares = {id(c): _agreement(words, c.thing, scene) for c in pool}
    most = max(shares.values(), default=0.0)
    return [
        replace(c, score=c.score * (1 - _APART * (most - shares.get(id(c), most))))
        for c in candidates
    ]


def _agreement(words: list[str], thing: Thing, scene: Scene) -> float:
    own = tokens(" ".join((thing.element.name, *(text for text, _ in thing.labels))))
    weights = {word: 1 / scene.frequency[word] for word in words if word not in own}
    if not weights:
        return 1.0
    near = scene.around(thing)
    return sum(rare for word, rare in weights.items() if word in near) / sum(weights.values())


def _window_fit(query: Query, scene: Scene) -> tuple[float, Callable[[Thing], float]]:
    """Returns how well the best window fits the query's, and a function for a thing's factor."""
    if not query.window:
        return 1.0, lambda _: 1.0
    fits = {
        (title, app): title_similarity(query.window, title, app)
        for title, app in {(t.element.window, t.element.app) for t in scene.things}
    }
    window_fits = [
        title_similarity(query.window, w.title, w.app) for w in scene.observation.windows
    ]
    best = max((*fits.values(), *window_fits), default=0.0)
    if best < 0.6:
        # A quoted title is meant literally, so similar things in other windows are not meant.
        known = any(similarity(query.window, name) >= 0.9 for name in scene.names)
        unknown = 0.5 if query.window_quoted and not known else 0.95
        return best, lambda _: unknown
    return (
        best,
        lambda t: (
            1.0
            if fits[t.element.window, t.element.app] >= best - 0.1
            else (0.95 if not t.element.window else 0.3)
        ),
    )


def _apply_relation(
    query: Query, relation: Relation, candidates: list[Candidate], scene: Scene
) -> list[Candidate]:
    """Rescores things by one relation: the nearest of those that fit by themselves comes first."""
    anchors = _find_anchors(relation.anchor, scene)
    others = _find_anchors(relation.other, scene) if relation.other else ()
    if not anchors and not (relation.anchor.kind and relation.anchor.kind.word == "menu"):
        return [
            replace(c, score=c.score * _unknown_anchor(query, relation.anchor, c))
            for c in candidates
        ]
    kind = relation.anchor.kind
    if relation.position == "within" and kind and kind.word == "menu":
        return [
            c if c.thing.role in _MENU_ITEMS else replace(c, score=c.score * 0.6)
            for c in candidates
        ]
    best = max((c.score for c in candidates), default=0.0)
    measured = [(c, _distance(relation, c.thing, anchors, others)) for c in candidates]
    pool = sorted(d for c, d in measured if d < math.inf and c.score >= _POOL * best)
    return [replace(c, score=_with_rank(query, relation, c, d, pool)) for c, d in measured]


def _unknown_anchor(query: Query, anchor: Query, candidate: Candidate) -> float:
    literal, kind = anchor.quoted, anchor.kind
    if kind and kind.word == "title bar":
        return 0.6
    if not query.name:
        return 0.85 if kind or literal or query.nth is not None else 0.95
    if not literal:
        return 0.97
    return 0.9 if query.name and candidate.score > 0.85 else 0.75


def _with_rank(
    query: Query, relation: Relation, c: Candidate, distance: float, pool: list[float]
) -> float:
    """Returns a score by rank: the nearest gains, the next lose a little, others lose more."""
    near = relation.position not in ("within", "row", "column") and distance <= _ADJACENT
    if distance == math.inf:
        if relation.position == "within" and not (relation.anchor.kind or relation.anchor.quoted):
            return c.score * 0.93
        return c.score * (0.8 if c.score >= 0.95 and relation.position != "row" else 0.66)
    nearest = pool[0] if pool else distance
    if distance <= nearest + (80 if relation.position in ("row", "column") else 3):
        lifted = 0.7 if _BARE_SCORE <= c.score < 0.7 and c.thing.is_bare and near else c.score
        return min(1.0, max(lifted, c.score * (1.03 if query.name else _BORNE_OUT)))
    rank = sum(1 for d in pool if d < distance - 3)
    return c.score * max(0.75, 0.94 - 0.06 * rank)


def _find_anchors(query: Query, scene: Scene) -> tuple[Thing, ...]:
    """Returns the things that the words after "next to" may mean."""
    if query.nth is not None:
        row = pick(query, scene, _ANCHOR_SCORE).chosen
        return (row.thing,) if row else ()
    candidates = [c for c in _score_things(query, scene) if c.score >= _ANCHOR_SCORE]
    if query.kind is None:
        # The label itself, not the field that goes by it.
        candidates = _keep(candidates, lambda c: names_itself(query.name, c.thing))
    best = max((c.score for c in candidates), default=0.0)
    return tuple(c.thing for c in candidates if c.score >= best - 0.06)[:12]


def _distance(
    relation: Relation, thing: Thing, anchors: Sequence[Thing], others: Sequence[Thing]
) -> float:
    """Returns pixels from the nearest anchor in the direction named; infinite if there is none."""
    if relation.position == "between":
        pairs = [(a, b) for a in anchors for b in others if _is_between(thing.box, a.box, b.box)]
        return min((sum(map(abs, gaps(a.box, b.box))) for a, b in pairs), default=math.inf)
    return min((_measure_gap(relation, thing, anchor) for anchor in anchors), default=math.inf)


def _is_between(box: BoundingBox, first: BoundingBox, second: BoundingBox) -> bool:
    if overlap(first, box) >= 0.5 or overlap(second, box) >= 0.5:
        return False
    x, y = sorted((first.centre.x, second.centre.x)), sorted((first.centre.y, second.centre.y))
    if x[1] - x[0] > y[1] - y[0]:
        middle = (y[0] + y[1]) / 2
        return x[0] <= box.centre.x <= x[1] and abs(box.centre.y - middle) <= box.height
    reach = max(first.width, second.width, box.width)
    middle = (x[0] + x[1]) / 2
    return y[0] <= box.centre.y <= y[1] and abs(box.centre.x - middle) <= reach


def _measure_gap(relation: Relation, thing: Thing, anchor: Thing) -> float:
    box, at, position = thing.box, anchor.box, relation.position
    across, down = gaps(box, at)
    inside = overlap(at, box) > 0.9
    if position == "within":
        if thing is anchor:
            return 0.0 if thing.role == "slider" else math.inf
        return 0.0 if inside else _in_group(box, at, anchor)
    if position == "row":
        return 0.0 if down < -0.4 * min(box.height, at.height) else math.inf
    if position == "column":
        return max(0.0, down) if across < -4 and box.top > at.top else math.inf
    if thing is anchor:
        # A check box has the text beside it as its name, and a field may have it too.
        ticks = thing.role in ("check box", "radio button") and position in ("left", "near")
        labelled = thing.role in FIELDS and relation.anchor.kind is None
        return 0.0 if ticks or labelled else math.inf
    if thing.role == "arrow part" and inside:
        return 0.0
    if position == "near":
        # Things on the same line belong together more than things above one another.
        far = max(across, 0.0) + 3 * max(down, 0.0)
        return far if far <= _FAR else math.inf
    return _measure_direction(position, box, at, across, down)


def _in_group(box: BoundingBox, at: BoundingBox, anchor: Thing) -> float:
    """Returns the distance of a thing under a heading, or in the row of a name at its left end."""
    if anchor.role in CONTAINERS and anchor.role != "section":
        return math.inf
    across, down = gaps(box, at)
    if down < 0 <= across and box.left > at.left:
        return 100 + 0.05 * across
    return 100 + 3 * down if box.top >= at.bottom - 2 and box.left >= at.left - 20 else math.inf


def _measure_direction(
    position: str, box: BoundingBox, at: BoundingBox, across: float, down: float
) -> float:
    sign = {"right": box.left - at.right, "left": at.left - box.right}
    stack = {"below": box.top - at.bottom, "above": at.top - box.bottom}
    if position in sign:
        gap, off, slant = sign[position], down, abs(box.centre.y - at.centre.y)
    else:
        gap, off, slant = stack[position], across, abs(box.centre.x - at.centre.x) * 0.5
    # Boxes of neighbours may overlap by their borders; out of line counts as somewhat further.
    if gap < -6 or off > 30:
        return math.inf
    far = max(gap, 0.0) + 0.25 * min(slant, 200) + 6 * max(off, 0.0)
    return far if far <= 2.5 * _FAR else math.inf


# ---------------------------------------------------------------- places and choice


def _apply_place(query: Query, candidates: list[Candidate], scene: Scene) -> list[Candidate]:
    """Rescores things by the place named on the screen, in the window or in the container."""
    if not query.where or not candidates:
        return candidates
    frame = _frame(query, scene)
    best = max(c.score for c in candidates)
    away = {
        id(c): _measure_offset(query.where, c.box, frame)
        for c in candidates
        if c.score >= _POOL * best
    }
    least = min(away.values())
    return [
        replace(
            c,
            score=c.score
            * (_BORNE_OUT if not query.name and off <= least + 0.02 else 1)
            * (1 - _AWAY * (off - least))
            * (1 - 1.5 * _AWAY * max(0, 3 * off - 1.5)),
        )
        for c in candidates
        for off in [away.get(id(c), 1.0)]
    ]


def _frame(query: Query, scene: Scene) -> BoundingBox:
    for relation in query.relations:
        if relation.position == "within" and (anchors := _find_anchors(relation.anchor, scene)):
            return min((a.box for a in anchors), key=lambda box: box.area)
    active = scene.observation.active
    return (active.box if active and active.box else None) or scene.screen


def _measure_offset(where: frozenset[str], box: BoundingBox, frame: BoundingBox) -> float:
    """Returns the mean distance from the sides named, as a share of the frame, 0 to 1."""
    x = (box.centre.x - frame.left) / max(frame.width, 1)
    y = (box.centre.y - frame.top) / max(frame.height, 1)
    away = {"left": x, "right": 1 - x, "top": y, "bottom": 1 - y}
    far = [min(1.0, abs(away[side])) for side in where]
    return sum(far) / len(far)


def _distinct(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Returns one candidate for each place: the smallest of boxes that share most of it."""
    import numpy as np

    ordered = sorted(candidates, key=lambda c: c.box.area)
    boxes = sides(c.box for c in ordered)
    is_first = np.ones(len(ordered), dtype=bool)
    for row, candidate in enumerate(ordered):
        if is_first[row]:
            box = candidate.box
            left, top, right, bottom = boxes[:, row + 1 :]
            wide = np.minimum(box.right, right) - np.maximum(box.left, left)
            high = np.minimum(box.bottom, bottom) - np.maximum(box.top, top)
            shared = np.maximum(wide, 0) * np.maximum(high, 0)
            is_first[row + 1 :] &= (shared == 0) | (shared < _SAME_PLACE * box.area)
    return [candidate for candidate, first in zip(ordered, is_first, strict=True) if first]


def distinct_best(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Returns the best candidate of each place, best first."""
    best: list[Candidate] = []
    for candidate in sorted(candidates, key=lambda c: (-c.score, c.box.area))[:20]:
        if not any(overlap(other.box, candidate.box) >= _SAME_PLACE for other in best):
            best.append(candidate)
    return best


def _narrow_down(query: Query, equal: list[Candidate], scene: Scene) -> list[Candidate]:
    """Narrows equal candidates down by what people usually mean."""
    if (kind := query.kind) is not None:
        equal = _keep(equal, lambda c: c.thing.role in kind.roles)
        equal = _keep(equal, lambda c: c.thing.role == kind.word)
        if kind.large and len(equal) > 1:
            equal = _keep(equal, lambda c: bool(c.element.states & MULTI_LINE))
            return [max(equal, key=lambda c: c.box.area)]
    if query.where and len(equal) > 1:
        frame = _frame(query, scene)
        return [min(equal, key=lambda c: _measure_offset(query.where, c.box, frame))]
    if (active := scene.observation.active) is not None:
        equal = _keep(equal, lambda c: c.element.window == active.title)
    best = max(c.score for c in equal)
    if query.name:
        return _keep(equal, lambda c: c.score >= best - _TIE / 2)
    fields = query.kind is None or query.kind.roles & FIELDS
    return _keep(equal, lambda c: "focused" in c.element.states) if fields else equal


def _keep(candidates: list[Candidate], condition: Callable[[Candidate], bool]) -> list[Candidate]:
    return [c for c in candidates if condition(c)] or candidates


def lines_of(candidates: Iterable[Candidate]) -> list[list[Candidate]]:
    """Returns candidates in rows from top to bottom, each from left to right."""
    by_thing = {id(c.thing): c for c in candidates}
    rows = lines(c.thing for c in by_thing.values())
    return [[by_thing[id(thing)] for thing in row] for row in rows]
