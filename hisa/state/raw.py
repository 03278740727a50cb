"""Level 1 left out: a step's line is its log as it is (HiSA, table 5)."""

from __future__ import annotations

from hisa.observation import Observation
from hisa.protocols import GroundedCall, Outcome
from hisa.state.lines import history_line
from hisa.state.roi import changed_box
from hisa.state.steps import AbstractedStep
from hisa.state.text import field_text

__all__ = ["RAW_TOKENS", "RawLog"]

RAW_TOKENS = 4000
"""Hard limit of a raw line: what a tool printed may be a whole file."""


class RawLog:
    """Writes down what a tool reported, and asks no model; see `hisa.state.steps.Abstractor`."""

    async def abstract(
        self,
        step: int,
        call: GroundedCall,
        looks: tuple[Observation, Observation],
        outcome: Outcome,
    ) -> AbstractedStep:
        """See `Abstractor`."""
        before, after = looks
        told = ["Succeeded." if outcome.ok else "Failed."]
        if outcome.exit_code is not None:
            told.append(f"exit {outcome.exit_code}")
        told += [text for text in (outcome.output, outcome.error) if text.strip()]
        result = field_text(" ".join(told))
        line = history_line(step, call, result, limit=RAW_TOKENS)
        roi = changed_box(before.screenshot, after.screenshot)
        return AbstractedStep(line, result, roi, asked_model=False)
