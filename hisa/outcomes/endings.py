"""How a run ends: the closed words for its end and its score, and what counts as a success.

Everybody who has to know asks here: the exit status of the command line, the credit of patterns,
the records and tables of a bench, and what is printed.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Literal, Self

from hisa.errors import (
    BudgetExceeded,
    EnvironmentFailed,
    InvalidReply,
    LimitPassed,
    LogFailed,
    ModelUnavailable,
    OperatorError,
)

__all__ = [
    "FINAL",
    "ActingTime",
    "Ending",
    "ExitStatus",
    "Result",
    "RunStatus",
    "ScoreState",
    "Scoring",
    "ending_of",
    "is_success",
    "says_nothing",
]

ExitStatus = Literal[
    "succeeded",
    "infeasible",
    "ended",
    "max_steps",
    "budget",
    "stopped",
    "model_error",
    "environment_error",
    "agent_broke_machine",
]
"""How a run ended; a run always ends with exactly one of these.

"ended": the task is over by itself, as a page's episode is that took an answer; its score says
whether that was right.

A machine that the agent's own act ended, as is proved by what its watchdog saw, is
"agent_broke_machine": a result like any other, with score 0. Every other broken machine, and one of
which that cannot be told, is "environment_error": no score, and tried again.
"""

FINAL: tuple[ExitStatus, ...] = ("succeeded", "infeasible", "agent_broke_machine")
"""Ends after which there is nothing to go on with."""

Ending = ExitStatus | Literal["refused", "defect"]
"""The last state of a log: an exit status, or the error that the caller of the run was given:
"refused" (the task or a setting cannot be used) or "defect" (an error in HiSA or in a plug-in)."""

RunStatus = Ending | Literal["running", "unfinished"]
"""An ending, or why there is none yet: "running" while a process writes the log, "unfinished" where
it was killed."""

ScoreState = Literal["scored", "no_check", "score_failed", "unscored"]
""""scored": there is a score; "no_check": the task has no check; "score_failed": the check could
not be carried out; "unscored": nobody scored, because the run was stopped or the machine broke."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """The result of scoring: ``value`` in 0..1 where it is "scored", and one line why."""

    state: ScoreState
    value: float | None = None
    detail: str = ""
    judged_by: str = ""
    """Whose metrics were asked: "OSWorld's own …", "ours …"; empty: no metric of a benchmark."""
    partial: float | None = None
    """How much of the task is done, in 0..1 by the weights of its checks; None: not known. It never
    decides what a success is."""


def is_success(status: RunStatus, score_state: ScoreState, score: float | None) -> bool:
    """Whether a run did its task: wholly by its check, so partial credit is none.

    Without a check it is the agent's own word, "succeeded"; who prints that says that it is a
    claim. Where a check was not carried out nothing is known, and that is no success.
    """
    if score_state == "no_check":
        return status == "succeeded"
    return score_state == "scored" and score is not None and score >= 1.0


def says_nothing(status: RunStatus, steps: int) -> bool:
    """Whether a run says nothing about its agent, and is worth making again.

    A machine broke, or a model or a limit ended the run before its first step was done: then all
    that is there was made by the task's setup.
    """
    return status == "environment_error" or (status in ("model_error", "budget") and not steps)


@dataclass(frozen=True)
class Result:
    """How a run ended."""

    run_id: str
    status: ExitStatus
    message: str = ""
    score: float | None = None
    """In 0..1, where ``score_state`` is "scored"; else None."""
    steps: int = 0
    """Steps begun; 0 where none was done."""
    score_state: ScoreState = "unscored"
    score_detail: str = ""
    """One line why the score is what it is, or why there is none."""
    judged_by: str = ""
    """See `Scoring`."""
    partial: float | None = None
    """See `Scoring`."""

    @property
    def success(self) -> bool:
        """See `is_success`."""
        return is_success(self.status, self.score_state, self.score)


@dataclass(frozen=True, slots=True)
class ActingTime:
    """When the agent acted, in seconds since the machine was started (as of CLOCK_BOOTTIME)."""

    first: float
    last: float = math.inf

    @classmethod
    def from_now(cls) -> Self:
        """It acts from this moment on."""
        return cls(time.clock_gettime(time.CLOCK_BOOTTIME))

    def until_now(self) -> Self:
        """It acted until this moment."""
        return replace(self, last=time.clock_gettime(time.CLOCK_BOOTTIME))

    def covers(self, moment: float) -> bool:
        """Whether a moment lies in it."""
        return self.first <= moment <= self.last


def ending_of(error: Exception, acted: ActingTime | None = None) -> Ending:
    """The end of a run that this error ended.

    Args:
        error: by its type alone, but for a limit that was passed.
        acted: when the agent acted; None: it did not.
    """
    match error:
        case LimitPassed(since=float(since)) if acted is not None and acted.covers(since):
            return "agent_broke_machine"
        case BudgetExceeded():
            return "budget"
        case ModelUnavailable() | InvalidReply():
            return "model_error"
        case EnvironmentFailed() | LogFailed():
            return "environment_error"
        case OperatorError():
            return "refused"
        case _:
            return "defect"
