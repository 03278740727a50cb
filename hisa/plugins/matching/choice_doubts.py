"""Finds reasons to doubt the thing that fits best: cases in which a person would ask back."""

from __future__ import annotations

import re
from dataclasses import replace

from hisa.grounder.thing import READ, SHOWS_TEXT, Thing
from hisa.plugins.matching.description import Query
from hisa.plugins.matching.evidence import lacks_control
from hisa.plugins.matching.pick import Choice
from hisa.plugins.matching.scene import Scene
from hisa.text.words import tokens

__all__ = ["drop_doubtful", "find_doubt"]

_ARROWS = re.compile(
    r"\b(?:arrow|back|close|collapse|decre\w+|down|drop|end|expand|first|forward|go|hide|home|"
    r"incre\w+|last|left|lower|menu|more|navigate|next|open|options|page|prev\w*|raise|redo|reply|"
    r"right|scroll|send|show|sort\w*|step|toggle|undo|up)\b|^\W*$",
    re.I,
)
"""Words in the names of buttons that show an arrow."""
_INSIDE = re.compile(
    r"\b(?:in|inside|within|of|on|from) (?:the |this |that |an? )?(?:(?!behind|over|under|below|"
    r"above|beside|next|near|left|right|outside)[\w'-]+ ){0,3}?(?:"
    r"(?P<dialog>dialog(?:ue)?|pop-?up)|(?P<menu>menu(?! ?bar| button))|(?P<calendar>calendar))\b",
    re.I,
)
"""Words that place a target inside a dialog, menu or calendar that opened over the rest."""
_DAY = re.compile(
    r"\b(?:calendar|january|february|march|april|may|june|july|august|september|october|november|"
    r"december)\b",
    re.I,
)
"""Words with which a number means a day, not a table cell that shows the number."""


def drop_doubtful(query: Query, choice: Choice, scene: Scene) -> Choice:
    """Returns the choice, or if `find_doubt` has a reason against it, no choice with that reason.

    Args:
        query: the usual reading of the description.
        choice: the choice; if dropped, its thing comes first among the others.
        scene: the things on the screen.
    """
    chosen = choice.chosen
    if chosen is None or not (reason := find_doubt(query, chosen.thing, scene)):
        return choice
    others = (c for c in choice.others if c.thing is not chosen.thing)
    return Choice(None, reason, (chosen, *others))


def find_doubt(query: Query, chosen: Thing, scene: Scene) -> str:
    """Returns the reason to doubt that the best thing is meant; empty if there is none.

    Args:
        query: the usual reading of the description.
        chosen: the thing that fits best.
        scene: the things on the screen.
    """
    if query.kind is not None and query.kind.word == "arrow" and _is_no_arrow(query, chosen):
        return "what fits best is no arrow"
    if _only_shows_text(query, chosen):
        return "what fits best only shows text"
    if _is_called_otherwise(query, chosen, scene):
        return "what fits best is not called so"
    if any(box.contains(chosen.box.centre) for _, box in scene.open_overlays):
        return ""
    if "cell" in chosen.role and chosen.element.name.isdigit() and _DAY.search(query.context):
        return "what fits best lies in no calendar"
    match = _INSIDE.search(query.context)
    if match and "menu" not in chosen.role and match.lastgroup in dict(scene.open_overlays):
        return f"what fits best lies outside the {match.lastgroup} that is open"
    placed = query.relations or query.where or query.window  # then it may be outside
    rival = None if placed else _find_rival_inside(query, chosen, scene)
    return f"{rival.element.name[:60]!r} in what is open over it fits as well" if rival else ""


def _only_shows_text(query: Query, thing: Thing) -> bool:
    """Whether the query means a control with a value or a tick, and this thing only shows text.

    Text read off the picture may be such a value, unless it is the name.
    """
    kind, page = query.kind, thing.role == "document web"
    shows = (page or thing.role in SHOWS_TEXT) and "editable" not in thing.element.states
    if kind is None or thing.is_made_control or not shows:
        return False
    if thing.role in kind.roles:
        return (
            page and kind.holds_value and not tokens("web page, document") & tokens(query.context)
        )
    is_value = thing.role == READ and not tokens(thing.element.name) & tokens(query.name)
    return (kind.holds_value and not is_value) or lacks_control(query, thing)


def _is_called_otherwise(query: Query, thing: Thing, scene: Scene) -> bool:
    """Whether the query is just a field's name, and no text on or beside this thing has it."""
    alone = replace(Query(query.name, query.quoted, query.kind), literals=query.literals)
    plain = replace(query, head="", context="", labelled=False) == alone
    if not (plain and query.name and query.kind and query.kind.holds_value):
        return False
    e = thing.element
    own = (e.name, e.text, e.label, e.description, *(text for text, _ in thing.labels))
    return not tokens(query.name) & (tokens(" ".join(own)) | scene.around(thing))


def _is_no_arrow(query: Query, thing: Thing) -> bool:
    """Whether a button's name has no word for an arrow, and none of the description."""
    if thing.role == "arrow part" or thing.drawn is not None:
        return False
    called = thing.element.name or thing.element.description
    return not _ARROWS.search(called) and not tokens(called) & tokens(query.context)


def _find_rival_inside(query: Query, chosen: Thing, scene: Scene) -> Thing | None:
    """Returns a thing in an open overlay that has as many words of the name; None if none has."""
    query_words = tokens(query.name)
    most = len(query_words & tokens(chosen.element.name))
    boxes = [box for sort, box in scene.open_overlays if sort != "calendar"]
    inside = (t for t in scene.things if any(box.contains(t.box.centre) for box in boxes))
    return next((t for t in inside if 0 < most <= len(query_words & tokens(t.element.name))), None)
