"""The shares of a planner's prompt, and what a run is told if they are more than its limit.

Each part of the prompt has a limit of its own: the system prompt is what it is, the tools for the
step, rules, lessons, summary and lines have settings or constants. If their sum is above the limit
of the whole, sections give way in the order of `hisa.planner.view`, and a run says so once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from hisa.config import OFFERED_TOKENS, RAW_TOKENS, PlannerSettings, StateSettings
from hisa.errors import ConfigError
from hisa.events import PromptCut
from hisa.models.tokens import estimate_tokens
from hisa.protocols import Emit, Task

__all__ = ["PROMPT_TOKENS", "PromptBudget", "PromptRoom", "prompt_budget"]

PROMPT_TOKENS = 3600
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
        rules, lessons: most tokens of these.
        summary: most tokens of it and of the notes, which take of its room.
        lines: steps that are told, at most.
        line: most tokens of one.
        fixed: whether a task that does not fit is refused; else the limit grows with it.
    """

    total: int = PROMPT_TOKENS
    rules: int = 400
    lessons: int = 200
    summary: int = 800
    lines: int = LINES
    line: int = LINE_TOKENS
    fixed: bool = False

    def parts(self, system: str) -> dict[str, int]:
        """The most tokens of each part, by the setting that limits it."""
        return {
            "system prompt": estimate_tokens(system) + BETWEEN,
            "tools": OFFERED_TOKENS,
            "state.advice_tokens": self.rules,
            "state.lesson_tokens": self.lessons,
            "state.refined_tokens": self.summary,
            f"{self.lines} lines of {self.line}": self.lines * self.line,
            "task": TASK_TOKENS,
        }


class PromptRoom:
    """What a system prompt leaves of a budget, for one run.

    Args:
        budget: of the prompt's text.
        system: the system prompt.
        emit: gets one `PromptCut` if the parts may be more than the limit, or a prompt was.

    Raises:
        ConfigError: the budget cannot hold the system prompt, a short task and one step.
    """

    def __init__(self, budget: PromptBudget, system: str, emit: Emit) -> None:
        self._budget, self._emit, self._is_told = budget, emit, False
        self._parts = budget.parts(system)
        self._require(TASK_TOKENS)

    def for_task(self, task: Task) -> int:
        """Returns the tokens that are left for the state.

        Raises:
            ConfigError: a limit that the settings name cannot hold the task beside one step.
        """
        if self._budget.fixed:
            self._require(max(TASK_TOKENS, estimate_tokens(task.instruction)))
        if sum(self._parts.values()) > self._budget.total:
            self.tell({})
        return self._budget.total - self._parts["system prompt"]

    def tell(self, left_out: dict[str, int]) -> None:
        """Emit the one event of a run.

        Args:
            left_out: tokens that this step's prompt lacks, by section.
        """
        if not self._is_told:
            self._is_told = True
            total = self._budget.total
            self._emit(PromptCut(tokens=left_out, parts=self._parts, limit=total))

    def _require(self, task: int) -> None:
        system, line = self._parts["system prompt"], self._budget.line
        if (needed := system + task + line) > self._budget.total:
            raise ConfigError(
                f"planner.prompt_tokens = {self._budget.total}: system prompt ({system}), task "
                f"({task}) and one step ({line}) need {needed}",
                fix=f"--set planner.prompt_tokens={ceil(needed / 100) * 100}",
            )


def prompt_budget(planner: PlannerSettings, state: StateSettings, *, learns: bool) -> PromptBudget:
    """The shares that the settings ask for; ``learns``: whether there are rules and lessons.

    Without ``planner.prompt_tokens`` the limit is 3,600 tokens for lines of up to five steps, and
    more for what the settings add: further lines, raw ones, sequences, a numbered list.
    """
    lines = state.window if state.refine == "window" else state.refine_every
    raw = state.steps == "raw"
    total = planner.prompt_tokens
    if total is None:
        total = PROMPT_TOKENS + max(0, lines - LINES) * LINE_TOKENS
        total += lines * (RAW_TOKENS - LINE_TOKENS) if raw else 0
        total += SEQUENCE_TOKENS if planner.sequence > 1 else 0
        total += LIST_TOKENS if planner.sees != "picture" else 0
    return PromptBudget(
        total,
        rules=state.advice_tokens if learns else 0,
        lessons=state.lesson_tokens if learns else 0,
        summary=state.refined_tokens if state.refine == "summary" else 0,
        lines=lines,
        line=RAW_TOKENS if raw else state.step_tokens,
        fixed=planner.prompt_tokens is not None,
    )
