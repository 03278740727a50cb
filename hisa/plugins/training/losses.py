"""Losses of training as plain functions of tensors: step-level GRPO, click GRPO, cloning.

All tensors are float, 1-D [steps], in nats. There is no entropy term. Where a paper is silent the
arithmetic is TRL 1.16's, with which `benchmarks/trl_agreement.py` compares it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Loss", "click_grpo_loss", "cloning_loss", "low_variance_kl", "step_grpo_loss"]

_FARTHEST = 20.0
"""Bound of a difference of log-probabilities before it is raised to e, as in verl: exp(20) is 5e8,
which float32 holds with room for sums."""
_LARGEST_KL = 10.0
"""verl's bound of one step's `low_var_kl`, the estimator that ComputerRL's table 6 names. Above it
the term has no gradient, so that one step far from the reference cannot own a whole update."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A loss with what the curves show of it. Means are taken with the steps' weights.

    Args:
        value: scalar, with gradients; to be minimised.
        kl: mean low-variance KL to the reference; 0 without one.
        ppo_kl: mean of log pi_old - log pi: how far this policy is from the one before the update.
        clipped: share of steps whose gradient the clip takes away.
        margin: mean of log pi - log pi_ref over steps with a positive advantage, less that over
            steps with a negative one (pi_old where there is no reference); 0 where either lacks.
            The paper names an average margin and does not define it.
        importance: mean truncated importance weight; 1 where none is taken.
        capped: share of steps whose importance weight was truncated.
    """

    value: Tensor
    kl: float = 0.0
    ppo_kl: float = 0.0
    clipped: float = 0.0
    margin: float = 0.0
    importance: float = 1.0
    capped: float = 0.0


def low_variance_kl(logprobs: Tensor, ref_logprobs: Tensor) -> Tensor:
    """Returns Schulman's k3 estimate of KL(pi || pi_ref) at each step: e^d - d - 1, d = ref - pi.

    It is never negative; d is bounded to ±20 and the result to 10.
    """
    difference = (ref_logprobs - logprobs).clamp(-_FARTHEST, _FARTHEST)
    return (difference.exp() - difference - 1).clamp(max=_LARGEST_KL)


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
    """Returns minus the step-level GRPO objective (ComputerRL, 3.2, clip and KL of its table 6).

    The value is -sum of weight * (importance * min(ratio * A, clip(ratio) * A) - kl * KL). With the
    weights of `advantages.grouped`, 1 / sum L of a group over the groups, that is the paper's J.
    Weights are taken as they are: to step on a part of a batch, divide the part's by their sum.

    Args:
        logprobs: of the acts under the policy in training, with gradients.
        old_logprobs: under the policy at the start of this update.
        ref_logprobs: under the reference; may be None where ``kl`` is 0.
        advantages: of each step.
        weights: of each step, not negative.
        clip: how far the ratio may fall below 1, and rise above it.
        clip_high: how far it may rise instead, for a higher clip as in DAPO.
        kl: coefficient of the KL, which stands inside the sum and is not importance-weighted.
        behaviour_logprobs: under the version that acted, where that is older than pi_old. Each
            step is then weighted by min(pi_old / pi_behaviour, ``truncate``), without gradient.
        truncate: bound of that weight; 2 as in the paper on truncated importance sampling (Yao et
            al., 2025).

    Raises:
        ValueError: no steps, shapes differ, a number is not finite, or ``kl`` lacks its reference.
    """
    references = [old_logprobs, ref_logprobs, advantages, weights, behaviour_logprobs]
    _check(logprobs, *(tensor for tensor in references if tensor is not None))
    if kl and ref_logprobs is None:
        raise ValueError(f"kl is {kl}, but there are no log-probabilities of a reference")
    high = clip if clip_high is None else clip_high
    log_ratio = logprobs - old_logprobs.detach()
    ratio = log_ratio.clamp(-_FARTHEST, _FARTHEST).exp()
    gain = torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + high) * advantages)
    importance = torch.ones_like(weights)
    if behaviour_logprobs is not None:
        importance = (old_logprobs - behaviour_logprobs).detach().clamp(max=_FARTHEST).exp()
    bounded = importance.clamp(max=truncate)
    divergence = torch.zeros_like(logprobs)
    if ref_logprobs is not None:
        divergence = low_variance_kl(logprobs, ref_logprobs.detach())
    value = -(weights * (bounded * gain - kl * divergence)).sum()

    def mean(quantity: Tensor) -> float:
        return float((weights * quantity.detach()).sum() / weights.sum())

    binds = ((ratio < 1 - clip) & (advantages < 0)) | ((ratio > 1 + high) & (advantages > 0))
    return Loss(
        value,
        kl=mean(divergence),
        ppo_kl=mean(-log_ratio),
        clipped=mean(binds.to(weights.dtype)),
        margin=_margin(
            logprobs, old_logprobs if ref_logprobs is None else ref_logprobs, advantages
        ),
        importance=mean(bounded),
        capped=mean((importance > truncate).to(weights.dtype)),
    )


def click_grpo_loss(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    *,
    clip: float = 0.2,
    clip_high: float | None = None,
) -> Loss:
    """Returns GTA1's loss (eq. 4): the clipped ratio of whole replies, mean over them, no KL.

    Args:
        logprobs: of each whole reply (the sum over its tokens), with gradients. The replies of
            several prompts may be given at once: with N to each, the mean over all of them is the
            mean over prompts.
        old_logprobs: under the policy that sampled them.
        advantages: of each reply, see `advantages.z_scores`.
        clip: as in `step_grpo_loss`.
        clip_high: as in `step_grpo_loss`.

    Raises:
        ValueError: as in `step_grpo_loss`.
    """
    weights = torch.full_like(advantages, 1 / max(advantages.numel(), 1))
    return step_grpo_loss(
        logprobs, old_logprobs, None, advantages, weights, clip=clip, clip_high=clip_high, kl=0.0
    )


def cloning_loss(logprobs: Tensor, weights: Tensor | None = None) -> Tensor:
    """Returns the weighted mean of -log pi over steps, a scalar; the plain mean without weights.

    Raises:
        ValueError: no steps, shapes differ, a number is not finite, or the weights sum to 0.
    """
    weights = torch.ones_like(logprobs) if weights is None else weights
    _check(logprobs, weights)
    if not float(weights.sum()) > 0:
        raise ValueError("the weights of the steps must sum to more than 0")
    return -(weights * logprobs).sum() / weights.sum()


def _margin(logprobs: Tensor, reference: Tensor, advantages: Tensor) -> float:
    """Returns the margin of `Loss`."""
    gained = (logprobs - reference).detach()
    better, worse = gained[advantages > 0], gained[advantages < 0]
    return float(better.mean() - worse.mean()) if len(better) and len(worse) else 0.0


def _check(logprobs: Tensor, *others: Tensor) -> None:
    """Raises ValueError unless all are 1-D, as long as the first, finite, and not empty."""
    if logprobs.dim() != 1 or not len(logprobs):
        raise ValueError(f"log-probabilities must be of shape [steps], not {list(logprobs.shape)}")
    for tensor in (logprobs, *others):
        if tensor.shape != logprobs.shape:
            raise ValueError(f"{list(tensor.shape)} beside {list(logprobs.shape)} steps")
        if not bool(torch.isfinite(tensor).all()):
            raise ValueError("a log-probability, advantage or weight is not finite")
