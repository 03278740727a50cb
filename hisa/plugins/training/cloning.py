"""Behaviour cloning: a policy learns the acts of solved episodes (ComputerRL, 3.1)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hisa.errors import UsageError

if TYPE_CHECKING:
    import torch

    from hisa.plugins.training.base import Trainable
    from hisa.plugins.training.episodes import Sample

__all__ = ["CloningSettings", "clone", "cloning_optimizer", "seeded"]


@dataclass(frozen=True, slots=True)
class CloningSettings:
    """Settings of cloning.

    Args:
        epochs: over all samples; the paper has 3 of 180,000 steps. With 6 demonstrations a page
            fewer than 30 teach nothing (3 epochs: tried by hand).
        batch: samples a step of the optimiser.
        lr: constant rate of AdamW, without weight decay.
        grad_norm: to which gradients are cut.
    """

    epochs: int = 30
    batch: int = 16
    lr: float = 1e-3
    grad_norm: float = 1.0
    seed: int = 0


def seeded(*numbers: int) -> random.Random:
    """Returns draws that depend on these numbers alone, and seeds torch by them.

    An epoch or an update seeded by its number is the same in a run that was stopped before it.
    """
    import torch

    draws = random.Random(" ".join(map(str, numbers)))
    torch.manual_seed(draws.getrandbits(63))
    return draws


def cloning_optimizer(policy: Trainable, settings: CloningSettings) -> torch.optim.Optimizer:
    """Returns a fresh AdamW."""
    import torch

    return torch.optim.AdamW(policy.network.parameters(), lr=settings.lr, weight_decay=0.0)


def clone(
    policy: Trainable,
    samples: Sequence[Sample],
    settings: CloningSettings,
    optimizer: torch.optim.Optimizer | None = None,
    *,
    done: int = 0,
    after_epoch: Callable[[int, float, float], None] = lambda _epoch, _loss, _entropy: None,
) -> float:
    """Train a policy on samples; returns the mean loss of the last epoch, in nats.

    Args:
        policy: changed in place; its version goes up by one an epoch.
        done: epochs that an earlier call has done, with the same settings and samples.
        after_epoch: gets the number of epochs done, the mean loss and the mean entropy.

    Raises:
        UsageError: there are no samples.
    """
    import torch

    from hisa.plugins.training.losses import cloning_loss

    if not samples:
        raise UsageError("nothing to clone: no solved episode", fix="more --demonstrations")
    optimizer = optimizer or cloning_optimizer(policy, settings)
    loss = 0.0
    for epoch in range(done, settings.epochs):
        order = list(samples)
        seeded(settings.seed, epoch).shuffle(order)
        losses = entropies = 0.0
        for start in range(0, len(order), settings.batch):
            batch = order[start : start + settings.batch]
            logprobs, entropy = policy.log_probs(batch)
            value = cloning_loss(logprobs)
            optimizer.zero_grad()
            value.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(policy.network.parameters(), settings.grad_norm)
            optimizer.step()
            losses += float(value.detach()) * len(batch)
            entropies += float(entropy.detach().sum())
        policy.version += 1
        loss = losses / len(order)
        after_epoch(epoch + 1, loss, entropies / len(order))
    return loss
