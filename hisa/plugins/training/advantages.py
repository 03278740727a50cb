"""Advantages at the level of steps (ComputerRL, 3.2), and of replies (GTA1, eq. 3).

A = (r - mean) / std over *all* steps of a group, so that long trajectories weigh more in the mean.
The standard deviation is that of a population (1/n), with nothing added to it. A group without
spread has no advantages: it is left out and counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hisa.errors import UsageError
from hisa.plugins.training.episodes import Episode, Sample
from hisa.plugins.training.step_rewards import step_rewards

__all__ = ["Advantaged", "by_group", "grouped", "step_advantages", "z_scores"]


def z_scores(rewards: Sequence[float]) -> tuple[float, ...] | None:
    """Returns (r - mean) / std with the population's std; None where all rewards are alike.

    Raises:
        ValueError: a reward is not finite.
    """
    if not all(map(math.isfinite, rewards)):
        raise ValueError(f"rewards must be finite: {list(rewards)}")
    if not rewards or min(rewards) == max(rewards):
        return None
    mean = math.fsum(rewards) / len(rewards)
    std = math.sqrt(math.fsum((reward - mean) ** 2 for reward in rewards) / len(rewards))
    return tuple((reward - mean) / std for reward in rewards) if std else None


def step_advantages(
    groups: Sequence[Sequence[Sequence[float]]],
) -> list[list[list[float]] | None]:
    """Returns the advantage of each step of each trajectory of each group.

    Args:
        groups: each group's trajectories, each the rewards of its steps; lengths may differ.

    Returns:
        The same shape; None for a group without spread.
    """
    shaped: list[list[list[float]] | None] = []
    for trajectories in groups:
        scores = z_scores([reward for rewards in trajectories for reward in rewards])
        remaining = iter(scores or ())
        shaped.append(
            [[next(remaining) for _ in rewards] for rewards in trajectories] if scores else None
        )
    return shaped


@dataclass(frozen=True, slots=True)
class Advantaged:
    """The steps of all groups with spread, as one batch.

    Args:
        samples: each step with its advantage.
        weights: of each step, 1 / (groups kept * steps of its group): the batch's mean is the mean
            over groups of the mean over a group's steps, and the weights sum to 1.
        kept: groups with spread.
        dropped: groups with steps but without spread.
        empty: groups without a step, because every machine failed or no step was taken.
        failed: episodes left out because their machine failed.
    """

    samples: list[tuple[Sample, float]]
    weights: list[float]
    kept: int = 0
    dropped: int = 0
    empty: int = 0
    failed: int = 0


def by_group(episodes: Iterable[Episode]) -> dict[str, list[Episode]]:
    """Returns the members of each group, failed ones too, groups in the order of their first.

    Raises:
        UsageError: an episode is in no group, or a group's members played different instances.
    """
    groups: dict[str, list[Episode]] = {}
    for episode in episodes:
        draw = episode.draw
        if not draw.group:
            raise UsageError(
                f"an episode of {draw.task!r}, seed {draw.seed}, is in no group",
                fix="play each instance several times under one name: Draw(..., group=, member=)",
            )
        members = groups.setdefault(draw.group, [])
        members.append(episode)
        first = members[0].draw
        if (first.task, first.seed) != (draw.task, draw.seed):
            raise UsageError(
                f"group {draw.group!r} mixes {first.task!r} seed {first.seed} with "
                f"{draw.task!r} seed {draw.seed}; members of a group share task and seed",
                fix="give each instance a group of its own",
            )
    return groups


def grouped(episodes: Iterable[Episode]) -> Advantaged:
    """Returns every step with its advantage; see `Advantaged` for what is left out and counted.

    Raises:
        UsageError: see `by_group`.
    """
    groups = by_group(episodes)
    played = [[member for member in members if member.is_sample] for members in groups.values()]
    shaped = step_advantages([[step_rewards(member) for member in members] for members in played])
    kept = [(members, rows) for members, rows in zip(played, shaped, strict=True) if rows]
    samples: list[tuple[Sample, float]] = []
    weights: list[float] = []
    for members, rows in kept:
        steps = [sample for member in members for sample in member.samples]
        samples += zip(steps, (advantage for row in rows for advantage in row), strict=True)
        weights += [1 / (len(kept) * len(steps))] * len(steps)
    empty = sum(not any(member.samples for member in members) for members in played)
    return Advantaged(
        samples,
        weights,
        kept=len(kept),
        dropped=len(played) - len(kept) - empty,
        empty=empty,
        failed=sum(map(len, groups.values())) - sum(map(len, played)),
    )
