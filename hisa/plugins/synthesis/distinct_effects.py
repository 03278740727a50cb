"""Effects: the distinct changes that the acts of an exploration bring about."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence

from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.exploration_acts import read_name
from hisa.plugins.synthesis.machine_facts import Noise
from hisa.plugins.synthesis.records import Change, Effect, ElementChange
from hisa.screen.observation import Element
from hisa.state.refusals import is_refusal

__all__ = ["WINDOWS", "distinct_effects", "select_essential"]

WINDOWS = frozenset({"dialog", "alert", "file chooser", "frame", "window", "color chooser"})
"""Roles of windows: if one comes, the elements inside it need no mention."""
_PASSING = frozenset(
    {"menu", "menu item", "check menu item", "radio menu item", "tearoff menu item", "popup menu"}
    | {"tool tip", "status bar", "scroll bar", "separator"}
)
"""Roles that come and go along the way, and are not a result in themselves."""
_MOST_ELEMENTS = 40
_OF_A_MOMENT = re.compile(r"\d\u200e?[:∶]\d\d|\d{10}|[0-9a-f]{24}")
"""Matches names that change with time, such as the time of a file."""
_OF_THIS_MACHINE = re.compile(
    r"""(?x) (?<!\d)1[5-9]\d{8}(\d{3}|\d{6})?(?!\d) | (?<!\d)13[3-9]\d{14}(?!\d)
    | \d{4}-\d\d-\d\d[T ]\d\d:\d\d | [0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}
    | (?<![0-9a-f])[0-9a-f]{24,} | (^|[._/-])pid\b | /(tmp|run|proc)/ | :\d{4,5}/
    """
)
"""Times, process numbers, random names and ports, which differ between machines."""


def distinct_effects(exploration: Exploration) -> list[Effect]:
    """Returns the effects of an exploration without noise, in the order of their first triple."""
    triples = [triple for triple in exploration.triples if not triple.failed]
    noise = Noise()
    for triple in triples:
        noise.learn(triple.act, triple.differences.facts)
    root = exploration.states.get(exploration.root)
    start = exploration.elements(root) if root else ()
    effects: dict[str, Effect] = {}
    for triple in triples:
        changes = select_essential(noise.without(triple.differences.facts))
        elements = () if changes else _select_lasting(triple.differences.elements, start)
        if changes or elements:
            plain_changes = [change.model_dump() for change in changes]
            plain_changes += [change.model_dump(exclude={"window"}) for change in elements]
            name = hashlib.sha256(json.dumps(plain_changes, sort_keys=True).encode()).hexdigest()[
                :12
            ]
            first = effects.get(name) or Effect(
                id=name, changes=changes, elements=elements, triples=()
            )
            update = {"triples": (*first.triples, triple.number)}
            effects[name] = first.model_copy(update=update)
    return list(effects.values())


def select_essential(changes: Iterable[Change]) -> tuple[Change, ...]:
    """Returns the changes that matter: a new file's text, not also the fact that the file exists.

    Leaves out values that belong to this machine alone, files of which only a hash changed, folders
    of programs, and folders that hold something else that is new.
    """
    relevant = [c for c in changes if not _is_only_here(c)]
    changed = {c.fact.place for c in relevant if c.fact.kind != "file" and c.after is not None}
    gone = {c.fact.place for c in relevant if c.fact.kind == "file" and c.after is None}
    new_places = [c.fact.place for c in relevant if c.after is not None]

    def follows(change: Change) -> bool:
        place, states = change.fact.place, (change.before, change.after)
        if any(place.startswith(f"{folder}/") for folder in gone):
            return True
        if change.fact.kind != "file":
            return place in gone
        if change.after == "folder":
            return "/." in place or any(other.startswith(f"{place}/") for other in new_places)
        return place in changed or all(state and state.startswith("file") for state in states)

    return tuple(change for change in relevant if not follows(change))


def _is_only_here(change: Change) -> bool:
    """Whether a change holds a value of this machine alone; never for documents not hidden."""
    fact = change.fact
    if "/." not in fact.place and fact.kind not in ("gsettings", "file"):
        return False
    values = () if fact.kind == "file" else (change.after or "", change.before or "")
    return any(_OF_THIS_MACHINE.search(part) for part in (fact.place, fact.item, *values))


def _stays(change: ElementChange, start: Sequence[Element]) -> bool:
    """Whether a change is a result that a fresh start does not have.

    Menus open and close; an element that an earlier act had brought and that went is back as at the
    start.
    """
    if change.role in _PASSING or _OF_A_MOMENT.search(change.name):
        return False
    message = {"came": change.name, "value": change.after}.get(change.what, "")
    if is_refusal(message) or (change.role == "alert" and change.what == "came"):
        return False  # a message that something went wrong is not a goal
    present = [e for e in start if e.role == change.role and change.name in ("", read_name(e))]
    if change.what in ("came", "went"):
        return bool(present) == (change.what == "went")
    if change.what == "value":
        return all(element.text[:4000] != change.after for element in present)
    before, after = set(change.before.split()), set(change.after.split())
    if after - before:
        return not any(after - before <= element.states for element in present)
    return all(before - after <= element.states for element in present)


def _select_lasting(
    changes: Iterable[ElementChange], start: Sequence[Element]
) -> tuple[ElementChange, ...]:
    """Returns the windows that came or went, or else the other changes; sorted."""
    stays = [change for change in changes if _stays(change, start)]
    stays.sort(key=lambda c: (c.what, c.role, c.name, c.after))
    came, went = ({c.role for c in stays if c.what == kind} for kind in ("came", "went"))
    renamed = came & went
    windows = [c for c in stays if c.role in WINDOWS - renamed and c.what in ("came", "went")]
    rest = [c for c in stays if c.role not in WINDOWS]
    return tuple((windows or rest)[:_MOST_ELEMENTS])
