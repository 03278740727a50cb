"""Which groups may begin, and which an update uses, by the age of their episodes (ComputerRL, 2.3).

The age of an episode is the trainer's version less the version of its first action. By
``admission`` a group begins only where every group that is in flight or waiting can still be used
within the bound, and the trainer waits for a group that is due, so that no finished rollout is
thrown away. ``discard`` begins all, and throws finished groups above the bound away: it is there to
be compared with. A member whose machine failed again and again is lost, and a group that is left
with fewer than two is dropped and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hisa.plugins.training.episodes import Draw, Episode

__all__ = ["Admission", "Terms", "feasible"]

_TRIES = 3
"""Times that a draw is played whose worker dies or whose machine fails."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Rules of admission."""

    batch: int  # groups of an update
    bound: int = 1  # on the age of an episode in use, in updates; 0: on-policy
    mode: Literal["admission", "discard"] = "admission"


def feasible(due: Sequence[int], version: int, batch: int) -> bool:
    """Whether updates of ``batch`` groups from ``version`` on can use every group in time.

    ``due`` has the last version at which each group may be used, ascending.
    """
    return all(last >= version + place // batch for place, last in enumerate(due))


@dataclass(slots=True)
class _Group:
    first: int  # version that it was begun by
    unfinished: int
    episodes: list[Episode] = field(default_factory=list)


class Admission:
    """The groups that were begun and not yet used; a draw of a group is admitted before it is used.

    ``counts`` has groups that were ``short`` of members; episodes that are ``done``, ``again``
    (played once more), ``lost`` (out of tries) and ``thrown`` away for their age; and how often the
    bound ``held_back`` a group.
    """

    def __init__(self, terms: Terms, group_size: int, version: int) -> None:
        self.terms, self.counts = terms, Counter[str]()
        self._size, self._version = group_size, version
        self._groups: dict[str, _Group] = {}
        self._tries: Counter[Draw] = Counter()

    def admit(self, draw: Draw, version: int) -> bool:
        """Whether a draw may be played by this version now; if so, its group has begun."""
        if draw.group not in self._groups:
            begun = [group.first for group in self._groups.values()]
            if not self._in_time([*begun, version], self._version):
                self.counts["held_back"] += 1
                return False
            self._groups[draw.group] = _Group(version, self._size)
        return True

    def finish(self, draw: Draw, episode: Episode | None) -> bool:
        """Keep the episode of a draw; False: there is none, and the draw is to be played again."""
        group = self._groups[draw.group]
        if episode is None or not episode.is_sample or not episode.samples:
            self._tries[draw] += 1
            again = self._tries[draw] < _TRIES
            self.counts["again" if again else "lost"] += 1
            group.unfinished -= not again
            return not again
        self.counts["done"] += 1
        group.episodes.append(episode)
        group.unfinished -= 1
        return True

    def take(self) -> list[Episode] | None:
        """Takes the episodes of the next update, of the oldest groups; None: wait for more."""
        self._drop()
        oldest = sorted(self._groups, key=lambda name: self._groups[name].first)
        chosen = [name for name in oldest if not self._groups[name].unfinished]
        chosen = chosen[: self.terms.batch]
        left = [self._groups[name].first for name in oldest if name not in chosen]
        if len(chosen) < self.terms.batch or not self._in_time(left, self._version + 1):
            return None
        self._version += 1
        return [episode for name in chosen for episode in self._groups.pop(name).episodes]

    def publish(self, version: int) -> None:
        """Set the version that the next update is made from."""
        self._version = version

    def _drop(self) -> None:
        """Drop finished groups that are too short, or by discarding too old."""
        for name, group in list(self._groups.items()):
            old = self.terms.mode == "discard" and self._version - group.first > self.terms.bound
            if not group.unfinished and (old or len(group.episodes) < 2):
                short = len(group.episodes) < 2
                self.counts.update(short=short, thrown=0 if short else len(group.episodes))
                del self._groups[name]

    def _in_time(self, first: Iterable[int], version: int) -> bool:
        due = sorted(at + self.terms.bound for at in first)
        return self.terms.mode == "discard" or feasible(due, version, self.terms.batch)
