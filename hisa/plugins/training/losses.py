"""Losses as plain functions of tensors, all float, [steps], in nats; none has an entropy term."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Loss", "click_grpo_loss", "cloning_loss", "step_grpo_loss"]

_FARTHEST, _LARGEST_KL = 20.0, 10.0
"""verl's bounds of a difference of log-probabilities before it is raised to e, and of a step's
`low_var_kl` (ComputerRL's table 6 names it), above which that has no gradient; TRL has neither."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A loss to be minimised, a scalar with gradients, and means of it by the steps' weights.

    ``kl`` is to the reference (0 without one), ``ppo_kl`` the mean of log pi_old - log pi,
    ``clipped`` the share of steps whose gradient the clip takes, ``capped`` that of truncated ones.
    """

    value: Tensor
    kl: float
    ppo_kl: float
    clipped: float
    capped: float


def step_grpo_loss(
    logprobs: Tensor,
    old_logprobs: Tensor,
    ref_logprobs: Tensor | None,
    advantages: Tensor,
    weights: Tensor,
    *,
    clip: float = 0.2,
    clip_high: float | None = None,
    kl: float = 0.0003,
    behaviour_logprobs: Tensor | None = None,
    truncate: float = 2.0,
) -> Loss:
    """Returns minus step-level GRPO's objective (ComputerRL, 3.2; clip and KL by its table 6).

    -sum of weight * (importance * min(ratio * A, clip(ratio) * A) - kl * KL): J with the weights of
    `advantages.grouped`. To step on a part of a batch, divide the part's weights by their sum.

    Args:
        logprobs: of each act (of a reply: the sum over tokens), with gradients.
        old_logprobs: by the policy before this update.
        ref_logprobs: by the reference; may be None where ``kl`` is 0.
        advantages: of each step.
        weights: of each step, not negative.
        clip: how far the ratio counts below 1, and above.
        clip_high: how far above, where that differs.
        kl: coefficient of the KL, by k3: e^d - d - 1 with d = log pi_ref - log pi.
        behaviour_logprobs: by the version that acted, where that is not pi_old: importance is then
            min(pi_old / pi_behaviour, truncate), a constant.
        truncate: 2, as first published (Yao et al., 2025); TRL has 3.

    Raises:
        ValueError: no steps, shapes differ, a number is not finite, or no reference for the KL.
    """
    behaviour = old_logprobs if behaviour_logprobs is None else behaviour_logprobs
    reference = old_logprobs if ref_logprobs is None else ref_logprobs
    _check(logprobs, old_logprobs, reference, advantages, weights, behaviour)
    if kl and ref_logprobs is None:
        raise ValueError(f"kl is {kl}, but there are no log-probabilities of a reference")
    low, high = 1 - clip, 1 + (clip if clip_high is None else clip_high)
    ratio = (logprobs - old_logprobs.detach()).clamp(-_FARTHEST, _FARTHEST).exp()
    gain = torch.minimum(ratio * advantages, ratio.clamp(low, high) * advantages)
    importance = (old_logprobs - behaviour).detach().clamp(max=_FARTHEST).exp()
    gap = (reference.detach() - logprobs).clamp(-_FARTHEST, _FARTHEST)
    divergence = (gap.exp() - gap - 1).clamp(max=_LARGEST_KL) * (ref_logprobs is not None)
    value = -(weights * (importance.clamp(max=truncate) * gain - kl * divergence)).sum()
    clipped = ((ratio < low) & (advantages < 0)) | ((ratio > high) & (advantages > 0))
    means = (divergence, old_logprobs - logprobs, clipped, importance > truncate)
    share = (weights / weights.sum()).detach()
    return Loss(value, *(float((share * quantity.detach()).sum()) for quantity in means))


def click_grpo_loss(
    logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor, *, clip: float = 0.2
) -> Loss:
    """Returns GTA1's loss (eq. 4): clipped ratio of whole replies, mean over them, no KL.

    With N replies to each of several prompts, that is the mean over prompts. Raises as above.
    """
    weights = torch.full_like(logprobs, 1 / max(len(logprobs), 1)).detach()
    return step_grpo_loss(logprobs, old_logprobs, None, advantages, weights, clip=clip, kl=0.0)


def cloning_loss(logprobs: Tensor, weights: Tensor | None = None) -> Tensor:
    """Returns the weighted mean of -log pi, a scalar; raises as above."""
    weights = torch.ones_like(logprobs) if weights is None else weights
    _check(logprobs, weights)
    return -(weights * logprobs).sum() / weights.sum()


def _check(*tensors: Tensor) -> None:
    shapes = {tuple(tensor.shape) for tensor in tensors}
    if len(shapes) > 1 or tensors[0].dim() != 1 or not len(tensors[0]):
        raise ValueError(f"tensors must all be [steps], with at least one step, not {shapes}")
    if not all(bool(torch.isfinite(tensor).all()) for tensor in tensors):
        raise ValueError("a log-probability, advantage or weight is not finite")
