"""Rates how well one thing on the screen fits a `Query`, apart from its relations to others."""

from __future__ import annotations

from hisa.grounder.thing import READ, SHOWS_TEXT, Thing
from hisa.plugins.matching.description import Query
from hisa.screen.role_words import Kind, find_kind
from hisa.screen.roles import CONTAINERS, FIELDS, MULTI_LINE
from hisa.text.similar import similarity
from hisa.text.words import purpose_match, token_match

__all__ = ["lacks_control", "names_itself", "rate_identity", "role_factor", "state_factor"]

# The weights are chosen by hand on the training screens of the grounding bench.
_KIND_ONLY = 0.75
"""Score of a thing of the right kind, if no name was given."""
_LIKE_KIND = 0.47
"""Score of a thing of a kind that is easily mistaken for the right one."""
_LIKE_FIELD = 0.62
_BARE = 0.5
"""Score of a thing without any words, such as an icon, if a name was given."""
_SIMILAR_KIND = 0.95
_OTHER_KIND = 0.72
_NO_FIELD = 0.55
"""Factor for a thing that takes no text, if the query means a field."""
_MERE_TEXT = 0.68
"""Factor for mere text, if the query means another kind."""
_CONTAINER = 0.8
"""Factor for a container, which is seldom clicked."""
_ONLY_SHOWS = 0.95
"""Factor for a thing that only shows text."""
_VALUE_DIFFERS = 0.7
_NAMED_OTHERWISE = 0.87
"""Factor for a thing with a name that the description does not use."""
_LEFT_OPEN = 0.52
"""Score of a thing of the right kind, if the query's words about it are found nowhere."""
_ICON = find_kind("icon")[0] or Kind("icon", frozenset())
_UNLIKE = frozenset({"button", "arrow", "icon", "link", "handle", "checkbox", "menu item"})
"""Kinds that a description names by their name, if they have one."""
_TICKED = frozenset({"check box", "radio button", "switch", "toggle switch"})
"""Roles of controls that are shown by a small picture, and named by words beside it."""
_STATES = {
    "+checked": frozenset({"checked", "pressed"}),
    "+selected": frozenset({"selected", "active", "focused", "checked", "pressed"}),
    "+focused": frozenset({"focused"}),
    "+expanded": frozenset({"expanded"}),
    "+enabled": frozenset({"enabled", "sensitive"}),
}


def rate_identity(query: Query, thing: Thing) -> float:
    """Returns a score, 0 to 1, from name, kind and value alone."""
    factor = role_factor(query.kind, thing)
    values = _value_factor(query, thing)
    if query.name:
        best = _rate_name(query, thing)
        if best < 0.5 and thing.is_bare and thing.role in (query.kind or _ICON).roles:
            best = _BARE
        if not query.quoted and query.kind and thing.role in query.kind.roles:
            best = max(best, _LEFT_OPEN)
        if best < 0.9 and factor < _SIMILAR_KIND:
            factor *= factor
        return best * factor * (values if best < 0.9 or values > 1 else 0.5 + values / 2)
    if query.kind is None:
        return 0.0 if thing.role in CONTAINERS or not query.relations else _LIKE_KIND * values
    in_kind = thing.role in query.kind.roles
    like = _LIKE_FIELD if thing.role in FIELDS else _LIKE_KIND
    of_kind = _KIND_ONLY if in_kind else like * (thing.role in query.kind.also)
    if _UNLIKE & {query.kind.word} and not thing.is_bare:
        of_kind *= _NAMED_OTHERWISE
    if query.hints and thing.is_bare and query.kind.word in _UNLIKE:
        of_kind = min(of_kind, _BARE)
    if query.also or query.hints:
        likeness = max((_rate_likeness(name, False, thing) for name in query.also), default=0.0)
        likeness = max(likeness, 0.95 * _does(query.hints, thing))
        of_kind = max(of_kind * 0.97, likeness * factor)
    if query.kind.names:
        usual = max(_own(name, thing) for name in query.kind.names)
        named = thing.element.name or thing.element.label or thing.element.text
        shows = values > 1 or not named
        of_kind = max(usual * factor, of_kind * (0.9 if shows else _VALUE_DIFFERS))
    return min(1.0, of_kind * values)


def lacks_control(query: Query, chosen: Thing) -> bool:
    """Whether the query means a control to tick or switch, but mere text was chosen."""
    is_ticked_kind = query.kind is not None and bool(query.kind.roles & _TICKED)
    return is_ticked_kind and chosen.drawn is None and chosen.role in SHOWS_TEXT


def names_itself(name: str, thing: Thing) -> bool:
    """Whether a thing itself has a name, as opposed to a label beside it."""
    return max(_own(name, thing), token_match(name, thing.element.name)) >= 0.5


