"""The bench itself: hands attempts to workers until every slot is filled or given up."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from hisa.errors import EnvironmentFailed
from hisa.outcomes.endings import Ending, ScoreState, is_success
from hisa.plugins.benchmarks.bench.attempt_records import (
    AttemptFinished,
    AttemptLost,
    AttemptRunning,
    AttemptStarted,
    Slot,
)
from hisa.plugins.benchmarks.bench.executors.base import Executor, Worker, WorkerLost
from hisa.plugins.benchmarks.bench.jobs import Job, JobDone, RunEnded, RunMade, StepDone
from hisa.plugins.benchmarks.bench.ledger import AttemptLedger

__all__ = ["Bench", "Progress"]


@dataclass(frozen=True)
class Progress:
    """Something happened to an attempt.

    ``steps`` counts the steps of its run so far; ``end`` is how it ended: None while it is running,
    "lost" if its worker died.
    """

    slot: Slot
    number: int
    worker: str
    steps: int = 0
    end: Ending | Literal["lost"] | None = None
    score: float | None = None
    message: str = ""
    score_state: ScoreState = "unscored"

    @property
    def success(self) -> bool:
        """Whether it ended and did its task."""
        if self.end is None or self.end == "lost":
            return False
        return is_success(self.end, self.score_state, self.score)


class Bench:
    """Fills the slots of a ledger.

    Args:
        ledger: the truth about what is done.
        executor: starts the workers.
        workers: how many work at the same time.
        environment: an environment maker for the workers, as ``module:name``; empty: the
            environment of the settings.
        on_progress: called with everything that happens.
    """

    def __init__(
        self,
        ledger: AttemptLedger,
        executor: Executor,
        *,
        workers: int = 1,
        environment: str = "",
        on_progress: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        self._ledger = ledger
        self._executor = executor
        self._workers = workers
        self._environment = environment
        self._on_progress = on_progress
        self._paths = {task.id: task.path for task in ledger.plan.tasks}
        self._queue: deque[Slot] = deque()
        self._in_flight = 0
        self._changed = asyncio.Condition()

    async def run(self) -> None:
        """Work until no slot is pending; cancelling stops the runs at work and keeps everything.

        Raises:
            EnvironmentFailed: no worker can be started, or the ledger cannot be written.
        """
        self._queue.extend(self._ledger.pending())
        lanes = min(self._workers, len(self._queue))
        failures: list[BaseException] = []
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(lanes):
                    group.create_task(self._lane())
        except* EnvironmentFailed as failed:
            failures.extend(failed.exceptions)  # raised here, it would come wrapped in a group
        if failures:
            raise failures[0]

    async def _lane(self) -> None:
        """Make attempts with one worker after the other: a dead one is replaced."""
        worker: Worker | None = None
        try:
            while (slot := await self._next()) is not None:
                try:
                    if worker is None:
                        worker = await self._executor.start_worker()
                    await self._make_attempt(worker, slot)
                except WorkerLost:
                    if worker is not None:
                        await worker.close(patience=1.0)
                    worker = None
                finally:
                    await self._settle(slot)
        finally:
            if worker is not None:
                await asyncio.shield(worker.close())

    async def _next(self) -> Slot | None:
        """Returns the next pending slot; None once no slot is pending or in flight."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._queue or not self._in_flight)
            if not self._queue:
                return None
            self._in_flight += 1
            return self._queue.popleft()

    async def _settle(self, slot: Slot) -> None:
        """Put a slot whose try broke at the end of the queue."""
        async with self._changed:
            self._in_flight -= 1
            if self._ledger.slot_state(slot).pending:
                self._queue.append(slot)
            self._changed.notify_all()

    async def _make_attempt(self, worker: Worker, slot: Slot) -> None:
        number = self._ledger.next_try(slot)
        key: dict[str, Any] = {**slot._asdict(), "try": number}
        progress = Progress(slot, number, worker.name)
        self._ledger.write(AttemptStarted(**key, worker=worker.name))
        self._on_progress(progress)
        run, steps, run_end = "", 0, None
        try:
            async for message in worker.do(self._job(slot)):
                match message:
                    case RunMade():
                        run = message.run
                        self._ledger.write(AttemptRunning(**key, run=run))
                    case StepDone():
                        steps = message.step
                        self._on_progress(replace(progress, steps=steps))
                    case RunEnded():
                        run_end = message
                        fields = message.model_dump(exclude={"type"})
                        self._ledger.write(AttemptFinished(**key, run=run, **fields))
                        self._report_end(progress, run_end)
                    case JobDone():
                        pass
        except WorkerLost as error:
            if run_end is not None:  # it died learning: the result stands, and it is replaced
                raise
            self._ledger.write(AttemptLost(**key, cause="worker", reason=str(error)))
            self._on_progress(replace(progress, steps=steps, end="lost", message=str(error)))
            raise
        except asyncio.CancelledError:
            if run_end is None:
                lost = AttemptLost(**key, cause="bench", reason="stopped by a person")
                self._ledger.write(lost)
            raise

    def _report_end(self, progress: Progress, run_end: RunEnded) -> None:
        self._on_progress(
            replace(
                progress,
                steps=run_end.steps,
                end=run_end.status,
                score=run_end.score,
                score_state=run_end.score_state,
                message=run_end.score_detail
                if run_end.score_state == "score_failed"
                else run_end.message,
            )
        )

    def _job(self, slot: Slot) -> Job:
        plan = self._ledger.plan
        settings = plan.variants[slot.variant]
        run = settings["run"]
        if plan.independent:
            patterns, own = settings["patterns"], f"repeat-{slot.repeat}"
            store = str(Path(patterns["path"], own))
            patterns = {**patterns, "path": store, "collection": f"{patterns['collection']}-{own}"}
            settings = {**settings, "patterns": patterns}
        return Job(
            task=self._paths[slot.task],
            settings={**settings, "run": {**run, "seed": run["seed"] + slot.repeat - 1}},
            runs=str(self._ledger.runs),
            environment=self._environment,
        )
