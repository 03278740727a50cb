"""Facts: reads every value on a machine, compares two readings, and recognises noise.

The kinds of facts and their values: ``file`` is a path ("folder", "link TARGET", "file" if its
content has facts of its own, or else "file SIZE HASH START"); ``text`` is a small text;
``gsettings`` is a schema and a key; ``ini`` is an item ``[section] key``; ``document`` is a part of
a cell in a sheet, such as ``Sheet1.B2/value``, or the ``text`` of a text document.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from pydantic import BaseModel, Field, ValidationError

from hisa.environments.clean_commands import python
from hisa.errors import EnvironmentFailed
from hisa.machine.patience import patience
from hisa.plugins.synthesis import guest_documents, guest_facts
from hisa.plugins.synthesis.exploration_acts import read_name
from hisa.plugins.synthesis.records import Act, Change, ElementChange, Fact, FactKind, Facts
from hisa.protocols import Environment
from hisa.screen.observation import Observation

__all__ = ["Noise", "compare_facts", "element_changes", "guest_source", "read_facts"]

_LIMIT, _SECONDS = 40_000_000, 90.0
"""Most characters that the machine may print, and most seconds that it may take."""
_MOST_ELEMENTS = 200
_STATES = frozenset({"checked", "selected", "expanded", "pressed", "collapsed", "indeterminate"})
"""States that a person sets; focus and the like come and go by themselves."""


class _Answer(BaseModel):
    facts: list[tuple[FactKind, str, str, str]] = Field(max_length=60_001)
    cut: str = ""


def guest_source(*parts: Any) -> str:
    """Returns the source of the program that reads the facts, for a machine's own Python.

    With ``parts``, which are modules or functions of it, it has only these.
    """
    sources = [inspect.getsource(part) for part in parts or (guest_documents, guest_facts)]
    program = re.sub(r"(?m)^from (hisa|__future__)\b.*$", "", "\n\n".join(sources))
    return f"from __future__ import annotations\n\n{program}"


async def read_facts(environment: Environment) -> Facts:
    """Reads every fact below the home folder of a machine, and its settings.

    Raises: EnvironmentFailed if it does not answer, has no Python, or has too many facts.
    """
    line, seconds = python(guest_source()), patience(_SECONDS)
    result = await environment.execute(line, timeout=seconds, limit=_LIMIT)
    if result.exit_code != 0 or result.timed_out:
        reason = (result.error or result.output).strip()[-300:]
        raise EnvironmentFailed(f"cannot read the machine's files and settings: {reason}")
    try:
        answer = _Answer.model_validate_json(result.output)
    except ValidationError as error:
        message = f"the machine sent invalid facts: {str(error)[:300]}"
        raise EnvironmentFailed(message) from error
    if answer.cut:
        raise EnvironmentFailed(f"the machine has too many files or settings: {answer.cut}")
    return {Fact(kind, place, item): value for kind, place, item, value in answer.facts}


def compare_facts(before: Facts, after: Facts) -> tuple[Change, ...]:
    """Returns the facts that differ between two readings, sorted by their addresses."""
    return tuple(
        Change(fact=fact, before=before.get(fact), after=after.get(fact))
        for fact in sorted(before.keys() | after.keys())
        if before.get(fact) != after.get(fact)
    )


_ITEMS = re.compile(
    r"""(?ix) (window|dialog|side\w*|pane[dl]?|splitter|column)[-_.]?(state|size|position|width
    | height|geometry|maximi[sz]ed|placement)$
    | (^|\]\ )(width|height|maximi[sz]ed|geometry|[xy])$
    | (^|[-_/. ])(allocation|pid|uuid|session|histor(y|ies))$
    | (^|[/\] ])recent(ly)?[-_]?(used|files|documents|items|list)?$ | first[-_]?run
    | (^|[-_/.\] ])last[-_]?(used|opened|path|dir|folder|time|version|update|visit|run|\w+_time)
    | time[-_]?stamp | _time$
    """
)
"""Items of hidden settings that are book-keeping by name: windows, recent files, times."""
_WORD = re.compile(r"[a-z]{4,}")


class Noise:
    """Addresses that change whatever is done, learned from unrelated acts.

    A hidden address is noise once three unrelated acts changed it; a visible one never is.
    """

    def __init__(self) -> None:
        self._controls: dict[Fact, set[str]] = defaultdict(set)

    def learn(self, act: Act, changes: Iterable[Change]) -> None:
        """Counts the changes of an act; acts on the same control count once."""
        control = act.name or "+".join(act.keys) or act.text or act.role
        words = set(_WORD.findall(" ".join((act.name, *act.keys)).lower()))
        for fact in (change.fact for change in changes):
            address = f"{fact.place} {fact.item}".lower()
            if not any(word in address for word in words):
                self._controls[fact].add(control)

    def is_noise(self, fact: Fact) -> bool:
        """Whether a change of this fact says nothing about the act."""
        hidden = fact.kind == "gsettings" or "/." in fact.place
        return hidden and bool(_ITEMS.search(fact.item) or len(self._controls.get(fact, ())) >= 3)

    def without(self, changes: Iterable[Change]) -> tuple[Change, ...]:
        """Returns the changes that are not noise."""
        return tuple(change for change in changes if not self.is_noise(change.fact))


class _Look(NamedTuple):
    window: str = ""
    text: str = ""
    states: str = ""


def element_changes(before: Observation, after: Observation) -> tuple[ElementChange, ...]:
    """Compares two looks: named elements that came or went, and changed values and states.

    Elements are the same if role, name and index among those alike are; window titles are ignored,
    since they often have the document's name. Returns at most 200 changes.
    """
    old, new = _index_shown(before), _index_shown(after)
    changes: list[ElementChange] = []
    for key in old.keys() | new.keys():
        old_look, new_look = old.get(key, _Look()), new.get(key, _Look())
        values = {
            "value": (old_look.text, new_look.text),
            "states": (old_look.states, new_look.states),
        }
        values = {kind: pair for kind, pair in values.items() if pair[0] != pair[1]}
        if key not in old or key not in new:
            values = {"came" if key in new else "went": (old_look.states, new_look.states)}
        named = {
            "role": key[0],
            "name": key[1][:200],
            "window": (new_look.window or old_look.window)[:200],
        }
        for kind, (left, came) in values.items():
            change = {"what": kind, "before": left[:4000], "after": came[:4000]}
            changes.append(ElementChange.model_validate(named | change))
    order = ("states", "value", "came", "went")
    changes.sort(key=lambda c: (order.index(c.what), c.role, c.name, c.after))
    return tuple(changes[:_MOST_ELEMENTS])


def _index_shown(observation: Observation) -> dict[tuple[str, str, int], _Look]:
    counts: Counter[tuple[str, str]] = Counter()
    shown = {}
    for element in observation.elements or ():
        named = element.role, read_name(element)
        if {"showing", "visible"} & element.states and (named[1] or element.text):
            states = " ".join(sorted(element.states & _STATES))
            shown[(*named, counts[named])] = _Look(element.window, element.text, states)
            counts[named] += 1
    return shown
