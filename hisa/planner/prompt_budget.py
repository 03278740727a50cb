"""The room for a planner's state: the sum of the limits of its parts.

A longer prompt file takes nothing from the state. Room that a part does not use is for a longer
task, for the newest tool's output and for a notice.
"""

from __future__ import annotations

from hisa.config import OFFERED_TOKENS, RAW_TOKENS, StateSettings

__all__ = ["BETWEEN", "prompt_room"]

TASK_TOKENS = 100
"""A short task, with the tags around the sections."""
BETWEEN = 8
"""Tokens that servers put around the system prompt and the state."""


def prompt_room(state: StateSettings | None = None) -> int:
    """Returns the most tokens of a planner's state; None: for the default settings.

    The elements that replace the picture for some models are not counted.
    """
    state = state or StateSettings()
    lines = state.refine_every if state.refine == "summary" else state.window
    line = RAW_TOKENS if state.steps == "raw" else state.step_tokens
    rules = state.advice_tokens + state.lesson_tokens
    return OFFERED_TOKENS + rules + state.refined_tokens + lines * line + TASK_TOKENS
