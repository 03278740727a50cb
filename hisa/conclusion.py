"""The conclusion of a run: steps 8 and 7 of HiSA (section 3.4). Score first, learn after.

A run gets exactly one end in its log, with the score, before anything is learned from it. What
breaks while it is scored has its own ending; what breaks while it is learned from changes nothing.
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
"""The endings whose error is written down, and where it is said to be."""


@dataclass(frozen=True)
class Conclusion:
    """Concludes a run."""

    scorer: Scorer
    state: StateManager
    environment: Environment
    log: Recorder
    acted: ActingTime | None = None
    """When the agent acted; None: it did not."""

    async def finish(
        self, task: Task, status: ExitStatus, message: str, *, begun: bool = True
    ) -> Result:
        """Score a run that ended so, and write its end down.

        Args:
            task: what was to be done.
            status: how the run ended.
            message: why.
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
        """A machine or a person that ends scoring leaves no score, which is never a 0."""
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
        except Exception as error:  # noqa: BLE001 - the border of a check: its fault is not the run's
            write_failure(self.log, "scoring", error)
            scoring = Scoring("score_failed", detail=_words(error))
        self._tell(scoring)
        return status, message, scoring

    def _score_broken_machine(self, task: Task, message: str) -> Scoring:
        """The score of an agent whose own act ended the machine: nothing is left to be checked."""
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
        """Call the hooks of the end; the result is out, and nothing that fails changes it.

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
        """Learn from a run whose result is out; induction never sees the score.

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
    """Whether there is anything to learn from a run that ended so, or to credit."""
    return result.status in _LEARNED_FROM or result.score_state == "scored"


def write_failure(log: Recorder, where: str, error: Exception) -> None:
    """Write an error down, with its traceback."""
    text = "".join(traceback.format_exception(error))
    log.emit(
        Failed(where=where, kind=type(error).__name__, message=with_fix(error), traceback=text)
    )


def write_end(
    log: Recorder, error: Exception, acted: ActingTime | None = None
) -> ExitStatus | None:
    """Write down what an error did to a run; returns the exit status that it stands for.

    None where no exit status does: then the log has its end, and the error is the caller's.
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
    """Go on after a cancellation that was taken as a wish to stop what was being done."""
    current = asyncio.current_task()
    if current is not None:
        current.uncancel()


def _words(error: Exception) -> str:
    """Its text; of a defect its name too, because its text alone is often just a key."""
    return with_fix(error) if isinstance(error, HisaError) else f"{type(error).__name__}: {error}"