def role_factor(kind: Kind | None, thing: Thing) -> float:
    """Returns a factor, at most 1, for how well a thing's role fits the kind."""
    container = _CONTAINER if thing.role in CONTAINERS else 1.0
    if kind is None:
        if thing.role in SHOWS_TEXT and thing.element.name.endswith(":"):
            return _MERE_TEXT
        return _ONLY_SHOWS if thing.role in SHOWS_TEXT else container
    if thing.role in kind.roles:
        one_line = kind.large and thing.role in FIELDS and not thing.element.states & MULTI_LINE
        return _OTHER_KIND if one_line else 1.0
    if thing.role in kind.also:
        return _SIMILAR_KIND
    if kind.word in ("row header", "title bar", "slider", "arrow", "handle"):
        return _BARE
    if kind.roles >= FIELDS or kind.holds_value:
        return container * (_OTHER_KIND if thing.role in FIELDS else _NO_FIELD)
    if thing.role == "arrow part":
        return _SIMILAR_KIND if kind.word in ("button", "arrow", "icon") else _NO_FIELD
    mere = thing.role in SHOWS_TEXT - {READ} and not kind.roles & SHOWS_TEXT
    return container * (_MERE_TEXT if mere else _OTHER_KIND)


def _fits(kind: Kind | None, thing: Thing) -> bool:
    return kind is None or thing.role in kind.roles


def state_factor(query: Query, thing: Thing) -> float:
    """Returns a factor for the states of the query: below 1 if they differ, 1 or more if not."""
    factor = 1.0
    for state in query.states:
        if state.endswith("empty"):
            holds = bool(thing.element.text.strip() or thing.element.name.strip())
            has = not thing.element.text.strip() if thing.role in FIELDS else not holds
        else:
            has = bool(thing.element.states & _STATES["+" + state[1:]])
        if has != state.startswith("+"):
            factor *= 0.9 if query.name else 0.75
        elif not query.name:
            factor *= 1.12
    return factor


def _rate_name(query: Query, thing: Thing) -> float:
    best = _rate_likeness(query.name, query.quoted, thing, labelled=query.labelled)
    in_kind = _fits(query.kind, thing)
    if not query.quoted and query.hints and best < 0.9 and query.kind and _fits(query.kind, thing):
        best = max(best, 0.9 * _does(f"{query.name} {query.hints}", thing))
    if query.kind:
        # "The vertical scroll bar" is called "Vertical scroll bar".
        short = thing.element.name.casefold().removesuffix(query.kind.word)
        best = max(best, similarity(query.name, short) if short and in_kind else 0.0)
    weight = 0.55 if query.kind is None else 0.7 if query.quoted else 0.93
    for name in query.also if _fits(query.kind, thing) else ():
        likeness = _rate_likeness(name, name in query.literals, thing)
        best = max(best, weight * likeness if likeness >= 0.85 else 0.0)
    return best


def _rate_likeness(name: str, quoted: bool, thing: Thing, *, labelled: bool = False) -> float:
    """Returns the likeness, 0 to 1, of a name and the names of a thing, its labels included."""
    best = _own(name, thing, labelled=labelled)
    for text, trust in thing.labels:
        best = max(best, similarity(name, text) * trust)
        if not quoted:
            best = max(best, 0.9 * trust * token_match(name, text))
    if not quoted or len(name) <= 2:
        best = max(best, 0.93 * _by_words(name, thing))
    return best


def _own(name: str, thing: Thing, *, labelled: bool = False) -> float:
    e = thing.element
    field = e.role in FIELDS
    text_weight = 0.97 if not field else (0.0 if labelled else 0.8)
    return max(
        similarity(name, e.name),
        similarity(name, e.label) * (1.0 if field or labelled or e.role == "arrow part" else 0.85),
        similarity(name, e.text) * text_weight,
        similarity(name, e.description) * 0.95,
    )


def _by_words(name: str, thing: Thing) -> float:
    e = thing.element
    if not name or (e.role in MULTI_LINE and len(e.text) > 60):
        return 0.0
    texts = (e.name, e.description, e.label, e.text if e.role not in FIELDS else "")
    return max(token_match(name, text) for text in texts)


def _does(purpose: str, thing: Thing) -> float:
    e = thing.element
    if not purpose or len(e.text) > 60:
        return 0.0
    return max(purpose_match(purpose, text) for text in (e.name, e.description))


def _value_factor(query: Query, thing: Thing) -> float:
    """Returns a factor: above 1 if it shows a value of the query, below 1 if it shows another."""
    if not query.values:
        return 1.0
    e = thing.element
    shown = max(
        similarity(value, text)
        for value in query.values
        for text in (e.text, e.name, e.description)
    )
    if shown >= 0.7:
        return 1.2
    if not (e.text or e.name) and thing.role not in FIELDS:
        return 1.0
    quoted = any(value in query.literals or any(map(str.isdigit, value)) for value in query.values)
    return _VALUE_DIFFERS if quoted else 0.93
