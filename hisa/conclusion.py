"""The conclusion of a run: steps 8 and 7 of HiSA (section 3.4). Score first, learn after.

A run gets exactly one end in its log, with the score, before anything is learned from it. An error
during scoring has an ending of its own; an error during learning does not change the result.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from hisa.errors import EnvironmentFailed, HisaError, LogFailed, with_fix
from hisa.events import Evaluated, Failed, Learned, Noted, RunFinished
from hisa.hooks import Run
from hisa.outcomes.endings import ActingTime, Ending, ExitStatus, ending_of, says_nothing
from hisa.protocols import (
    Concluding,
    Environment,
    Recorder,
    Result,
    Scorer,
    Scoring,
    StateManager,
    Task,
)

__all__ = ["Conclusion", "is_learned_from", "uncancel", "write_end", "write_failure"]

_LEARNED_FROM = ("succeeded", "infeasible")
_WHERE: dict[Ending, str] = {
    "environment_error": "environment",
    "agent_broke_machine": "environment",
    "refused": "refused",
    "defect": "hisa",
}
"""The endings whose error is logged, each with the ``where`` of its `Failed` event."""


@dataclass(frozen=True)
class Conclusion:
    """Concludes a run."""

    scorer: Scorer
    state: StateManager
    environment: Environment
    log: Recorder
    acted: ActingTime | None = None
    """The time in which the agent acted; None if it did not act."""

    async def finish(
        self, task: Task, status: ExitStatus, message: str, *, begun: bool = True
    ) -> Result:
        """Score a run that has ended, log its end and return the result.

        Args:
            task: what the agent had to do.
            status: how the run ended.
            message: why it ended, for the user.
            begun: whether a step was done.
        """
        steps = self.log.step if begun else 0
        status, message, scoring = await self._score(task, status, message, steps)
        self.log.emit(
            RunFinished(
                exit_status=status,
                message=message,
                score=scoring.value,
                score_state=scoring.state,
                score_detail=scoring.detail,
                partial=scoring.partial,
            )
        )
        return Result(
            self.log.id,
            status,
            message,
            score=scoring.value,
            steps=steps,
            score_state=scoring.state,
            score_detail=scoring.detail,
            judged_by=scoring.judged_by,
            partial=scoring.partial,
        )

    async def _score(
        self, task: Task, status: ExitStatus, message: str, steps: int
    ) -> tuple[ExitStatus, str, Scoring]:
        """Score the run; if a machine breaks or a person stops it meanwhile, it has no score.

        No score is never a score of 0.
        """
        if status == "stopped" or says_nothing(status, steps):
            return status, message, Scoring("unscored", detail=message)
        if status == "agent_broke_machine":
            return status, message, self._score_broken_machine(task, message)
        acted = self.acted and self.acted.until_now()
        try:
            if isinstance(self.environment, Concluding):
                await self.environment.conclude(status, message)
            scoring = await self.scorer.score(task, self.environment, status)
        except asyncio.CancelledError:
            uncancel()
            message = f"stopped by a person while it was scored ({status})"
            return "stopped", message, Scoring("unscored", detail=message)
        except LogFailed:
            raise
        except EnvironmentFailed as error:
            write_failure(self.log, "scoring", error)
            if ending_of(error, acted) == "agent_broke_machine":
                message = with_fix(error)
                return "agent_broke_machine", message, self._score_broken_machine(task, message)
            message = f"could not be scored ({status}): {with_fix(error)}"
            return "environment_error", message, Scoring("unscored", detail=message)
        except Exception as error:  # noqa: BLE001 - the border of a check: it may raise anything
            write_failure(self.log, "scoring", error)
            scoring = Scoring("score_failed", detail=_words(error))
        self._tell(scoring)
        return status, message, scoring

    def _score_broken_machine(self, task: Task, message: str) -> Scoring:
        """Returns 0 for an agent whose own act ended the machine: nothing is left to check."""
        if task.check is None:
            return Scoring("no_check", detail="the task has no check")
        detail = f"what the agent started ended the machine: {message}"
        scoring = Scoring("scored", 0.0, detail, partial=0.0)
        self._tell(scoring)
        return scoring

    def _tell(self, scoring: Scoring) -> None:
        self.log.emit(
            Evaluated(
                score=scoring.value,
                detail=scoring.detail,
                score_state=scoring.state,
                judged_by=scoring.judged_by,
                partial=scoring.partial,
            )
        )

    async def call_end_hooks(self, run: Run) -> None:
        """Call the hooks' ``on_end``; if one fails, the result stays as it is.

        Raises:
            LogFailed: the log cannot be written.
        """
        try:
            await run.hooks.call("on_end", run)
        except asyncio.CancelledError:
            uncancel()
            self.log.emit(Noted(where="hooks", text="stopped by a person at the end of the run"))
        except LogFailed:
            raise
        except Exception as error:  # noqa: BLE001 - the border of a run's end: the result is out
            write_failure(self.log, "hooks", error)

    async def learn(self, task: Task, result: Result) -> None:
        """Learn from a run that has its result; induction never sees the score.

        Raises:
            LogFailed: the log cannot be written.
        """
        started = time.monotonic()
        lessons: list[Callable[[], Awaitable[object]]] = []
        if result.status in _LEARNED_FROM:
            lessons.append(partial(self.state.induct, task, result.run_id))
        if is_learned_from(result):
            won = result.success if result.score_state == "scored" else None
            lessons.append(partial(self.state.credit, won=won))
        for lesson in lessons:
            try:
                await lesson()
            except asyncio.CancelledError:
                uncancel()
                self.log.emit(Noted(where="learning", text="stopped by a person"))
                break
            except LogFailed:
                raise
            except Exception as error:  # noqa: BLE001 - the border of learning: the result is out
                write_failure(self.log, "learning", error)
        self.log.emit(Learned(seconds=time.monotonic() - started))


def is_learned_from(result: Result) -> bool:
    """Whether a run with this result is learned from, or its patterns are credited."""
    return result.status in _LEARNED_FROM or result.score_state == "scored"


def write_failure(log: Recorder, where: str, error: Exception) -> None:
    """Log an error with its traceback.

    Args:
        log: records the `Failed` event.
        where: the part of HiSA that failed: "environment", "scoring", "hooks" ….
        error: the error; the event names its class, its text and its fix.
    """
    text = "".join(traceback.format_exception(error))
    log.emit(
        Failed(where=where, kind=type(error).__name__, message=with_fix(error), traceback=text)
    )


def write_end(
    log: Recorder, error: Exception, acted: ActingTime | None = None
) -> ExitStatus | None:
    """Log an error that ended a run; returns the exit status that it stands for.

    Args:
        log: records the `Failed` event.
        error: what ended the run.
        acted: the time in which the agent acted; None if it did not act.

    Returns:
        The exit status; None if no exit status stands for the error. The log then has its end
        already, and the caller raises the error.
    """
    ending = ending_of(error, acted)
    if ending in _WHERE:
        write_failure(log, _WHERE[ending], error)
    if ending == "refused" or ending == "defect":
        message = _words(error)
        log.emit(RunFinished(exit_status=ending, message=message, score_detail=message))
        return None
    return ending


def uncancel() -> None:
    """Take back a cancellation of the present asyncio task that was handled as a stop."""
    current = asyncio.current_task()
    if current is not None:
        current.uncancel()


def _words(error: Exception) -> str:
    """Returns the text of an error; for a defect its class too, as its text may be just a key."""
    return with_fix(error) if isinstance(error, HisaError) else f"{type(error).__name__}: {error}"
