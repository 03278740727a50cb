"""Behaviour cloning: a policy learns the acts of solved episodes (ComputerRL, 3.1).

`strata` chooses the samples; `clone` is the whole training.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import torch

from hisa.errors import UsageError
from hisa.plugins.training.base import Learner, Step
from hisa.plugins.training.training_settings import CloningSettings

__all__ = ["adamw", "clone", "descend", "seed_draws"]


def seed_draws(*numbers: int) -> random.Random:
    """Returns a random generator seeded by these numbers, and seeds torch by them.

    An epoch or an update that is seeded by its number is the same after a resumption.
    """
    draws = random.Random(" ".join(map(str, numbers)))
    torch.manual_seed(draws.getrandbits(63))
    return draws


def adamw(policy: Learner, lr: float) -> torch.optim.Optimizer:
    """Returns a new AdamW optimiser with a constant rate and no weight decay."""
    return torch.optim.AdamW(policy.network.parameters(), lr=lr, weight_decay=0.0)


def descend(policy: Learner, optimizer: torch.optim.Optimizer) -> None:
    """Makes a step along the current gradients, clipped to a norm of 1, and clears them."""
    torch.nn.utils.clip_grad_norm_(policy.network.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()


def clone(
    policy: Learner,
    samples: Sequence[Step],
    settings: CloningSettings,
    optimizer: torch.optim.Optimizer | None = None,
    after_epoch: Callable[[int, float, float], None] = lambda _epoch, _loss, _entropy: None,
    previous: int = 0,
) -> None:
    """Trains a policy on samples; raises its version by one per epoch.

    Args:
        policy: changed in place.
        samples: their acts are learned.
        settings: epochs, batch, rate and seed.
        optimizer: of the policy's weights; None: a new one.
        after_epoch: gets the number of epochs done, and the mean loss and entropy of the last one,
            in nats.
        previous: epochs that an earlier call did with the same settings and samples.

    Raises:
        UsageError: there are no samples.
    """
    if not samples:
        raise UsageError("nothing to clone: no solved episode", fix="hisa train sft --help")
    optimizer = optimizer or adamw(policy, settings.lr)
    for epoch in range(previous, settings.epochs):
        order, losses, entropies = list(samples), 0.0, 0.0
        seed_draws(settings.seed, epoch).shuffle(order)
        for start in range(0, len(order), settings.batch):
            batch = order[start : start + settings.batch]
            for first in range(0, len(batch), settings.steps_at_once):
                logprobs, entropy = policy.log_probs(batch[first : first + settings.steps_at_once])
                (-logprobs.sum() / len(batch)).backward()
                losses -= float(logprobs.detach().sum())
                entropies += float(entropy.detach().sum())
            descend(policy, optimizer)
        policy.version += 1
        after_epoch(epoch + 1, losses / len(order), entropies / len(order))
