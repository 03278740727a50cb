"""The frontier: which acts nobody tried yet, and the shortest known way to one.

Which acts a state offers depends on its screen, not on the settings behind it, and what an act
leads to hardly depends on the document's words. So ways are kept between acts: after this one,
those others were offered. A way that was learned in one state serves in states never seen before.
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
"""Roles that say nothing of where one is, or come and go by themselves."""
_IDLE = 2  # tries that one without effect counts for besides itself
_MARKS = re.compile(
    r"^[*•●]\s*|\s*[*•●]$|\s*\((modified|read[- ]only)\)|\d{1,2}\W?[:∶]\d\d(:\d\d)?|\d{5,}"
)
"""Marks of a change, times and process numbers, which come and go by themselves as well."""


def screen_id(observation: Observation) -> str:
    """The hash of windows and named elements with their states and values."""
    windows = sorted(_MARKS.sub("", window.title) for window in observation.windows)
    parts = [
        _parts(element)
        for element in observation.elements or ()
        if {"showing", "visible"} & element.states
    ]
    return _hash([windows, sorted(filter(None, parts))])


def state_id(screen: str, changes: Iterable[Change]) -> str:
    """The hash of a screen and of the facts that changed since the fresh start."""
    return _hash([screen, sorted([*change.fact, change.after] for change in changes)])


def _parts(element: Element) -> list[str] | None:
    """The parts of an element that tell screens apart; None where it says nothing."""
    name = read_name(element)
    if element.role in _PASSING or not (name or element.text):
        return None
    ignored = {"selected"} if element.role.endswith(("menu", "menu item")) else set()
    states = [state for state in _STATES if state in element.states - ignored]
    return [element.role, _MARKS.sub("", name), _MARKS.sub("", element.text), *states]


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, default=str).encode()).hexdigest()[:20]


class Choice(NamedTuple):
    """The act to do next, and what should be offered after it (``then``)."""

    act: Act
    then: Key | None
    tries: int  # how often the act that this leads to was tried so far


class Frontier:
    """Counts what was tried, and knows what each act led to. All workers share one."""

    def __init__(self) -> None:
        self.counts: Counter[Key] = Counter()
        self.root: frozenset[Key] = frozenset()  # keys that the fresh start offers
        self._tried: set[tuple[str, Key]] = set()
        self._next_keys: dict[Key, dict[Key, None]] = {}
        self._forgotten: set[tuple[Key, Key]] = set()
        self._claimed: dict[int, Key] = {}

    def begin(self, screen: str, key: Key) -> None:
        """Count an act, when it is begun: another worker is not to try the same meanwhile."""
        self.counts[key] += 1
        self._tried.add((screen, key))

    def learn(self, key: Key, offered: Iterable[Key], *, idle: bool = False) -> None:
        """Keep what an act led to; an idle one, which changed nothing, is tried again late."""
        self._next_keys.setdefault(key, {}).update(dict.fromkeys(offered))
        self.counts[key] += _IDLE * idle

    def forget(self, key: Key, then: Key) -> None:
        """Give up a way that did not lead where it did before."""
        if key != ESCAPE.key:
            self._forgotten.add((key, then))

    def choose(
        self, worker: int, screen: str, acts: Sequence[Act], *, filled: bool = False
    ) -> Choice | None:
        """The next act: towards the least visited one, the nearest.

        What another worker is on the way to is left to it; what was tried in this screen is not
        chosen for its own sake. Where something was filled in just now, what makes it last is next.

        Returns:
            None where nothing is left, here or behind known ways.
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
        """Whether known ways lead from a fresh start to an act that nobody tried."""
        skipped = {*self._claimed.values(), ESCAPE.key}
        return any(not self.counts[key] for key in self._ways(self.root) if key not in skipped)

    def _ways(self, offered: Iterable[Key]) -> dict[Key, tuple[Key, ...]]:
        """Each act that can be reached, with the acts to it, itself the last."""
        ways: dict[Key, tuple[Key, ...]] = {key: (key,) for key in offered}
        queue = deque(ways)
        while queue:
            key = queue.popleft()
            root_keys = self.root if key == ESCAPE.key else ()  # in the end, whatever is open
            for next_key in (*self._next_keys.get(key, ()), *root_keys):
                if next_key not in ways and (key, next_key) not in self._forgotten:
                    ways[next_key] = (*ways[key], next_key)
                    queue.append(next_key)
        return ways


def restore_frontier(exploration: Exploration) -> Frontier:
    """The frontier that an exploration's triples make.

    What a state offered without being tried is learned again when a known way comes by.
    """
    frontier, tried_keys = Frontier(), defaultdict[str, list[Key]](list)
    for triple in exploration.triples:
        tried_keys[triple.before].append(triple.act.key)
    for triple in exploration.triples:
        frontier.begin(exploration.states[triple.before].screen, triple.act.key)
        if not triple.failed:
            frontier.learn(triple.act.key, tried_keys[triple.after], idle=not triple.differences)
    return frontier
