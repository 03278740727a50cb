"""Near misses of a candidate's acts, built from what exploration saw: a good check fails for each.

What is not saved is `unsaved`, apart from the others, since it lies on the way to the end.
"""

from __future__ import annotations

import random
import re
import shlex
from collections.abc import Iterator
from itertools import chain, zip_longest
from typing import NamedTuple

from hisa.plugins.synthesis.doing import act_on, alike, called, holders
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.records import Act
from hisa.plugins.synthesis.task_records import Candidate
from hisa.screen.geometry import Size
from hisa.screen.observation import Element, Observation, Screenshot
from hisa.screen.roles import MULTI_LINE

__all__ = ["MENU_ITEMS", "Draft", "mutants", "tail", "unsaved"]

MENU_ITEMS = frozenset({"menu item", "check menu item", "radio menu item"})
_CHOICES = frozenset({"list item", "radio button", "radio menu item", "icon", "table cell", "link"})
"""Elements of which one is chosen among its likes."""
_FAMILIES = (
    MENU_ITEMS,
    frozenset({"push button", "toggle button", "check box", "page tab", "combo box"}),
    frozenset({"menu"}),
)
"""Controls that a person mistakes for one another."""
_CELL = re.compile(r"\$?([A-Z]{1,3})\$?([0-9]{1,7})")
_FILE = re.compile(r"\S*\w\.[A-Za-z][A-Za-z0-9]{1,4}|[~/]\S+")
_NEIGHBOURS = 5
"""Neighbours of one control that are tried, the nearest first."""


class Draft(NamedTuple):
    """A mutant that is not done yet."""

    kind: str
    acts: tuple[Act, ...]
    detail: str = ""
    done_if: str = ""
    """A bash line that ends with 0 where the acts did what they are for; empty: no such line."""


def mutants(candidate: Candidate, exploration: Exploration) -> list[Draft]:
    """Near misses, of every kind in turn; the same ones for the same candidate.

    Those of the last acts come first: what follows them can still be done.
    """
    draw, known = random.Random(candidate.id), {candidate.acts}
    rows: dict[str, list[Draft]] = {}
    for draft in _drafts(candidate.acts, exploration, draw):
        if draft.acts and draft.acts not in known:
            known.add(draft.acts)
            rows.setdefault(draft.kind, []).append(draft)
    return [draft for draft in chain(*zip_longest(*rows.values())) if draft is not None]


def unsaved(candidate: Candidate, exploration: Exploration) -> Draft | None:
    """The acts before the last save; None: nothing is saved at the end."""
    acts = candidate.acts
    if len(acts) < 2 or not _is_save(acts[-1], exploration):
        return None
    return Draft("nothing saved", acts[:-1], "the last save is left out")


def tail(acts: tuple[Act, ...], exploration: Exploration) -> tuple[Act, ...]:
    """The last act that is no save, with the menus that lead to it and what saves it."""
    last = max((at for at, act in enumerate(acts) if not _is_save(act, exploration)), default=0)
    first = last
    while acts[last].role in MENU_ITEMS and first and acts[first - 1].role == "menu":
        first -= 1
    return acts[first:]


def _is_save(act: Act, exploration: Exploration) -> bool:
    return act.kind == "press" and act.keys == exploration.subject.save != ()


