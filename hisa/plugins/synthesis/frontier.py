"""The frontier: the acts that have not been tried yet, and the shortest known way to one.

The acts that a state offers depend on its screen, not on the settings behind it, and the result of
an act hardly depends on the document's words. So ways are stored between acts: after this act,
those were offered. A way learned in one state can be taken in states never seen before.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.exploration_acts import read_name
from hisa.plugins.synthesis.offers import ESCAPE, confirms
from hisa.plugins.synthesis.records import Act, Change
from hisa.screen.observation import Element, Observation

__all__ = ["Choice", "Frontier", "restore_frontier", "screen_id", "state_id"]

Key = tuple[str, ...]
_STATES = ("checked", "expanded", "pressed", "selected", "sensitive")
_PASSING = frozenset({"tool tip", "filler", "separator", "scroll bar", "label", "static"})
"""Roles that do not identify a screen, or come and go by themselves."""
_IDLE = 2  # extra tries that an act without effect counts for
_MARKS = re.compile(
    r"^[*•●]\s*|\s*[*•●]$|\s*\((modified|read[- ]only)\)|\d{1,2}\W?[:∶]\d\d(:\d\d)?|\d{5,}"
)
"""Marks of unsaved changes, times and process numbers, which change by themselves as well."""


def screen_id(observation: Observation) -> str:
    """Returns a hash of the windows and the named elements with their states and values."""
    windows = sorted(_MARKS.sub("", window.title) for window in observation.windows)
    parts = [
        _parts(element)
        for element in observation.elements or ()
        if {"showing", "visible"} & element.states
    ]
    return _hash([windows, sorted(filter(None, parts))])


def state_id(screen: str, changes: Iterable[Change]) -> str:
    """Returns a hash of a screen and of the facts that changed since the fresh start."""
    return _hash([screen, sorted([*change.fact, change.after] for change in changes)])


def _parts(element: Element) -> list[str] | None:
    """Returns the parts of an element that identify a screen; None if it has none."""
    name = read_name(element)
    if element.role in _PASSING or not (name or element.text):
        return None
    ignored = {"selected"} if element.role.endswith(("menu", "menu item")) else set()
    states = [state for state in _STATES if state in element.states - ignored]
    return [element.role, _MARKS.sub("", name), _MARKS.sub("", element.text), *states]


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, default=str).encode()).hexdigest()[:20]


class Choice(NamedTuple):
    """The act to do next, and the key of the act that should be offered after it (``then``)."""

    act: Act
    then: Key | None
    tries: int  # how often the act at the end of the way was tried so far


class Frontier:
    """Counts the tries of acts, and knows what each act led to. All workers share one."""

    def __init__(self) -> None:
        self.counts: Counter[Key] = Counter()
        self.root: frozenset[Key] = frozenset()  # keys that the fresh start offers
        self._tried: set[tuple[str, Key]] = set()
        self._next_keys: dict[Key, dict[Key, None]] = {}
        self._forgotten: set[tuple[Key, Key]] = set()
        self._claimed: dict[int, Key] = {}

    def begin(self, screen: str, key: Key) -> None:
        """Counts an act when it begins, so that no other worker tries the same meanwhile."""
        self.counts[key] += 1
        self._tried.add((screen, key))

    def learn(self, key: Key, offered: Iterable[Key], *, idle: bool = False) -> None:
        """Stores what an act led to.

        Args:
            key: of the act.
            offered: keys of the acts offered after it.
            idle: whether it changed nothing; such an act is tried again late.
        """
        self._next_keys.setdefault(key, {}).update(dict.fromkeys(offered))
        self.counts[key] += _IDLE * idle

    def forget(self, key: Key, then: Key) -> None:
        """Drops a way that did not lead where it had led before."""
        if key != ESCAPE.key:
            self._forgotten.add((key, then))

    def choose(
        self, worker: int, screen: str, acts: Sequence[Act], *, filled: bool = False
    ) -> Choice | None:
        """Returns the next act: on the way to the act tried least, and of these to the nearest.

        Args:
            worker: number of the worker; targets of others are left to them.
            screen: id of the screen; acts tried on it are chosen only as steps of a way.
            acts: those that the screen offers.
            filled: whether the last act filled something in; a button that confirms is next then.

        Returns:
            The choice; None if nothing is left, here or behind known ways.
        """
        offered: dict[Key, list[Act]] = {}
        for act in acts:
            offered.setdefault(act.key, []).append(act)
        ends = [a.key for a in acts if confirms(a) and (screen, a.key) not in self._tried]
        if filled and ends:
            return Choice(offered[min(ends, key=self.counts.__getitem__)][0], None, 0)
        ways = self._ways(offered)
        other_targets = {key for owner, key in self._claimed.items() if owner != worker}
        targets = [
            (self.counts[key], len(way), at, key)
            for at, (key, way) in enumerate(ways.items())
            if key not in other_targets and key != ESCAPE.key
            if len(way) > 1 or (screen, key) not in self._tried
        ]
        if not targets:
            return None
        count, *_, target = min(targets)
        way = ways[target]
        self._claimed[worker] = target
        choices, then = offered[way[0]], way[1] if len(way) > 1 else None
        return Choice(choices[self.counts[way[0]] % len(choices)], then, count)

    def untried_from_root(self) -> bool:
        """Whether a known way leads from a fresh start to an act that was never tried."""
        skipped = {*self._claimed.values(), ESCAPE.key}
        return any(not self.counts[key] for key in self._ways(self.root) if key not in skipped)

    def _ways(self, offered: Iterable[Key]) -> dict[Key, tuple[Key, ...]]:
        """Returns the key of each act that can be reached, with the way to it, itself included."""
        ways: dict[Key, tuple[Key, ...]] = {key: (key,) for key in offered}
        queue = deque(ways)
        while queue:
            key = queue.popleft()
            root_keys = self.root if key == ESCAPE.key else ()  # repeated, it closes all
            for next_key in (*self._next_keys.get(key, ()), *root_keys):
                if next_key not in ways and (key, next_key) not in self._forgotten:
                    ways[next_key] = (*ways[key], next_key)
                    queue.append(next_key)
        return ways


def restore_frontier(exploration: Exploration) -> Frontier:
    """Returns a frontier built from an exploration's triples.

    Acts that were offered but not tried are not stored; they are learned again on a known way.
    """
    frontier, tried_keys = Frontier(), defaultdict[str, list[Key]](list)
    for triple in exploration.triples:
        tried_keys[triple.before].append(triple.act.key)
    for triple in exploration.triples:
        frontier.begin(exploration.states[triple.before].screen, triple.act.key)
        if not triple.failed:
            frontier.learn(triple.act.key, tried_keys[triple.after], idle=not triple.differences)
    return frontier
