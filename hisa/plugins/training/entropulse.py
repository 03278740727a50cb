"""Entropulse: a supervised phase on solved episodes of all versions, in the midst of RL.

ComputerRL, 3.3 and D.1: when RL has made a policy too sure of itself, it is cloned from what was
solved on the way, some trajectories drawn for each unique task, with cloning's settings, 3 epochs
and half the rate. The reference policy becomes the result, and RL goes on. The paper is silent on
the optimiser: here both phases begin with a fresh one.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, NamedTuple

from hisa.plugins.training.base import Trainable
from hisa.plugins.training.cloning import CloningSettings, clone
from hisa.plugins.training.episodes import Episode, Sample

__all__ = ["DAPO_CLIP_HIGH", "Arm", "PulseSet", "pulse", "pulse_set"]

Arm = Literal["pulse", "control", "higher-clip"]
"""Ways to go on: with the phase; without it, but the reference reset all the same (the paper's
control, figure 6); or like the control and with a higher upper clip."""
DAPO_CLIP_HIGH = 0.28
"""DAPO's (arXiv 2503.14476), which 3.3 tried against the fall of entropy."""
_EPOCHS = 3
_MOST_STEPS = 4000
"""Of a phase: 10 seconds of one core an epoch."""


class PulseSet(NamedTuple):
    """Well-formed steps of the trajectories drawn of all solved ones, and their policies' versions.

    A unique task is an instance: a name and a seed.
    """

    samples: list[Sample]
    solved: int
    tasks: int
    trajectories: int
    versions: set[int]


def pulse_set(
    episodes: Iterable[Episode], draws: random.Random, *, per_task: int, most_steps: int
) -> PulseSet:
    """Draws at most `per_task` solved episodes of each unique task, all of a task as likely.

    Of these, at random, as many whole ones are taken as have `most_steps` together.
    """
    kept: dict[tuple[str, int], list[Episode]] = {}
    count: dict[tuple[str, int], int] = {}
    for episode in episodes:
        key = (episode.draw.task, episode.draw.seed)
        if not (episode.solved and episode.is_sample):
            continue
        count[key] = count.get(key, 0) + 1
        chosen = kept.setdefault(key, [])
        if len(chosen) < per_task:
            chosen.append(episode)
        elif (place := draws.randrange(count[key])) < per_task:
            chosen[place] = episode
    trajectories = [episode for chosen in kept.values() for episode in chosen]
    draws.shuffle(trajectories)
    samples: list[Sample] = []
    taken, versions = 0, set[int]()
    for episode in trajectories:
        steps = [sample for sample in episode.samples if sample.well_formed]
        if len(samples) + len(steps) <= most_steps:
            samples += steps
            taken += 1
            versions |= {sample.version for sample in steps}
    return PulseSet(samples, sum(count.values()), len(kept), taken, versions)


def pulse(
    policy: Trainable, episodes: Iterable[Episode], cloning: CloningSettings, per_task: int
) -> tuple[PulseSet, float, float]:
    """Clone a policy from solved episodes; returns them, and the last epoch's loss and entropy.

    Raises:
        UsageError: nothing was solved yet.
    """
    draws = random.Random(f"pulse {cloning.seed}")
    data = pulse_set(episodes, draws, per_task=per_task, most_steps=_MOST_STEPS)
    epochs: list[tuple[float, float]] = []
    settings = replace(cloning, epochs=_EPOCHS, lr=cloning.lr / 2)
    clone(policy, data.samples, settings, after_epoch=lambda _, *means: epochs.append(means))
    return data, *epochs[-1]
