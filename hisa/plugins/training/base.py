"""The seams of training: policies, rollouts, and networks that can be trained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from hisa.plugins.training.episodes import Choice, Draw, Episode, Look, Sample

if TYPE_CHECKING:
    from pathlib import Path

    import torch

__all__ = ["Policy", "Rollouts", "Trainable"]


class Policy(Protocol):
    """Chooses actions, for many looks at once."""

    name: str
    version: int
    """Counted up with each update of its weights."""

    def choose(self, looks: Sequence[Look], *, greedy: bool = False) -> list[Choice]:
        """Returns an action for each look: the likeliest, or one drawn at temperature 1.

        ``version`` is afterwards that of the weights which chose.
        """
        ...


class Rollouts(Protocol):
    """A source of episodes. One conformance suite holds all of them to this."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names that a `Draw` may have."""
        ...

    def play(
        self, draws: Sequence[Draw], policy: Policy, *, greedy: bool = False
    ) -> Iterator[Episode]:
        """Yields an episode for each draw, in the order in which they end.

        The policy is asked anew at each step, so its weights may change while this goes on. A
        machine that fails gives an episode without a score.

        Raises:
            UsageError: a draw names a task that is not here.
        """
        ...

    def close(self) -> None:
        """Give back browsers and machines."""
        ...


class Trainable(Policy, Protocol):
    """A policy with a network in torch."""

    @property
    def network(self) -> torch.nn.Module:
        """The weights."""
        ...

    def log_probs(self, samples: Sequence[Sample]) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the log-probability of each sample's act and the entropy there, float32 [n].

        With gradients, at temperature 1; see `Choice`.
        """
        ...

    def reseed(self, seed: int) -> None:
        """Begin its sampling anew, so that the same looks get the same acts."""
        ...

    def copy(self) -> Trainable:
        """Returns another with the same weights and version, sharing nothing."""
        ...

    def save(self, path: Path) -> None:
        """Write a checkpoint; a reader sees the old one or the new one."""
        ...
