"""Near misses of a candidate's acts, built from what exploration saw: a good check fails for each.

`mutants` are those that a candidate is selected by; `second_family` is never used for that, so that
it measures what selection is worth.
"""

from __future__ import annotations

import random
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise, zip_longest
from typing import NamedTuple

from hisa.plugins.synthesis.doing import act_on, called, holders
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.records import Act
from hisa.plugins.synthesis.task_records import Candidate
from hisa.screen.geometry import Size
from hisa.screen.observation import Element, Observation, Screenshot

__all__ = ["MENU_ITEMS", "Draft", "is_save", "mutants", "second_family", "tail", "unsaved"]

MENU_ITEMS = frozenset({"menu item", "check menu item", "radio menu item"})
_MENUS = MENU_ITEMS | {"menu"}
_BUTTONS = frozenset({"push button", "toggle button", "check box", "radio button", "page tab"})
_CHOICES = frozenset({"list item", "radio button", "radio menu item", "icon", "table cell"})
"""Elements of which one is chosen among its likes."""
_CELL = re.compile(r"\$?([A-Z]{1,3})\$?([0-9]{1,7})")
_FILE = re.compile(r"\S*\w\.[A-Za-z][A-Za-z0-9]{1,4}|[~/]\S+")
_NEIGHBOURS = 4
"""Neighbours of one control that are tried, the nearest first."""
_SAVE_AS = ("ctrl", "shift", "s")
"""Keys that ask for a file's name; toolkits of desktops agree on them."""


class Draft(NamedTuple):
    """A mutant that is not done yet."""

    kind: str
    acts: tuple[Act, ...]
    detail: str = ""
    done_if: str = ""
    """A bash line that ends with 0 where the acts did what they are for; empty: no such line."""


def is_save(act: Act, save: tuple[str, ...]) -> bool:
    """Whether an act is the subject's own way to save."""
    return bool(save) and act.kind == "press" and act.keys == save


def mutants(candidate: Candidate, exploration: Exploration) -> list[Draft]:
    """Near misses, of every kind in turn; the same ones for the same candidate.

    Those of the last acts come first: what follows them can still be done. What is not saved is
    `unsaved`, since it lies on the way to the end.
    """
    draw = random.Random(candidate.id)
    kinds = [
        list(_distinct(make(candidate, exploration, draw), candidate.acts))
        for make in (_other_values, _other_files, _neighbours)
    ]
    split = {kind for drafts in kinds for kind in (draft.kind for draft in drafts)}
    rows = [[d for drafts in kinds for d in drafts if d.kind == kind] for kind in sorted(split)]
    return [draft for draft in chain(*zip_longest(*rows)) if draft is not None]


def unsaved(candidate: Candidate, exploration: Exploration) -> Draft | None:
    """The acts before the last save; None: nothing is saved at the end."""
    acts, save = candidate.acts, exploration.subject.save
    if len(acts) < 2 or not is_save(acts[-1], save):
        return None
    return Draft("nothing saved", acts[:-1], "the last save is left out")


def tail(acts: tuple[Act, ...], save: tuple[str, ...]) -> tuple[Act, ...]:
    """The last act that is no save, with the menus that lead to it and what saves it."""
    last = max((at for at, act in enumerate(acts) if not is_save(act, save)), default=0)
    first = last
    if acts[last].role in MENU_ITEMS:
        while first and acts[first - 1].role == "menu":
            first -= 1
    return acts[first:]


def _distinct(drafts: Iterable[Draft], right: tuple[Act, ...]) -> Iterator[Draft]:
    known = {right}
    for draft in drafts:
        if draft.acts not in known:
            known.add(draft.acts)
            yield draft


def _changed(acts: tuple[Act, ...], at: int, *instead: Act) -> tuple[Act, ...]:
    return (*acts[:at], *instead, *acts[at + 1 :])


def _places(candidate: Candidate, exploration: Exploration) -> Iterator[tuple[int, Act]]:
    """The acts that may be another one, the last first; not menus that only lead to the next."""
    acts, save = candidate.acts, exploration.subject.save
    for at, act in reversed(list(enumerate(acts))):
        leads = act.role == "menu" and at + 1 < len(acts) and acts[at + 1].role in _MENUS
        if not leads and not is_save(act, save):
            yield at, act


