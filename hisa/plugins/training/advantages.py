"""The papers' rewards and advantages, as functions without state.

Rewards of steps (ComputerRL, 3.2) and their advantages, (r - mean) / std of a group: mean and
population std (1/n, nothing added) are over *all* steps of a group, so long trajectories weigh
more. A group without spread has no advantages: it is dropped and counted.

GTA1 has the same advantage over replies to one question; its rewards are in `grounder`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from hisa.errors import UsageError
from hisa.plugins.training.episodes import Episode, Sample

__all__ = [
    "Advantaged",
    "grouped",
    "step_advantages",
    "step_rewards",
    "z_scores",
]


def step_rewards(episode: Episode) -> tuple[float, ...]:
    """Returns the reward of each step: 1.0 for well-formed ones of a solved episode, else 0.0.

    The paper rewards correctly formatted actions of a solved trajectory that "contribute to the
    solution", and does not say which do: here all of them. Nothing is discounted.
    """
    return tuple(float(episode.solved and sample.well_formed) for sample in episode.samples)


def z_scores(rewards: Sequence[float]) -> list[float] | None:
    """Returns (r - mean) / std; None without spread; raises ValueError where one is not finite."""
    if not all(map(math.isfinite, rewards)):
        raise ValueError(f"rewards must be finite: {list(rewards)}")
    if not rewards or min(rewards) == max(rewards):
        return None
    mean = math.fsum(rewards) / len(rewards)
    std = math.dist(rewards, [mean] * len(rewards)) / math.sqrt(len(rewards))
    return [(reward - mean) / std for reward in rewards]


def step_advantages(groups: Sequence[Sequence[Sequence[float]]]) -> list[list[list[float]] | None]:
    """Returns the advantages of groups of trajectories of rewards; None for one without spread."""
    shaped: list[list[list[float]] | None] = []
    for group in groups:
        scores = iter(z_scores([*chain(*group)]) or ())
        advantages = [[*islice(scores, len(steps))] for steps in group]
        shaped.append(advantages if any(advantages) else None)
    return shaped


@dataclass(frozen=True, slots=True)
class Advantaged:
    """A batch: the steps of all groups with spread.

    A step weighs 1 / (groups kept * steps of its group): the batch's mean is the mean over groups
    of the mean over a group's steps.
    """

    samples: list[tuple[Sample, float]]  # steps with their advantages
    weights: list[float]  # of the steps; they sum to 1
    dropped: int  # groups with steps, but without spread


def _by_group(episodes: Iterable[Episode]) -> dict[str, list[Episode]]:
    """Returns the members of each group, failed ones too, in the order of coming.

    Raises UsageError for an episode in no group, or in a group that played another instance.
    """
    groups: dict[str, list[Episode]] = {}
    for episode in episodes:
        members = groups.setdefault(episode.draw.group, [])
        members.append(episode)
        first, draw = members[0].draw, episode.draw
        if not draw.group or (first.task, first.seed) != (draw.task, draw.seed):
            reason = f"{draw} is in no group, or in one with {first.task!r}, seed {first.seed}"
            raise UsageError(reason, fix="play each instance as a group of its own, with a name")
    return groups


def grouped(episodes: Iterable[Episode]) -> Advantaged:
    """Returns the steps of all groups with their advantages.

    Raises:
        UsageError: an episode is in no group, or its group played another instance.
    """
    groups = _by_group(episodes).values()
    played = [[member for member in members if member.is_sample] for members in groups]
    shaped = step_advantages([[step_rewards(member) for member in members] for members in played])
    steps = [[sample for member in members for sample in member.samples] for members in played]
    kept = [(group, rows) for group, rows in zip(steps, shaped, strict=True) if rows]
    return Advantaged(
        [pair for group, rows in kept for pair in zip(group, chain(*rows), strict=True)],
        [1 / (len(kept) * len(group)) for group, _ in kept for _ in group],
        dropped=sum(map(bool, steps)) - len(kept),
    )
