"""Ways to the end of a triple: the triples from a fresh start that matter, in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.exploration_acts import CELL, holders, read_name
from hisa.plugins.synthesis.records import Act, Triple
from hisa.screen.observation import Element
from hisa.screen.roles import FIELDS

__all__ = ["ITEMS", "acts_of", "list_selected", "way_of", "ways_to"]

ITEMS = frozenset({"icon", "list item", "tree item", "table cell", "table row", "list box option"})
"""Elements that are selected, for something to be done with them."""
_LONGEST = 10
"""Triples of the longest way: beyond, a task is a walk. Chosen by hand."""


def ways_to(exploration: Exploration, *triples: Triple) -> list[tuple[Triple, ...]]:
    """Ways from a fresh start to the end of any of some triples, the shortest first.

    They lead over screens, which hold values, and not over states: what another act set meanwhile
    is no part of a way. Of the way that was gone, steps that may not matter are left out, and all
    but its end, where the rest can follow; that it leads there is a guess, which the proof settles.
    ``saved`` is left where a document changed.
    """
    ways: list[tuple[Triple, ...]] = []
    for triple in triples:
        route = exploration.route(triple.before, over_screens=True)
        if route is not None:
            ways += _shorten_path(exploration, [*route, triple])
    return sorted((way for way in ways if len(way) <= _LONGEST), key=len)


def _shorten_path(exploration: Exploration, path: list[Triple]) -> list[tuple[Triple, ...]]:
    """The ways that a path has in it, the whole one too."""
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
    """The way whose triples have these numbers."""
    by_number = {triple.number: triple for triple in exploration.triples}
    return _drop_needless_saves(exploration, [by_number[number] for number in steps])


def _drop_needless_saves(exploration: Exploration, way: Iterable[Triple]) -> tuple[Triple, ...]:
    """A way that saves only where a document changed."""
    documents = set(exploration.subject.documents)
    return tuple(
        step
        if documents & {change.fact.place for change in step.differences.facts}
        else step.model_copy(update={"saved": False})
        for step in way
    )


def _is_connected(exploration: Exploration, way: Sequence[Triple]) -> bool:
    """Whether each step of a way can follow on the one before, and the first on a fresh start."""
    states, came = exploration.states, exploration.root
    for step in way:
        apart = states[step.before].screen != states[came].screen
        if apart and not _can_follow(exploration, step, came):
            return False
        came = step.after
    return True


def _can_follow(exploration: Exploration, triple: Triple, state: str) -> bool:
    """Whether a state offers a triple's control, with the same things selected as then."""
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
    """The names of selected items; in a spreadsheet, the cell that the name box holds."""
    if any(element.role == "table cell" and CELL.fullmatch(element.name) for element in elements):
        boxes = (element.text.strip() for element in elements if element.role in FIELDS)
        return [text for text in boxes if CELL.fullmatch(text)][:1]
    chosen = (element for element in elements if {"selected", "showing"} <= element.states)
    return [
        read_name(element) for element in chosen if element.role in ITEMS and read_name(element)
    ]


def _is_dispensable(step: Triple) -> bool:
    """Whether what follows may do without a step: it was done with, or only opened something."""
    if step.differences.facts or step.act.role == "menu":
        return True
    has_lasting_change = any(
        change.what in ("value", "states") and not change.role.endswith(("menu", "menu item"))
        for change in step.differences.elements
    )
    opens = step.act.role.endswith("menu item") or step.act.kind == "right_click"
    return opens and not has_lasting_change


def acts_of(exploration: Exploration, way: Iterable[Triple]) -> tuple[Act, ...]:
    """The acts of a way, saves included."""
    save = Act(kind="press", keys=exploration.subject.save)
    return tuple(
        act for triple in way for act in ((triple.act, save) if triple.saved else (triple.act,))
    )
