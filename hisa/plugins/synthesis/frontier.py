"""The frontier: which acts nobody tried yet, and the shortest known way to one.

Which acts a state offers depends on its screen, not on the settings behind it, and what an act
leads to hardly depends on the document's words. So ways are kept between acts: after this one,
those others were offered. A way that was learned in one state serves in states never seen before.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from hisa.plugins.synthesis.doing import called
from hisa.plugins.synthesis.offers import ESCAPE
from hisa.plugins.synthesis.records import Act, Change
from hisa.screen.observation import Element, Observation

__all__ = ["Choice", "Frontier", "Key", "screen_id", "state_id", "title_of"]

Key = tuple[str, ...]
_STATES = ("checked", "expanded", "pressed", "selected", "sensitive")
_PASSING = frozenset({"tool tip", "filler", "separator", "scroll bar", "label", "static"})
"""Roles that say nothing of where one is, or come and go by themselves."""
_MARKS = re.compile(r"^[*•●]\s*|\s*[*•●]$|\s*\((modified|read[- ]only)\)", re.IGNORECASE)
_CLOCK = re.compile(r"\d{1,2}\W?[:∶]\d\d(:\d\d)?|\d{5,}")


def title_of(title: str) -> str:
    """A window's title without the mark of a change, times and process numbers."""
    return _CLOCK.sub("#", _MARKS.sub("", title.strip()))


def screen_id(look: Observation) -> str:
    """The hash of windows and named elements with their states and values."""
    windows = sorted(title_of(window.title) for window in look.windows)
    shown = [_told(one) for one in look.elements or () if {"showing", "visible"} & one.states]
    return _hash([windows, sorted(filter(None, shown))])


def state_id(screen: str, changes: Iterable[Change]) -> str:
    """The hash of a screen and of the facts that changed since the fresh start."""
    return _hash([screen, sorted([*one.fact, one.after] for one in changes)])


def _told(element: Element) -> list[str] | None:
    name = called(element)
    if element.role in _PASSING or not (name or element.text):
        return None
    kept = {"selected"} if element.role.endswith(("menu", "menu item")) else set()
    states = [one for one in _STATES if one in element.states - kept]
    return [element.role, title_of(name), _CLOCK.sub("#", element.text), *states]


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, default=str).encode()).hexdigest()[:20]


class Choice(NamedTuple):
    """The act to do next, its ``target``, and what should be offered after it (``then``)."""

    act: Act
    target: Key
    then: Key | None
    tries: int
    """How often the target was tried so far."""


class Frontier:
    """Counts what was tried, and knows what each act led to. All workers share one."""

    def __init__(self) -> None:
        self.counts: Counter[Key] = Counter()
        self.root: frozenset[Key] = frozenset()
        """Keys that the fresh start offers."""
        self.program = ""
        """The program that is explored, as elements tell; empty: not known yet."""
        self._tried: set[tuple[str, Key]] = set()
        self._leads: dict[Key, dict[Key, None]] = {}
        self._forgotten: set[tuple[Key, Key]] = set()
        self._claimed: dict[int, Key] = {}

    def begin(self, screen: str, key: Key) -> None:
        """Count an act, when it is begun: another worker is not to try the same meanwhile."""
        self.counts[key] += 1
        self._tried.add((screen, key))

    def learn(self, key: Key, offered: Iterable[Key]) -> None:
        """Keep what an act led to."""
        self._leads.setdefault(key, {}).update(dict.fromkeys(offered))

    def forget(self, key: Key, then: Key) -> None:
        """Give up a way that did not lead where it did before."""
        self._forgotten.add((key, then))

    def choose(self, worker: int, screen: str, acts: Sequence[Act]) -> Choice | None:
        """The next act: towards the least visited one, the nearest of those, menus first.

        Args:
            worker: who asks; what another one is on the way to is left to it.
            screen: what was tried in this screen is not chosen for its own sake.
            acts: what the screen offers.

        Returns:
            None where nothing is left, here or behind known ways.
        """
        offered: dict[Key, list[Act]] = {}
        for act in acts:
            offered.setdefault(act.key, []).append(act)
        ways = self._ways(offered)
        others = {key for one, key in self._claimed.items() if one != worker}
        depth = {
            key: -len(listed[0].within) if "menu" in listed[0].role else 0
            for key, listed in offered.items()
        }
        targets = [
            (self.counts[key], len(way), depth.get(key, 0), at, key)
            for at, (key, way) in enumerate(ways.items())
            if key not in others and key != ESCAPE.key
            if len(way) > 1 or (screen, key) not in self._tried
        ]
        if not targets:
            return None
        count, *_, target = min(targets)
        way = ways[target]
        self._claimed[worker] = target
        alike = offered[way[0]]
        act = alike[self.counts[way[0]] % len(alike)]
        return Choice(act, target, way[1] if len(way) > 1 else None, count)

    def release(self, worker: int) -> None:
        """A worker is on the way to nothing."""
        self._claimed.pop(worker, None)

    def untried_from_root(self) -> bool:
        """Whether known ways lead from a fresh start to an act that nobody tried."""
        claimed = set(self._claimed.values())
        return any(
            not self.counts[key]
            for key in self._ways(dict.fromkeys(self.root, ()))
            if key not in claimed and key != ESCAPE.key
        )

    def _ways(self, offered: Mapping[Key, object]) -> dict[Key, tuple[Key, ...]]:
        """Each act that can be reached, with the acts to it, itself the last."""
        ways: dict[Key, tuple[Key, ...]] = {key: (key,) for key in offered}
        queue = deque(ways)
        while queue:
            key = queue.popleft()
            for then in self._leads.get(key, ()):
                if then not in ways and (key, then) not in self._forgotten:
                    ways[then] = (*ways[key], then)
                    queue.append(then)
        return ways
