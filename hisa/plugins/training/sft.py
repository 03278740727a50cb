"""Behaviour cloning: a policy learns the acts of solved episodes (ComputerRL, 3.1).

What is to be cloned is chosen by `strata`; `clone` is the whole of the training.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import torch

from hisa.errors import UsageError
from hisa.plugins.training.base import Sample, Trainable
from hisa.plugins.training.training_settings import CloningSettings

__all__ = ["adamw", "clone", "descend", "seed_draws"]


def seed_draws(*numbers: int) -> random.Random:
    """Returns draws that these numbers alone decide, and seeds torch by them.

    An epoch or an update seeded by its number is the same in a run that was stopped before it.
    """
    draws = random.Random(" ".join(map(str, numbers)))
    torch.manual_seed(draws.getrandbits(63))
    return draws


def adamw(policy: Trainable, lr: float) -> torch.optim.Optimizer:
    """Returns a fresh optimiser of a constant rate, without weight decay."""
    return torch.optim.AdamW(policy.network.parameters(), lr=lr, weight_decay=0.0)


def descend(policy: Trainable, optimizer: torch.optim.Optimizer) -> None:
    """Take a step along the gradients that there are, cut to a norm of 1, and clear them."""
    torch.nn.utils.clip_grad_norm_(policy.network.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()


def clone(
    policy: Trainable,
    samples: Sequence[Sample],
    settings: CloningSettings,
    optimizer: torch.optim.Optimizer | None = None,
    after_epoch: Callable[[int, float, float], None] = lambda _epoch, _loss, _entropy: None,
    previous: int = 0,
) -> None:
    """Train a policy on samples; its version goes up by one an epoch.

    `after_epoch` gets the number of epochs done, and the mean loss and entropy of the last one, in
    nats; `previous` counts the epochs that an earlier call did with the same settings and samples.

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
            logprobs, entropy = policy.log_probs(order[start : start + settings.batch])
            (-logprobs.mean()).backward()
            descend(policy, optimizer)
            losses -= float(logprobs.detach().sum())
            entropies += float(entropy.detach().sum())
        policy.version += 1
        after_epoch(epoch + 1, losses / len(order), entropies / len(order))
