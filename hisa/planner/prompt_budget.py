"""The shares of a planner's prompt, and what a run is told if they are more than its limit.

Each part of the prompt has a limit of its own: the system prompt is what its file makes it, the
tools for the step, rules, lessons, summary and lines have settings or constants. The limit of the
whole is their sum, so that a prompt which somebody made longer takes nothing from the state.
``planner.prompt_tokens`` is another limit: if the parts are more, sections give way in the order of
`hisa.planner.view`, and a run says so once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from hisa.config import OFFERED_TOKENS, RAW_TOKENS, PlannerSettings, StateSettings
from hisa.errors import ConfigError
from hisa.events import PromptCut
from hisa.models.tokens import estimate_tokens
from hisa.protocols import Emit, Task

__all__ = ["PromptBudget", "PromptRoom", "prompt_budget"]

TASK_TOKENS = 100
"""A short task, with the tags around the sections. What the other parts leave is for a longer one,
for what the newest step printed and for a notice."""
BETWEEN = 8
"""Tokens that servers put around two messages."""


@dataclass(frozen=True)
class PromptBudget:
    """The limit of a prompt's text, and what its parts may take of it.

    The elements are not counted, which stand for the picture where a model gets none.

    Args:
        total: the limit; what the task or the system prompt needs more is refused. None: what the
            parts may take together, and more for a task that alone is longer.
        rules, lessons: most tokens of these.
        summary: most tokens of it and of the notes, which take of its room.
        lines: steps that are told, at most.
        line: most tokens of one.
        spare: what parts that are switched off leave to the task and the last output.
    """

    total: int | None = None
    rules: int = 400
    lessons: int = 200
    summary: int = 800
    lines: int = 5
    line: int = 180
    spare: int = 0

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
        self._total = budget.total or sum(self._parts.values()) + budget.spare
        self._require(TASK_TOKENS)

    def for_task(self, task: Task) -> int:
        """Returns the tokens that are left for the state.

        Raises:
            ConfigError: a limit that the settings name cannot hold the task beside one step.
        """
        if self._budget.total is not None:
            self._require(max(TASK_TOKENS, estimate_tokens(task.instruction)))
        if sum(self._parts.values()) > self._total:
            self.tell({})
        return self._total - self._parts["system prompt"]

    def tell(self, left_out: dict[str, int]) -> None:
        """Emit the one event of a run.

        Args:
            left_out: tokens that this step's prompt lacks, by section.
        """
        if not self._is_told:
            self._is_told = True
            self._emit(PromptCut(tokens=left_out, parts=self._parts, limit=self._total))

    def _require(self, task: int) -> None:
        system, line = self._parts["system prompt"], self._budget.line
        if (needed := system + task + line) > self._total:
            raise ConfigError(
                f"planner.prompt_tokens = {self._total}: system prompt ({system}), task "
                f"({task}) and one step ({line}) need {needed}",
                fix=f"--set planner.prompt_tokens={ceil(needed / 100) * 100}",
            )


def prompt_budget(planner: PlannerSettings, state: StateSettings, *, learns: bool) -> PromptBudget:
    """The shares that the settings ask for; ``learns``: whether there are rules and lessons."""
    raw, sums_up = state.steps == "raw", state.refine == "summary"
    spare = 0 if learns else state.advice_tokens + state.lesson_tokens
    return PromptBudget(
        planner.prompt_tokens,
        rules=state.advice_tokens if learns else 0,
        lessons=state.lesson_tokens if learns else 0,
        summary=state.refined_tokens if sums_up else 0,
        lines=state.refine_every if sums_up else state.window,
        line=RAW_TOKENS if raw else state.step_tokens,
        spare=spare + (0 if sums_up else state.refined_tokens),
    )