def _drafts(
    acts: tuple[Act, ...], exploration: Exploration, draw: random.Random
) -> Iterator[Draft]:
    """Every place but saves and menus that only lead on: another act there, or none."""
    leads = MENU_ITEMS | {"menu"}
    for at, act in reversed(list(enumerate(acts))):
        here, after = acts[:at], acts[at + 1 :]
        if _is_save(act, exploration):
            for document in exploration.subject.documents[:1] if not after else ():
                name = _other_name(document, draw)
                yield Draft("other file", (*here, *_save_as(name)), f"saved as {name}", _made(name))
        elif act.role != "menu" or not after or after[0].role not in leads:
            for kind, other, detail in _others(act, exploration, draw):
                yield Draft(kind, (*here, other, *after), detail)
            for field in _fields(act, exploration, draw) if act.role == "push button" else ():
                detail = f'{field.text!r} in "{field.name}" before'
                yield Draft("other value", (*here, field, *acts[at:]), detail)
            if here and after:
                rest = (*here, *after)
                yield Draft("left out", rest, f'no {act.kind} of "{act.name or act.text}"')
    shorter = acts[: len(acts) - len(tail(acts, exploration))]
    if shorter and not any(_is_save(act, exploration) for act in acts):
        yield Draft("half way", shorter, "the last act is left out")


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
    others = [word for word in words if word != text]
    if _FILE.fullmatch(text):
        yield "other file", _other_name(text, draw)
        yield "other file", _other_name(text, draw, folder="/tmp")
    elif cell := _CELL.fullmatch(text):
        column, row = cell.groups()
        yield "other cell", f"{column}{int(row) + 1}"
        yield "other cell", f"{column[:-1]}{chr((ord(column[-1]) - 64) % 26 + 65)}{row}"
    else:
        if re.fullmatch(r"-?[0-9]{1,15}", text):
            yield "other value", str(int(text) + draw.choice([1, 10]))
        elif len(text) > 2:
            yield "other value", text[:-1]
        for word in draw.sample(others, min(2, len(others))):
            yield "other value", word
        yield "other value", f"{text} {draw.choice(others or ['x'])}"


def _beside(act: Act, exploration: Exploration, family: frozenset[str]) -> list[Act]:
    """The same act on what lies beside its element, on the look that it was on.

    First those of the same group, then the rest of the window; last, what is known to change
    nothing.
    """
    look, target = _place(act, exploration)
    if target is None:
        return []
    elements = look.elements or ()
    at, within = elements.index(target), holders(target, elements)
    dead = {one.act.key for one in exploration.triples if not one.failed and not one.differences}
    order: list[tuple[tuple[bool, bool, int], Act]] = []
    for place, one in enumerate(elements):
        apart = holders(one, elements) != within
        if (
            one.role in family
            and one.window == target.window
            and called(one) not in ("", act.name, *exploration.subject.leave)
            and {"showing", "visible"} & one.states
            and {"sensitive", "enabled"} & one.states
        ):
            other = act_on(one, look, act.kind, text=act.text, keys=act.keys)
            order.append(((other.key in dead, apart, abs(place - at)), other))
    return [other for _, other in sorted(order, key=lambda one: one[0])[:_NEIGHBOURS]]


def _fields(act: Act, exploration: Exploration, draw: random.Random) -> Iterator[Act]:
    """Acts that type something else into the fields of one line in a button's window."""
    look, target = _place(act, exploration)
    for one in look.elements or ():
        shown = {"showing", "visible"} & one.states and "editable" in one.states
        if target and shown and one.window == target.window and not MULTI_LINE & one.states:
            for text in draw.sample(exploration.subject.words, 1):
                yield act_on(one, look, "type", text=text)


def _place(act: Act, exploration: Exploration) -> tuple[Observation, Element | None]:
    """A look that has the act's element, and the element; none: nobody saw it."""
    elements: tuple[Element, ...] = ()
    for triple in exploration.triples:
        if triple.act.key == act.key and triple.before in exploration.states:
            elements = exploration.elements(exploration.states[triple.before])
            break
    look = Observation(Screenshot.from_rgb(Size(1, 1), bytes(3)), Size(1, 1), elements=elements)
    same = alike(act.role, act.name, act.within, look)
    return look, same[min(act.nth, len(same) - 1)] if same else None


def _other_name(path: str, draw: random.Random, folder: str = "") -> str:
    """The same kind of file beside a path, or the same name in another folder."""
    there, slash, name = path.rpartition("/")
    if folder:
        return f"{folder}/{name or path}"
    stem, dot, ending = name.rpartition(".")
    number = draw.randrange(2, 10)
    return f"{there}{slash}" + (f"{stem}-{number}{dot}{ending}" if stem else f"{ending}-{number}")


def _made(path: str) -> str:
    return f"test -e ~/{shlex.quote(path.removeprefix('~/'))}"


def _save_as(path: str) -> tuple[Act, ...]:
    """Acts that give the document another file; the dialog's field for names has the focus."""
    return (
        Act(kind="press", keys=("ctrl", "shift", "s")),
        Act(kind="press", keys=("ctrl", "a")),
        Act(kind="type", text=path, keys=("enter",)),
    )
