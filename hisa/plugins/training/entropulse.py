"""Entropulse: a supervised phase on solved episodes of all versions, in the midst of RL.

ComputerRL, 3.3 and D.1: when RL has made a policy too sure of itself, it is cloned from what was
solved on the way, some trajectories drawn for each unique task, with cloning's settings, 3 epochs
and half the rate. The reference policy becomes the result, and RL goes on. The paper is silent on
the optimiser: here both phases begin with a fresh one.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from hisa.plugins.training.base import Trainable
from hisa.plugins.training.cloning import CloningSettings, clone
from hisa.plugins.training.episodes import Episode
from hisa.plugins.training.strata import CloningSet, cloning_set

__all__ = ["DAPO_CLIP_HIGH", "Arm", "pulse", "pulse_set"]

Arm = Literal["pulse", "control", "higher-clip"]
"""Ways to go on: with the phase; without it, but the reference reset all the same (the paper's
control, figure 6); or like the control and with a higher upper clip."""
DAPO_CLIP_HIGH = 0.28
"""DAPO's (arXiv 2503.14476), which 3.3 tried against the fall of entropy."""
_EPOCHS = 3


def pulse_set(episodes: Iterable[Episode], draws: random.Random, per_task: int) -> CloningSet:
    """Returns at most `per_task` solved episodes of each unique task, all of a task as likely.

    A unique task is an instance: a name and a seed.
    """
    kept: dict[tuple[str, int], list[Episode]] = {}
    count: Counter[tuple[str, int]] = Counter()
    for episode in filter(lambda episode: episode.solved, episodes):
        key = (episode.draw.task, episode.draw.seed)
        count[key] += 1
        chosen = kept.setdefault(key, [])
        if len(chosen) < per_task:
            chosen.append(episode)
        elif (place := draws.randrange(count[key])) < per_task:
            chosen[place] = episode
    return cloning_set(episode for chosen in kept.values() for episode in chosen)


def pulse(
    policy: Trainable, episodes: Iterable[Episode], cloning: CloningSettings, per_task: int
) -> tuple[CloningSet, float, float]:
    """Clone a policy from solved episodes; returns them, and the last epoch's loss and entropy.

    Raises:
        UsageError: nothing was solved yet.
    """
    data = pulse_set(episodes, random.Random(f"pulse {cloning.seed}"), per_task)
    epochs: list[tuple[float, float]] = []
    settings = replace(cloning, epochs=_EPOCHS, lr=cloning.lr / 2)
    clone(policy, data.samples, settings, after_epoch=lambda _, *means: epochs.append(means))
    return data, *epochs[-1]
