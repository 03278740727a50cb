"""All errors that HiSA raises, grouped by who must react.

    HisaError
    ├── ModelFacingError     the model must react: it gets the text and tries again
    │   ├── InvalidReply     the reply does not fit the schema
    │   ├── ActionRefused    an action outside the closed set, or refused by a person
    │   ├── ScreenChanged    the screen is no longer as it was decided on; nothing was done
    │   ├── NotFound         the grounder did not find the described element
    │   └── ToolFailed       a tool ran and failed
    ├── OperatorError        the user must react: one line, and the command that fixes it
    │   ├── UsageError       bad argument, bad task file, unknown name
    │   ├── ConfigError      bad setting
    │   ├── BudgetExceeded   a limit on tokens, money or time was reached
    │   ├── EnvironmentFailed  the machine is broken or gone (never a wrong answer, never score 0)
    │   │   └── LimitPassed    ended by what ran in it (score 0 if the agent started that)
    │   ├── LogFailed        the run's log cannot be written
    │   ├── CheckFailed      a task's check could not be carried out (never a score)
    │   ├── ModelUnavailable   the model's endpoint cannot be used
    │   └── StoreError       the pattern store cannot be used as asked
    └── DeveloperError       a defect in HiSA, a plug-in or a test: traceback
        ├── PluginFailed     a plug-in failed to import
        ├── HookFailed       a hook raised an error that is no refusal
        └── ScriptExhausted  a scripted model or guest ran out of script

Exceptions have no side effects: constructing one logs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "ActionRefused",
    "BudgetExceeded",
    "CheckFailed",
    "ConfigError",
    "DeveloperError",
    "EnvironmentFailed",
    "HisaError",
    "HookFailed",
    "InvalidReply",
    "LimitPassed",
    "LogFailed",
    "ModelFacingError",
    "ModelUnavailable",
    "NotFound",
    "OperatorError",
    "PluginFailed",
    "ScreenChanged",
    "ScriptExhausted",
    "StoreError",
    "ToolFailed",
    "UsageError",
]


class HisaError(Exception):
    """Root of the tree."""


class ModelFacingError(HisaError):
    """The model must react; ``str(error)`` is sent to it."""


class InvalidReply(ModelFacingError):
    """A reply does not fit its schema; the text names the value and what is allowed."""


class ActionRefused(ModelFacingError):
    """An action outside the closed set, out of range, or refused by a person."""


class ScreenChanged(ModelFacingError):
    """The screen is no longer as it was when an action was decided; nothing of it was done."""


class NotFound(ModelFacingError):
    """The described element is not on the screen, or several match equally well.

    Args:
        message: what was looked for and why nothing was chosen.
        candidates: the closest things on the screen, best first.
    """

    def __init__(self, message: str, candidates: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.candidates = candidates


class ToolFailed(ModelFacingError):
    """A tool ran and failed."""


class OperatorError(HisaError):
    """The user must react.

    Args:
        message: one line naming the value and what is allowed.
        fix: the next command or change that helps; empty when there is none.
    """

    exit_code = 2

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(message)
        self.fix = fix


def with_fix(error: Exception) -> str:
    """Returns the text of an error, followed by its fix if it has one: "…; try: …"."""
    return "; try: ".join(filter(None, (str(error), getattr(error, "fix", ""))))


class UsageError(OperatorError):
    """Bad argument, bad task file or unknown name."""


class LibraryLacking(UsageError):
    """A Python library that a part of HiSA needs is not installed; ``fix`` installs it."""


class ConfigError(OperatorError):
    """Bad setting."""


class BudgetExceeded(OperatorError):
    """A limit on tokens, money or wall clock was reached; raised before the call is made."""

    exit_code = 1


class EnvironmentFailed(OperatorError):
    """The machine is broken or gone. Never a wrong answer, never score 0."""

    exit_code = 3


class LimitPassed(EnvironmentFailed):
    """A machine was ended because what ran inside took more than its limits allow.

    Args:
        message: see `OperatorError`.
        since: when the process that took the most was started, in seconds since the host booted;
            None if it may have been a process that the machine began with.
    """

    def __init__(self, message: str, since: float | None, *, fix: str = "") -> None:
        super().__init__(message, fix=fix)
        self.since = since


class LogFailed(OperatorError):
    """The run's log cannot be written, so nothing more of the run can be known."""

    exit_code = 3


class CheckFailed(OperatorError):
    """A task's check could not be carried out: this says nothing about the agent or the machine."""

    exit_code = 3


class ModelUnavailable(OperatorError):
    """The model's endpoint cannot be used after all retries."""

    exit_code = 3


class StoreError(OperatorError):
    """The pattern store cannot be used as asked."""


class DeveloperError(HisaError):
    """A defect in HiSA, in a plug-in or in a test."""


class PluginFailed(DeveloperError):
    """A plug-in failed to import; ``__cause__`` is the original error."""


class HookFailed(DeveloperError):
    """A hook of a run failed. Names the hook and the moment; ``__cause__`` is the error."""


class ScriptExhausted(DeveloperError):
    """A scripted model or guest was asked for more than its script holds."""


def close_names(name: str, names: Sequence[str]) -> str:
    """Returns " (did you mean 'x'?)" if a name is close to one of ``names``; else nothing."""
    import difflib

    close = difflib.get_close_matches(name, names, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