def _other_values(
    candidate: Candidate, exploration: Exploration, draw: random.Random
) -> Iterator[Draft]:
    """Another text, another choice, another cell."""
    for at, act in _places(candidate, exploration):
        if act.kind == "type" and not _FILE.fullmatch(act.text):
            kind = "other cell" if _CELL.fullmatch(act.text) else "other value"
            for text in _texts(act.text, exploration.subject.words, draw):
                other = act.model_copy(update={"text": text})
                yield Draft(kind, _changed(candidate.acts, at, other), f"{text!r} is typed")
        if act.role in _CHOICES:
            kind = "other cell" if act.role == "table cell" else "other value"
            for other in _beside(act, exploration, {act.role}):
                yield Draft(kind, _changed(candidate.acts, at, other), f'"{other.name}"')


def _texts(text: str, words: tuple[str, ...], draw: random.Random) -> Iterator[str]:
    """Other texts of the same kind, the nearest first."""
    if cell := _CELL.fullmatch(text):
        column, row = cell.groups()
        yield f"{column}{int(row) + 1}"
        yield f"{column[:-1]}{chr((ord(column[-1]) - 64) % 26 + 65)}{row}"
        return
    if re.fullmatch(r"-?[0-9]{1,15}", text):
        yield str(int(text) + draw.choice([1, 10]))
    elif len(text) > 2:
        yield text[:-1]
    others = [word for word in words if word != text]
    yield from draw.sample(others, min(2, len(others)))
    yield f"{text} {draw.choice(others or ['x'])}"


def _neighbours(
    candidate: Candidate, exploration: Exploration, _: random.Random
) -> Iterator[Draft]:
    """The next control of the same menu, bar or dialog."""
    for at, act in _places(candidate, exploration):
        for family in (MENU_ITEMS, _BUTTONS, {"menu"}):
            if act.role in family and act.role not in _CHOICES - _BUTTONS:
                for other in _beside(act, exploration, family):
                    acts = _changed(candidate.acts, at, other)
                    yield Draft("neighbour control", acts, f'"{other.name}" for "{act.name}"')


def _beside(act: Act, exploration: Exploration, family: Iterable[str]) -> list[Act]:
    """The same act on what lies beside its element, the nearest first, on the look it was on.

    Those that are known to change nothing come last.
    """
    elements = _look(act, exploration)
    target = _target(act, elements)
    if target is None:
        return []
    look = Observation(Screenshot.from_rgb(Size(1, 1), bytes(3)), Size(1, 1), elements=elements)
    at, within = elements.index(target), holders(target, elements)
    near = sorted(range(len(elements)), key=lambda other: abs(other - at))
    found = [
        act_on(one, look, act.kind, text=act.text, keys=act.keys)
        for one in (elements[place] for place in near)
        if one is not target
        and one.role in family
        and _same_holder(one, target)
        and holders(one, elements) == within
        and called(one) not in ("", act.name, *exploration.subject.leave)
        and {"showing", "visible"} & one.states
        and {"sensitive", "enabled"} & one.states
    ]
    dead = {t.act.key for t in exploration.triples if not t.failed and not t.differences}
    return sorted(found, key=lambda one: one.key in dead)[:_NEIGHBOURS]


def _same_holder(one: Element, target: Element) -> bool:
    return one.parent == target.parent or one.parent is None or target.parent is None


def _look(act: Act, exploration: Exploration) -> tuple[Element, ...]:
    """The elements of a look that has the act's element; none: nobody saw one."""
    for triple in exploration.triples:
        if triple.act.key == act.key and triple.before in exploration.states:
            return exploration.elements(exploration.states[triple.before])
    return ()


def _target(act: Act, elements: tuple[Element, ...]) -> Element | None:
    alike = [
        one
        for one in elements
        if one.role == act.role
        and called(one) == act.name
        and holders(one, elements) == act.within
        and {"showing", "visible"} & one.states
    ]
    alike.sort(key=lambda one: (one.box.top, one.box.left))
    return alike[min(act.nth, len(alike) - 1)] if alike else None


