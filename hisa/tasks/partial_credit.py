"""Computes how much of a HiSA task was done, by the weights of its checks.

The score of a run says whether the task was done, and every check must hold for that. The partial
score is a second number beside it: the weighted mean of the checks, as OS-Catalyst's partial
success rate needs it (section 4.4 of that paper).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Graded", "partial_score", "require_all_weights"]


class Graded(NamedTuple):
    """A check that was carried out."""

    score: float
    """From 0 to 1; the check holds at 1."""
    weight: float | None = None
    """Positive; None if no check of the list has one, and all count the same."""
    needs_all: bool = False
    """Whether it counts only if every other check holds."""


def partial_score(checks: Sequence[Graded]) -> float:
    """Returns the weighted mean of the checks, from 0 to 1; exactly 1 if all of them hold.

    Args:
        checks: at least one; their weights need not sum to 1.
    """
    weights = [1.0 if check.weight is None else check.weight for check in checks]
    largest = max(weights)  # dividing by it keeps a sum of huge weights from overflowing
    shares = [weight / largest for weight in weights]
    failing = sum(check.score < 1.0 for check in checks)
    earned = [
        share * check.score
        for share, check in zip(shares, checks, strict=True)
        if not check.needs_all or failing == (check.score < 1.0)
    ]
    return math.fsum(earned) / math.fsum(shares)


def require_all_weights(weights: Sequence[float | None]) -> None:
    """Refuses a list in which some checks have a weight and others have none.

    Raises:
        ValueError: only some of the checks have a weight.
    """
    weight_count = sum(weight is not None for weight in weights)
    if 0 < weight_count < len(weights):
        raise ValueError(
            f"{weight_count} of {len(weights)} checks have a weight; "
            "give every check a weight, or none"
        )
