"""The sums of a bench, from its attempts alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from hisa.outcomes.endings import Ending, is_success
from hisa.plugins.benchmarks.bench.ledger import SlotState

__all__ = ["UNUSABLE", "Summary", "summarise"]

UNUSABLE: tuple[Ending, ...] = ("model_error", "refused", "defect")
"""Endings that say nothing about the agent, unless a score came with them."""


@dataclass
class Summary:
    """Counts of slots by what became of them."""

    slots: int = 0
    scored: int = 0
    """With a score: success rates are shares of these."""
    succeeded: int = 0
    no_check: int = 0
    """Ended, with no check to score them by."""
    score_failed: int = 0
    """Ended, and the check could not be carried out."""
    unusable: int = 0
    """Ended by a model, a task file or a defect, without a score."""
    unscored: int = 0
    """Ended in another way, and nobody scored them."""
    given_up: int = 0
    """Machine or worker broke three times."""
    missing: int = 0
    """Not made yet."""
    attempts: int = 0
    """Tries, those that were lost or broke included."""
    lost: int = 0
    environment_errors: int = 0

    def words(self) -> str:
        """Returns all sums that are not 0, in one line."""
        counts = (
            (self.no_check, "without a check"),
            (self.score_failed, "whose check failed"),
            (self.unscored, "not scored"),
            (self.unusable, "ended by a model, a task or a defect"),
            (self.given_up, "given up"),
            (self.missing, "not run yet"),
            (self.environment_errors, "tries broke a machine"),
            (self.lost, "tries were lost"),
        )
        more = "".join(f", {count} {description}" for count, description in counts if count)
        return f"{self.succeeded} of {self.scored} scored succeeded, of {self.slots} planned{more}"

    def as_dict(self) -> dict[str, Any]:
        """Returns the sums as plain data."""
        return asdict(self)


def summarise(slot_states: Iterable[SlotState]) -> Summary:
    """Count every slot once, and every try."""
    summary = Summary()
    for slot_state in slot_states:
        summary.slots += 1
        summary.attempts += len(slot_state.attempts)
        summary.lost += sum(attempt.lost is not None for attempt in slot_state.attempts)
        summary.environment_errors += sum(
            attempt.finished is not None and attempt.finished.status == "environment_error"
            for attempt in slot_state.attempts
        )
        result = slot_state.result.finished if slot_state.result else None
        if result is None:
            summary.given_up += slot_state.given_up
            summary.missing += not slot_state.given_up
            continue
        if result.score_state == "scored":
            summary.scored += 1
            summary.succeeded += is_success(result.status, result.score_state, result.score)
        elif result.status in UNUSABLE:
            summary.unusable += 1
        else:
            summary.no_check += result.score_state == "no_check"
            summary.score_failed += result.score_state == "score_failed"
            summary.unscored += result.score_state == "unscored"
    return summary
