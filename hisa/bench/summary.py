"""The sums of a bench, from its attempts alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from hisa.bench.ledger import Standing

__all__ = ["Summary", "is_success", "summarise"]

UNUSABLE = ("model_error", "refused", "defect")
"""Ends that say nothing about the agent, where no score came with them."""


def is_success(score: float | None) -> bool:
    """Whether a task counts as done: partial credit is not."""
    return score is not None and score >= 1.0


@dataclass
class Summary:
    """How many slots stand where."""

    slots: int = 0
    scored: int = 0
    """With a score: what success rates are of."""
    succeeded: int = 0
    unscored: int = 0
    """Ended, with no check to score them by."""
    unusable: int = 0
    """Ended by a model, a task file or a defect, without a score."""
    given_up: int = 0
    """Broken machines or dead workers, three times."""
    missing: int = 0
    """Not made yet."""
    attempts: int = 0
    """Tries, those that were lost or broke included."""
    lost: int = 0
    environment_errors: int = 0
    statuses: dict[str, int] = field(default_factory=dict)
    """Of the results."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def summarise(standings: Iterable[Standing]) -> Summary:
    """Count every slot once, and every try."""
    summary, statuses = Summary(), Counter[str]()
    for standing in standings:
        summary.slots += 1
        summary.attempts += len(standing.attempts)
        summary.lost += sum(attempt.lost is not None for attempt in standing.attempts)
        summary.environment_errors += sum(
            attempt.finished is not None and attempt.finished.status == "environment_error"
            for attempt in standing.attempts
        )
        result = standing.result.finished if standing.result else None
        if result is None:
            summary.given_up += standing.given_up
            summary.missing += not standing.given_up
            continue
        statuses[result.status] += 1
        if result.score is not None:
            summary.scored += 1
            summary.succeeded += is_success(result.score)
        elif result.status in UNUSABLE:
            summary.unusable += 1
        else:
            summary.unscored += 1
    summary.statuses = dict(sorted(statuses.items()))
    return summary
