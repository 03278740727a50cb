"""How a run ends: the closed sets of words for its end and its score, and what is a success.

All that depends on a run's end uses these: the exit status of the command line, the credit of
patterns, the records and tables of a bench, and what is printed.
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
    "boot_seconds",
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

"ended": the task is over by itself, such as a page's episode that has taken an answer. The score
says whether it was right.

"agent_broke_machine": the machine's watchdog proves that the agent's own act ended the machine.
This is a result like any other, with score 0. If the machine broke in any other way, or it is not
known how, the run ends with "environment_error": it has no score and is tried again.
"""

FINAL: tuple[ExitStatus, ...] = ("succeeded", "infeasible", "agent_broke_machine")
"""Exit statuses after which a run cannot be resumed."""

Ending = ExitStatus | Literal["refused", "defect"]
"""The last state of a log: an exit status, or the kind of the error that was raised to the caller:
"refused" (the task or a setting cannot be used) or "defect" (an error in HiSA or in a plug-in)."""

RunStatus = Ending | Literal["running", "unfinished"]
"""An ending, or why there is none yet: "running" while a process writes the log, "unfinished" if
that process was killed."""

ScoreState = Literal["scored", "no_check", "score_failed", "unscored"]
""""scored": there is a score; "no_check": the task has no check; "score_failed": the check could
not be carried out; "unscored": nothing was scored, as the run was stopped or the machine broke."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """The result of scoring: ``value`` (0 to 1, if "scored") and one line that gives the reason."""

    state: ScoreState
    value: float | None = None
    detail: str = ""
    judged_by: str = ""
    """Whose metrics were used: "OSWorld's own …", "ours …"; empty: no metric of a benchmark."""
    partial: float | None = None
    """The part of the task that is done, 0 to 1 by the weights of its checks; None: not known. It
    does not matter for success."""


def is_success(status: RunStatus, score_state: ScoreState, score: float | None) -> bool:
    """Whether a run did its whole task; partial credit is no success.

    Without a check it is the agent's own claim, "succeeded", and outputs must call it a claim. If
    the check could not be carried out, nothing is known, and that is no success.

    Args:
        status: how the run ended, or that it has not.
        score_state: whether there is a score, or why there is none.
        score: the score, 0 to 1; None if there is none.
    """
    if score_state == "no_check":
        return status == "succeeded"
    return score_state == "scored" and score is not None and score >= 1.0


def says_nothing(status: RunStatus, steps: int) -> bool:
    """Whether a run says nothing about its agent, so that it should be repeated.

    That is so if the machine broke, or if a model or a limit ended the run before its first step
    was done: then only the task's setup has changed the machine.
    """
    return status == "environment_error" or (status in ("model_error", "budget") and not steps)


@dataclass(frozen=True)
class Result:
    """How a run ended."""

    run_id: str
    status: ExitStatus
    message: str = ""
    score: float | None = None
    """The score, 0 to 1; None unless ``score_state`` is "scored"."""
    steps: int = 0
    """The number of steps that were started; 0 if none was done."""
    score_state: ScoreState = "unscored"
    score_detail: str = ""
    """The reason for the score, or for having none, in one line."""
    judged_by: str = ""
    """See `Scoring`."""
    partial: float | None = None
    """See `Scoring`."""

    @property
    def success(self) -> bool:
        """See `is_success`."""
        return is_success(self.status, self.score_state, self.score)


def boot_seconds() -> float:
    """Returns seconds since the start that go on in a suspend, where the system counts them."""
    clock, read = getattr(time, "CLOCK_BOOTTIME", None), getattr(time, "clock_gettime", None)
    return time.monotonic() if clock is None or read is None else float(read(clock))


@dataclass(frozen=True, slots=True)
class ActingTime:
    """The time in which the agent acted, in seconds since the host booted (CLOCK_BOOTTIME)."""

    first: float
    last: float = math.inf

    @classmethod
    def from_now(cls) -> Self:
        """Returns the time from this moment on."""
        return cls(boot_seconds())

    def until_now(self) -> Self:
        """Returns the time until this moment."""
        return replace(self, last=boot_seconds())

    def covers(self, moment: float) -> bool:
        """Whether a moment lies in this time."""
        return self.first <= moment <= self.last


def ending_of(error: Exception, acted: ActingTime | None = None) -> Ending:
    """Returns the ending of a run that an error ended.

    Args:
        error: the error; only its type counts, except for `LimitPassed`.
        acted: the time in which the agent acted; None if it did not act.
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
