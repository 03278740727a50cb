"""Ranks things by what was learned from screens: ``learned`` of the group ``hisa.lists``."""

from __future__ import annotations

from dataclasses import replace

from hisa.grounder.thing import SHOWS_TEXT, Thing, overlap
from hisa.plugins.matching.description import Query, Relation
from hisa.plugins.matching.pick import (
    Candidate,
    Choice,
    by_hand_choice,
    counts_rows,
    distinct_best,
    is_blocked,
)
from hisa.plugins.matching.ranking import SURE, refusal
from hisa.plugins.matching.scene import Scene
from hisa.text.words import tokens

__all__ = ["LEARNED"]

_JUST_SO = 0.99
"""What a thing must score by the weights set by hand to be called just as described: of such, 97 of
100 are right on the training screens."""
_TEXTUAL = frozenset({"menu item", "option", "entry", "item", "list item"})
"""Kinds of which what shows a text may be one, whatever it is told to be."""
_PRESSED = frozenset({"button", "link"})
_TEXTS = frozenset({"static", "label", "section"})
"""Roles of texts that may be pressed; a heading is none."""
_WITHIN = 0.9
"""The share of a control that lies on the line that holds it."""


class LearnedRanker:
    """Goes by the trees of `hisa.plugins.reading.ranker`."""

    def choose(self, queries: tuple[Query, ...], scene: Scene, min_score: float) -> Choice:
        """See `hisa.plugins.matching.ranking.Ranker`."""
        by_hand = by_hand_choice(queries, scene)
        chosen = by_hand.chosen
        if chosen is not None and _is_plain(queries[-1], chosen):
            return by_hand
        return _by_trees(queries, scene, min_score, by_hand)

    def chances(self, queries: tuple[Query, ...], scene: Scene) -> list[float]:
        """See `hisa.plugins.matching.ranking.Ranker`."""
        from hisa.plugins.reading.ranker import chances  # loads numpy, for which no start waits
        from hisa.plugins.reading.scene_table import Table

        rows, own = chances(queries, Table(scene))
        known = dict(zip(rows.tolist(), own.tolist(), strict=True))
        return [known.get(row, 0.0) for row in range(len(scene.things))]


LEARNED = LearnedRanker()


def _by_trees(
    queries: tuple[Query, ...], scene: Scene, min_score: float, by_hand: Choice
) -> Choice:
    from hisa.plugins.reading.ranker import rank
    from hisa.plugins.reading.scene_table import Table

    ranked = rank(queries, Table(scene))
    told = [Candidate(one.thing, one.chance) for one in ranked]
    quoted = _quoted(queries[-1], scene) or _text_alone(queries[-1], scene)
    if quoted is not None:
        return Choice(
            Candidate(quoted, max(min_score, SURE)), others=tuple(distinct_best(told)[:5])
        )
    likely = bool(told) and ranked[0].sure >= min_score and not by_hand.too_few
    if likely and not is_blocked(queries[-1], told[0].thing):
        best = Candidate(_held(queries[-1], told[0].thing, scene), ranked[0].sure)
        return Choice(best, others=tuple(distinct_best(told)[:5]))
    # How alike a name is, is told by the weights set by hand, whatever the chances.
    others = tuple(distinct_best((*told, *by_hand.others))[:5])
    return refusal(queries, scene, by_hand, others)


def _quoted(query: Query, scene: Scene) -> Thing | None:
    """The one thing that shows just what is quoted, where no kind or an entry is asked for."""
    words = query.name.strip().casefold()
    alone = [query.name] == list(query.literals) and not query.hints and query.nth is None
    alone &= query.kind is None or query.kind.word in _TEXTUAL
    if not alone or not all(_holds(relation) for relation in query.relations):
        return None
    found = [t for t in scene.things if t.element.name.strip().casefold() == words != ""]
    if not found or any(is_blocked(query, t) for t in found):
        return None
    smallest = min(found, key=lambda t: t.box.area)
    return smallest if all(overlap(t.box, smallest.box) > _WITHIN for t in found) else None


def _text_alone(query: Query, scene: Scene) -> Thing | None:
    """The text that is all that is called as a button is, where nothing else is said of it.

    Pages make buttons of text that nobody tells to be one.
    """
    words, kind, asked = query.name.strip().casefold(), query.kind, tokens(query.name)
    bare = replace(Query(query.name, query.quoted, kind), literals=query.literals)
    plain = replace(query, head="", context="") == bare and bool(words)
    if not plain or kind is None or kind.word not in _PRESSED:
        return None
    found = [t for t in scene.things if asked <= tokens(t.element.name)]
    texts = [t for t in found if t.role in _TEXTS and t.element.name.strip().casefold() == words]
    if not texts or any(is_blocked(query, t) for t in found):
        return None
    smallest = min(texts, key=lambda t: t.box.area)
    return smallest if all(overlap(t.box, smallest.box) > _WITHIN for t in found) else None


def _holds(relation: Relation) -> bool:
    """Whether what is asked for is in a menu, list or dialog, and not in a table's row."""
    kind = relation.anchor.kind
    return relation.how == "within" and (kind is None or kind.word not in ("row", "column"))


def _held(query: Query, thing: Thing, scene: Scene) -> Thing:
    """The one control of the kind asked for that a line of a page holds; else the thing itself.

    The line has the words beside the control, and what is clicked is the control.
    """
    roles = query.kind.roles if query.kind else frozenset()
    if thing.role not in SHOWS_TEXT or thing.role in roles:
        return thing
    inside = [t for t in scene.things if t.role in roles and overlap(thing.box, t.box) > _WITHIN]
    return inside[0] if len(inside) == 1 else thing


def _is_plain(query: Query, chosen: Candidate) -> bool:
    """Whether a thing is called just so, or counted among rows, of which some are no things."""
    return chosen.score >= _JUST_SO or counts_rows(query)
