"""The shares of a planner's prompt: one object gives them out, and they sum to its limit.

Each part of the prompt has a limit of its own: the system prompt is what it is, the tools for the
step, rules, lessons, summary and lines have settings or constants. Were their sum above the limit
of the whole, some part would give way at every step, and it would be the state.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from hisa.config import OFFERED_TOKENS, RAW_TOKENS, Settings
from hisa.errors import ConfigError
from hisa.models.tokens import estimate_tokens

__all__ = ["PROMPT_TOKENS", "PromptBudget", "prompt_budget"]

PROMPT_TOKENS = 3500
"""Most tokens of a first prompt's text, unless the task alone takes them: what a step may cost.

The elements are not counted, which stand for the picture where a model gets none.
"""
SEQUENCE_TOKENS = 1000
"""What a prompt may hold more where a look may decide several actions: it explains that in some 600
to 800 tokens, and the line of a sequence is up to 2.4 times as long as that of an action."""
LIST_TOKENS = 110
"""What a prompt may hold more where it explains a numbered list of the screen."""
LINES = 5
"""Lines that fit beside all else; each further one may cost its limit more."""
LINE_TOKENS = 180
"""What a further line may cost more."""
TASK_TOKENS = 100
"""A short task, with the tags around the sections. What the other parts leave is for a longer one,
for what the newest step printed and for a notice."""
BETWEEN = 8
"""Tokens that servers put around two messages."""


@dataclass(frozen=True)
class PromptBudget:
    """The limit of a prompt's text, and what its parts may take of it.

    Args:
        total: the limit.
        rules, lessons, summary: most tokens of these.
        lines: steps that are told, at most.
        line: most tokens of one.
    """

    total: int = PROMPT_TOKENS
    rules: int = 400
    lessons: int = 200
    summary: int = 800
    lines: int = LINES
    line: int = LINE_TOKENS

    def room(self, system: str) -> int:
        """Tokens that a system prompt leaves for the state."""
        return self.total - estimate_tokens(system) - BETWEEN

    def check(self, system: str) -> None:
        """Refuse parts that are more than the whole.

        Raises:
            ConfigError: their sum, and the settings that change it.
        """
        parts = {
            "system prompt": estimate_tokens(system) + BETWEEN,
            "tools": OFFERED_TOKENS,
            "state.advice_tokens": self.rules,
            "state.lesson_tokens": self.lessons,
            "state.refined_tokens": self.summary,
            f"{self.lines} lines of {self.line}": self.lines * self.line,
            "task": TASK_TOKENS,
        }
        needed = sum(parts.values())
        if needed > self.total:
            told = ", ".join(f"{name} {tokens}" for name, tokens in parts.items())
            raise ConfigError(
                f"planner.prompt_tokens = {self.total}: the parts of a prompt may take {needed} "
                f"({told}); allowed is {needed} or more, or smaller parts",
                fix=f"--set planner.prompt_tokens={ceil(needed / 100) * 100}",
            )


def prompt_budget(settings: Settings) -> PromptBudget:
    """The shares that the settings ask for.

    Without ``planner.prompt_tokens`` the limit is 3,500 tokens for lines of up to five steps, and
    more for what the settings add: further lines, raw ones, sequences, a numbered list.
    """
    state, planner = settings.state, settings.planner
    lines = state.window if state.refine == "window" else state.refine_every
    raw = state.steps == "raw"
    total = planner.prompt_tokens
    if total is None:
        total = PROMPT_TOKENS + max(0, lines - LINES) * LINE_TOKENS
        total += lines * (RAW_TOKENS - LINE_TOKENS) if raw else 0
        total += SEQUENCE_TOKENS if planner.sequence > 1 else 0
        total += LIST_TOKENS if planner.sees in ("elements", "both") else 0
    return PromptBudget(
        total,
        rules=state.advice_tokens if settings.patterns.enabled else 0,
        lessons=state.lesson_tokens if settings.patterns.enabled else 0,
        summary=state.refined_tokens if state.refine == "summary" else 0,
        lines=lines,
        line=RAW_TOKENS if raw else state.step_tokens,
    )
