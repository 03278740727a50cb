"""Ways to the end of a triple: the triples that are needed from a fresh start, in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.exploration_acts import CELL, holders, read_name
from hisa.plugins.synthesis.records import Act, Triple
from hisa.screen.observation import Element
from hisa.screen.roles import FIELDS

__all__ = ["ITEMS", "acts_of", "list_selected", "way_of", "ways_to"]

ITEMS = frozenset({"icon", "list item", "tree item", "table cell", "table row", "list box option"})
"""Roles of elements that a person selects in order to act on them."""
_LONGEST = 10
"""Most triples of a way: a longer task is tedious. Chosen by hand."""


def ways_to(exploration: Exploration, *triples: Triple) -> list[tuple[Triple, ...]]:
    """Returns ways from a fresh start to the end of any of the triples, the shortest first.

    Ways lead from screen to screen, not from state to state, so changes by other acts are no part
    of them. The explored route is shortened: steps that may not matter are left out, or all but its
    end, if the rest can still follow. Whether the short way leads there is a guess that the proof
    tests. ``saved`` is kept only on steps that changed a document.
    """
    ways: list[tuple[Triple, ...]] = []
    for triple in triples:
        route = exploration.route(triple.before, over_screens=True)
        if route is not None:
            ways += _shorten_path(exploration, [*route, triple])
    return sorted((way for way in ways if len(way) <= _LONGEST), key=len)


def _shorten_path(exploration: Exploration, path: list[Triple]) -> list[tuple[Triple, ...]]:
    """Returns the shorter ways that a path contains, and the whole path."""
    needed = path[-1:]
    for step in reversed(path[:-1]):
        if not (_is_dispensable(step) and _can_follow(exploration, needed[0], step.before)):
            needed.insert(0, step)
    ends = [tuple(path[at:]) for at in range(1, len(path)) if path[at].act.name]
    ways = dict.fromkeys([*ends, tuple(needed), tuple(path)])
    return [
        _drop_needless_saves(exploration, way) for way in ways if _is_connected(exploration, way)
    ]


def way_of(exploration: Exploration, steps: Iterable[int]) -> tuple[Triple, ...]:
    """Returns the way whose triples have these numbers."""
    by_number = {triple.number: triple for triple in exploration.triples}
    return _drop_needless_saves(exploration, [by_number[number] for number in steps])


def _drop_needless_saves(exploration: Exploration, way: Iterable[Triple]) -> tuple[Triple, ...]:
    """Returns the way with saves only on steps that changed a document."""
    documents = set(exploration.subject.documents)
    return tuple(
        step
        if documents & {change.fact.place for change in step.differences.facts}
        else step.model_copy(update={"saved": False})
        for step in way
    )


def _is_connected(exploration: Exploration, way: Sequence[Triple]) -> bool:
    """Whether each step of a way can follow the one before, and the first one a fresh start."""
    states, came = exploration.states, exploration.root
    for step in way:
        apart = states[step.before].screen != states[came].screen
        if apart and not _can_follow(exploration, step, came):
            return False
        came = step.after
    return True


def _can_follow(exploration: Exploration, triple: Triple, state: str) -> bool:
    """Whether a state offers a triple's control, and has the same selection as before it."""
    elements = exploration.elements(exploration.states[state])
    old_elements = exploration.elements(exploration.states[triple.before])
    act = triple.act
    shown = [
        element
        for element in elements
        if (element.role, read_name(element)) == (act.role, act.name)
        and {"showing", "visible"} & element.states
        and {"sensitive", "enabled"} & element.states
        and holders(element, elements) == act.within
    ]
    return list_selected(elements) == list_selected(old_elements) and (
        not act.role or len(shown) > act.nth
    )


def list_selected(elements: Sequence[Element]) -> list[str]:
    """Returns the names of the selected items; in a spreadsheet, the cell in the name box."""
    if any(element.role == "table cell" and CELL.fullmatch(element.name) for element in elements):
        boxes = (element.text.strip() for element in elements if element.role in FIELDS)
        return [text for text in boxes if CELL.fullmatch(text)][:1]
    chosen = (element for element in elements if {"selected", "showing"} <= element.states)
    return [
        read_name(element) for element in chosen if element.role in ITEMS and read_name(element)
    ]


def _is_dispensable(step: Triple) -> bool:
    """Whether the next steps may do without a step: its effect is complete, or it opens a menu."""
    if step.differences.facts or step.act.role == "menu":
        return True
    has_lasting_change = any(
        change.what in ("value", "states") and not change.role.endswith(("menu", "menu item"))
        for change in step.differences.elements
    )
    opens = step.act.role.endswith("menu item") or step.act.kind == "right_click"
    return opens and not has_lasting_change


def acts_of(exploration: Exploration, way: Iterable[Triple]) -> tuple[Act, ...]:
    """Returns the acts of a way, saves included."""
    save = Act(kind="press", keys=exploration.subject.save)
    return tuple(
        act for triple in way for act in ((triple.act, save) if triple.saved else (triple.act,))
    )
