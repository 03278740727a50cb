"""Near misses of a candidate's acts, from what exploration saw: a good check fails for each."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from itertools import chain, zip_longest
from typing import NamedTuple

from hisa.plugins.synthesis.doing import act_on, alike, called, holders
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.offers import MENU_ITEMS
from hisa.plugins.synthesis.records import Act, Candidate
from hisa.screen.observation import Observation, Screenshot

__all__ = ["Draft", "former_value", "mutants", "only_leads", "tail"]

_CHOICES = frozenset({"list item", "radio button", "radio menu item", "icon", "table cell", "link"})
"""Elements of which one is chosen among its likes."""
_FAMILIES = (
    MENU_ITEMS,
    frozenset({"push button", "toggle button", "check box", "page tab", "combo box"}),
    frozenset({"menu"}),
)
"""Controls that a person mistakes for one another."""
_NEIGHBOURS = 5  # neighbours of one control that are tried, the nearest first


class Draft(NamedTuple):
    """A mutant that is not done yet."""

    kind: str
    acts: tuple[Act, ...]
    detail: str


def mutants(candidate: Candidate, exploration: Exploration) -> list[Draft]:
    """Near misses, of every kind in turn; the same ones for the same candidate.

    Those of the last acts come first: what follows them can still be done.
    """
    draw, known = random.Random(candidate.id), {candidate.acts}
    rows: dict[str, list[Draft]] = {}
    for draft in _drafts(candidate.acts, exploration, draw):
        if draft.acts not in known:
            known.add(draft.acts)
            rows.setdefault(draft.kind, []).append(draft)
    return [draft for draft in chain(*zip_longest(*rows.values())) if draft is not None]


def tail(acts: tuple[Act, ...], exploration: Exploration) -> tuple[Act, ...]:
    """The last act that is no save, with the menus that lead to it and what saves it."""
    last = max((at for at, act in enumerate(acts) if not _is_save(act, exploration)), default=0)
    first = last
    while acts[last].role in MENU_ITEMS and first and acts[first - 1].role == "menu":
        first -= 1
    return acts[first:]


def only_leads(acts: tuple[Act, ...], at: int) -> bool:
    """Whether an act opens the menu that the next one needs."""
    after = acts[at + 1 : at + 2]
    return acts[at].role == "menu" and any(e.role in MENU_ITEMS | {"menu"} for e in after)


def former_value(acts: tuple[Act, ...], value: str) -> tuple[Act, ...]:
    """Acts that give a field or list the value it had before the last act; none where unknown."""
    last = acts[-1]
    if last.kind == "type" and last.role:
        if value.strip():
            return (last.model_copy(update={"text": value, "keys": ()}),)
        click = last.model_copy(update={"kind": "click", "text": "", "keys": ()})
        return (click, *(Act(kind="press", keys=keys) for keys in (("ctrl", "a"), ("delete",))))
    if last.kind == "click" and len(acts) > 1 and acts[-2].role == "combo box":
        return (acts[-2], last.model_copy(update={"name": value, "nth": 0}))
    return ()


def _is_save(act: Act, exploration: Exploration) -> bool:
    return act.kind == "press" and act.keys == exploration.subject.save != ()


def _drafts(
    acts: tuple[Act, ...], exploration: Exploration, draw: random.Random
) -> Iterator[Draft]:
    """Every place but saves and menus that only lead on: another act there, or none."""
    for at, act in reversed(list(enumerate(acts))):
        here, after = acts[:at], acts[at + 1 :]
        if _is_save(act, exploration):
            if here and not after:
                yield Draft("nothing saved", here, "the last save is left out")
            continue
        if only_leads(acts, at):
            continue
        for kind, other, detail in _others(act, exploration, draw):
            yield Draft(kind, (*here, other, *after), detail)
        led = len(tail(acts[: at + 1], exploration))
        rest = (*acts[: at + 1 - led], *after)
        if not all(_is_save(one, exploration) for one in rest):
            yield Draft("left out", rest, f'no {act.kind} of "{act.name or act.text}"')


def _others(
    act: Act, exploration: Exploration, draw: random.Random
) -> Iterator[tuple[str, Act, str]]:
    """Kinds of near misses of one act, the act in its place, and that in words."""
    if act.kind == "type":
        for kind, text in _texts(act.text, exploration.subject.words, draw):
            yield kind, act.model_copy(update={"text": text}), f"{text!r} for {act.text!r}"
    kind, family = "neighbour control", next((one for one in _FAMILIES if act.role in one), None)
    if act.role in _CHOICES:
        kind = "other cell" if act.role == "table cell" else "other value"
        family = frozenset({act.role})
    for other in _beside(act, exploration, family) if family else ():
        yield kind, other, f'"{other.name}" for "{act.name}"'


def _texts(text: str, words: tuple[str, ...], draw: random.Random) -> Iterator[tuple[str, str]]:
    """Other texts of the same kind, the nearest first."""
    number = re.fullmatch(r"-?[0-9]{1,15}", text)
    near = str(int(text) + 1) if number else text[:-1] or "x"
    others = [word for word in words if word != text]
    for other in (near, *draw.sample(others, min(2, len(others))), f"{text} x"):
        yield "other value", other


def _beside(act: Act, exploration: Exploration, family: frozenset[str]) -> list[Act]:
    """The same act on what lies beside its element, on the look that it was on.

    First those of the same group, then the rest of the window; last, what is known to change
    nothing.
    """
    before = next((one.before for one in exploration.triples if one.act.key == act.key), "")
    if before not in exploration.states:
        return []
    state = exploration.states[before]
    picture = Screenshot.from_png(exploration.picture(state).read_bytes())
    look = Observation(picture, picture.size, (), exploration.elements(state))
    elements, same = look.elements or (), alike(act.role, act.name, act.within, look)
    if not same:
        return []
    target = same[min(act.nth, len(same) - 1)]
    at, within = elements.index(target), holders(target, elements)
    dead = {one.act.key for one in exploration.triples if not one.failed and not one.differences}
    places = [
        place
        for place, one in enumerate(elements)
        if one.role in family
        and one.window == target.window
        and called(one) not in ("", act.name, *exploration.subject.leave)
        and {"showing", "visible"} & one.states
        and {"sensitive", "enabled"} & one.states
    ]
    places.sort(key=lambda place: (holders(elements[place], elements) != within, abs(place - at)))
    more = {"text": act.text, "keys": act.keys}
    acts = [act_on(elements[place], look, act.kind, **more) for place in places]
    return sorted(acts, key=lambda other: other.key in dead)[:_NEIGHBOURS]