def _other_files(
    candidate: Candidate, exploration: Exploration, draw: random.Random
) -> Iterator[Draft]:
    """Another file's name, or the document saved as another one."""
    acts, save = candidate.acts, exploration.subject.save
    for at, act in _places(candidate, exploration):
        if act.kind == "type" and _FILE.fullmatch(act.text):
            name = _other_name(act.text, draw)
            other = act.model_copy(update={"text": name})
            yield Draft("other file", _changed(acts, at, other), f"{name} in place of {act.text}")
    document = next(iter(exploration.subject.documents), "")
    if document and acts and is_save(acts[-1], save):
        name = _other_name(document, draw)
        yield Draft(
            "other file",
            (*acts[:-1], *_save_as(name)),
            f"saved as {name}",
            f"test -e {_expanded(name)}",
        )


def _other_name(path: str, draw: random.Random) -> str:
    folder, slash, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    return f"{folder}{slash}{stem or ending}-{draw.randrange(2, 10)}{dot if stem else ''}" + (
        ending if stem else ""
    )


def _expanded(path: str) -> str:
    """A path for bash, with ``~`` still meaning the home folder."""
    return f"~/{shlex.quote(path[2:])}" if path.startswith("~/") else shlex.quote(path)


def _save_as(path: str) -> tuple[Act, ...]:
    """Acts that give the document another file; the dialog's field for names has the focus."""
    return (
        Act(kind="press", keys=_SAVE_AS),
        Act(kind="press", keys=("ctrl", "a")),
        Act(kind="type", text=path, keys=("enter",)),
    )


def second_family(candidate: Candidate, exploration: Exploration) -> list[Draft]:
    """Near misses of other kinds, which no candidate is selected by.

    Half way there, done and then undone, done in a copy of the document, neighbours exchanged.
    """
    draw = random.Random(f"second {candidate.id}")
    makers: tuple[Callable[[Candidate, Exploration, random.Random], Iterator[Draft]], ...]
    makers = (_half_way, _undone, _in_a_copy, _exchanged)
    drafts = chain(*(make(candidate, exploration, draw) for make in makers))
    return list(_distinct(drafts, candidate.acts))


def _half_way(candidate: Candidate, exploration: Exploration, _: random.Random) -> Iterator[Draft]:
    for at, act in _places(candidate, exploration):
        rest = _changed(candidate.acts, at)
        if rest:
            yield Draft("half way", rest, f'without the {act.kind} of "{act.name or act.text}"')


def _undone(candidate: Candidate, exploration: Exploration, _: random.Random) -> Iterator[Draft]:
    acts, save = candidate.acts, exploration.subject.save
    if acts and is_save(acts[-1], save):
        back = (Act(kind="press", keys=("ctrl", "z")),) * 5
        yield Draft("done, then undone", (*acts, *back, acts[-1]), "ctrl z, saved")
    elif acts:
        yield Draft("done, then undone", (*acts, *tail(acts, save)), "the same once more")


def _in_a_copy(
    candidate: Candidate, exploration: Exploration, draw: random.Random
) -> Iterator[Draft]:
    acts, subject = candidate.acts, exploration.subject
    if subject.documents and any(is_save(act, subject.save) for act in acts):
        name = _other_name(subject.documents[0], draw)
        made = f"test -e {_expanded(name)}"
        yield Draft("in a copy", (*_save_as(name), *acts), f"in {name}", made)


def _exchanged(
    candidate: Candidate, exploration: Exploration, draw: random.Random
) -> Iterator[Draft]:
    """Texts of two acts, or two words or letters of one, in each other's place."""
    acts = candidate.acts
    typed = [at for at, act in enumerate(acts) if act.kind == "type"]
    for first, second in pairwise(typed):
        one, two = acts[first], acts[second]
        swapped = _changed(acts, first, one.model_copy(update={"text": two.text}))
        swapped = _changed(swapped, second, two.model_copy(update={"text": one.text}))
        yield Draft("exchanged", swapped, f"{one.text!r} and {two.text!r}")
    for at in typed:
        text = acts[at].text
        parts = text.split(" ") if " " in text else list(text)
        if len(parts) > 1:
            place = draw.randrange(len(parts) - 1)
            parts[place : place + 2] = parts[place + 1], parts[place]
            other = (" " if " " in text else "").join(parts)
            acts_now = _changed(acts, at, acts[at].model_copy(update={"text": other}))
            yield Draft("exchanged", acts_now, f"{other!r} is typed")
