"""Strata of tasks by outcome, and the set for cloning (ComputerRL, 3.1).

A task here is an instance, a name with a seed; in the paper it is an instruction with its check.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from hisa.plugins.training.base import Choice, Draw, Episode, Look, Policy, Rollouts, Step

__all__ = ["CloningSet", "PooledPolicy", "Strata", "by_outcome", "cloning_set", "collect"]

Task = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Strata:
    """Tasks with all, some or no episodes solved, and those whose machines all failed."""

    full: list[Task]
    partial: list[Task]
    none: list[Task]
    unseen: list[Task]


@dataclass(frozen=True, slots=True)
class CloningSet:
    """Well-formed steps of solved episodes.

    ``counts`` has "tasks", "episodes", "steps" and "steps by NAME" of a policy, and counts of what
    is left out: episodes "unsolved" and "failed", steps "malformed".
    """

    samples: list[Step]
    counts: Counter[str]


def by_outcome(episodes: Iterable[Episode]) -> Strata:
    """Returns the strata; an episode whose machine failed says nothing about its task."""
    outcomes: dict[Task, set[bool]] = defaultdict(set)
    for episode in episodes:
        outcomes[episode.draw.task, episode.draw.seed].update([episode.solved] * episode.is_sample)
    strata: list[set[bool]] = [{True}, {True, False}, {False}, set()]
    return Strata(
        *([task for task, results in outcomes.items() if results == kind] for kind in strata)
    )


def cloning_set(episodes: Iterable[Episode]) -> CloningSet:
    """Returns the well-formed steps of all solved episodes."""
    counts: Counter[str] = Counter()
    samples: list[Step] = []
    tasks = set()
    for episode in episodes:
        if not (episode.is_sample and episode.solved):
            counts["unsolved" if episode.is_sample else "failed"] += 1
            continue
        well_formed = [sample for sample in episode.samples if sample.well_formed]
        samples += well_formed
        tasks.add((episode.draw.task, episode.draw.seed))
        counts.update(
            {
                "episodes": 1,
                "steps": len(well_formed),
                f"steps by {episode.policy}": len(well_formed),
            }
        )
        counts["malformed"] += len(episode.samples) - len(well_formed)
    counts["tasks"] = len(tasks)
    return CloningSet(samples, counts)


class PooledPolicy:
    """A policy that draws one policy of a pool for each action."""

    def __init__(self, policies: Sequence[Policy], seed: int) -> None:
        self._policies, self._rng = list(policies), random.Random(seed)
        self.name = "pool of " + ", ".join(policy.name for policy in policies)
        self.version = sum(policy.version for policy in policies)

    def choose(self, looks: Sequence[Look], *, greedy: bool = False) -> list[Choice]:
        """Returns an action for each look, by a policy drawn for it."""
        choose = self._rng.choice
        return [choose(self._policies).choose([look], greedy=greedy)[0] for look in looks]


def collect(
    rollouts: Rollouts,
    policies: Sequence[Policy],
    draws: Sequence[Draw],
    tune: Callable[[CloningSet], Policy],
    *,
    first: int = 2,
    more: int = 4,
    seed: int = 0,
) -> tuple[Strata, list[Episode]]:
    """Plays tasks in two samplings, the second one by strata (ComputerRL, 3.1).

    First every policy plays every draw. Then a tuned policy plays the partly solved tasks, and the
    pool of policies plays the unsolved ones. The paper gives no numbers of episodes.

    Args:
        rollouts: play the episodes.
        policies: of the first sampling, and of the pool.
        draws: the tasks.
        tune: returns a policy trained on the solved episodes of the first sampling.
        first: episodes of each policy and draw in the first sampling.
        more: episodes of each draw in the second sampling.
        seed: of the pool's draws.

    Returns:
        The strata after the first sampling, and the episodes of both, for `cloning_set`.
    """

    def play(policy: Policy, times: int, chosen: list[Task]) -> Iterable[Episode]:
        """Plays the ``chosen`` tasks with a ``policy``, several ``times``."""
        played = [draw for draw in draws if (draw.task, draw.seed) in chosen] * times
        return rollouts.play([replace(draw, group="", member=0) for draw in played], policy)

    tasks = [(draw.task, draw.seed) for draw in draws]
    episodes = [episode for policy in policies for episode in play(policy, first, tasks)]
    strata = by_outcome(episodes)
    tuned = play(tune(cloning_set(episodes)), more, strata.partial) if strata.partial else ()
    pooled = play(PooledPolicy(policies, seed), more, strata.none) if strata.none else ()
    return strata, [*episodes, *tuned, *pooled]
