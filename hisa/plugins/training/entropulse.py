"""Entropulse: a supervised phase on solved episodes of all versions, in the midst of RL.

ComputerRL, 3.3 and D.1: when RL has made a policy too sure of itself, it is cloned from what was
solved on the way, some trajectories drawn for each unique task, with cloning's settings, 3 epochs
and half the rate. The reference policy becomes the result, and RL goes on. The paper is silent on
the optimiser: here both phases begin with a fresh one.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from hisa.plugins.training.cloning import CloningSettings, clone

if TYPE_CHECKING:
    from hisa.plugins.training.base import Trainable
    from hisa.plugins.training.episodes import Episode, Sample

__all__ = ["DAPO_CLIP_HIGH", "Arm", "Pulse", "PulseSet", "pulse", "pulse_set"]

Arm = Literal["pulse", "control", "higher-clip"]
"""Ways to go on: with the phase; without it, but the reference reset all the same (the paper's
control, figure 6); or like the control and with a higher upper clip."""

DAPO_CLIP_HIGH = 0.28
"""DAPO's (arXiv 2503.14476), which 3.3 tried against the fall of entropy."""


@dataclass(frozen=True, slots=True)
class PulseSet:
    """Solved episodes drawn for a supervised phase.

    Args:
        samples: their well-formed steps.
        solved: solved episodes that there were.
        tasks: unique tasks among them: an instance, name and seed.
        trajectories: drawn.
        versions: of the policies that acted in those, sorted.
    """

    samples: tuple[Sample, ...]
    solved: int
    tasks: int
    trajectories: int
    versions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pulse:
    """Outcome of a supervised phase: what it was made of, and the last epoch's loss and entropy."""

    data: PulseSet
    loss: float
    entropy: float


def pulse_set(
    episodes: Iterable[Episode], *, per_task: int, most_steps: int, draws: random.Random
) -> PulseSet:
    """Draws solved episodes of each unique task, each as likely as any other of its task.

    Episodes that are not solved are passed over. At most `per_task` of each unique task are drawn,
    and of these, whole ones at random, as many as have `most_steps` together.
    """
    kept: dict[tuple[str, int], list[Episode]] = {}
    count: dict[tuple[str, int], int] = {}
    for episode in episodes:
        if not (episode.solved and episode.is_sample):
            continue
        key = (episode.draw.task, episode.draw.seed)
        count[key] = count.get(key, 0) + 1
        chosen = kept.setdefault(key, [])
        if len(chosen) < per_task:
            chosen.append(episode)
        elif (place := draws.randrange(count[key])) < per_task:
            chosen[place] = episode
    trajectories = [episode for chosen in kept.values() for episode in chosen]
    draws.shuffle(trajectories)
    samples: list[Sample] = []
    taken: list[Episode] = []
    for episode in trajectories:
        steps = [sample for sample in episode.samples if sample.well_formed]
        if len(samples) + len(steps) <= most_steps:
            samples += steps
            taken.append(episode)
    versions = sorted({sample.version for episode in taken for sample in episode.samples})
    return PulseSet(tuple(samples), sum(count.values()), len(kept), len(taken), tuple(versions))


def pulse(
    policy: Trainable,
    episodes: Iterable[Episode],
    cloning: CloningSettings,
    *,
    per_task: int = 1,
    most_steps: int = 4000,
    epochs: int = 3,
    seed: int = 0,
) -> Pulse:
    """Clone a policy from solved episodes of all versions; it is changed in place.

    `epochs` and half the rate replace those of `cloning`, the settings of the cloning that it came
    from. See `pulse_set` for `per_task` and `most_steps`.

    Raises:
        UsageError: nothing was solved yet.
    """
    draws = random.Random(f"pulse {seed}")
    data = pulse_set(episodes, per_task=per_task, most_steps=most_steps, draws=draws)
    last = [0.0, 0.0]

    def after_epoch(_epoch: int, loss: float, entropy: float) -> None:
        last[:] = loss, entropy

    clone(
        policy,
        data.samples,
        replace(cloning, epochs=epochs, lr=cloning.lr / 2, seed=seed),
        after_epoch=after_epoch,
    )
    return Pulse(data, *last)
