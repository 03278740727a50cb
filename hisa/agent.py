"""The loop: the eight steps of HiSA (section 3.4), in the paper's order, on one page."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hisa.conclusion import Conclusion, uncancel, write_end
from hisa.errors import ActionRefused, InvalidReply, LogFailed, NotFound, with_fix
from hisa.events import Acted, Observed, StepFinished
from hisa.protocols import (
    ActingTime,
    Environment,
    ExitStatus,
    GroundedCall,
    Grounder,
    Outcome,
    Planner,
    Prefetching,
    Recorder,
    Result,
    Scorer,
    StateManager,
    Task,
    Toolbox,
    ToolCall,
)
from hisa.screen.observation import Observation

__all__ = ["Agent", "Recorder", "Result"]

MAX_UNUSABLE = 3
"""Steps in a row without a usable reply after which the model is given up."""


@dataclass(frozen=True)
class _Ending:
    status: ExitStatus
    message: str = ""


def _ending(outcome: Outcome | None) -> _Ending | None:
    """The end of a run whose last step came to that; None where it goes on."""
    return _Ending(outcome.ends, outcome.output) if outcome and outcome.ends else None


class Agent:
    """Runs tasks on a computer.

    Args:
        planner, grounder, state, tools: the parts; see `hisa.protocols`.
        environment: a started one.
        scorer: prepares and scores tasks.
        log: gets every event and picture; its ``step`` is the number of steps done before.
        max_steps: limit of steps (HiSA, section 4.3: 50).
        elements: ask the environment for accessibility elements in each look that something is
            decided or judged on: an act is held to what lay at its place.
        settle: longest wait, in seconds, for the screen to stop changing.
        stale: seconds after which a look is taken again before the planner gets it.
    """

    def __init__(
        self,
        *,
        planner: Planner,
        grounder: Grounder,
        state: StateManager,
        tools: Toolbox,
        environment: Environment,
        scorer: Scorer,
        log: Recorder,
        max_steps: int = 50,
        elements: bool = True,
        settle: float = 3.0,
        stale: float = 1.0,
    ) -> None:
        self.planner, self.grounder, self.state, self.tools = planner, grounder, state, tools
        self.environment, self.scorer, self.log = environment, scorer, log
        self.max_steps, self.elements, self.settle = max_steps, elements, settle
        self.stale, self._looked_at = stale, -float("inf")
        self._unusable = 0
        self._acted: ActingTime | None = None
        self._seconds: dict[str, float] = {}

    async def run(
        self,
        task: Task,
        *,
        ended: Outcome | None = None,
        on_result: Callable[[Result], object] = lambda _: None,
    ) -> Result:
        """Run a task to its end and score it, tell the result, then learn from the run.

        Args:
            task: what to do.
            ended: what the last step done came to, where that ends the run: it is only scored.
            on_result: gets the result before anything is learned, which can take long.

        Raises:
            LogFailed: the log cannot be written.
            Exception: a defect, or an `OperatorError` that no exit status stands for; the log
                has the traceback and an end.
        """
        result = await self.perform(task, ended=ended)
        on_result(result)
        await self.learn(result)
        return result

    async def perform(self, task: Task, *, ended: Outcome | None = None) -> Result:
        """`run` without learning."""
        self._task, self._begun, self._acted = task, self.log.step > 0, None
        try:
            ending = _ending(ended) or await self._episode()
        except asyncio.CancelledError:
            uncancel()
            ending = _Ending("stopped", "stopped by a person")
        except LogFailed:
            raise
        except Exception as error:  # the border of a run: each gets exactly one end in its log
            status = write_end(self.log, error, self._acted)
            if status is None:
                raise
            ending = _Ending(status, with_fix(error))
        return await self._conclusion.finish(
            self._task, ending.status, ending.message, begun=self._begun
        )

    async def learn(self, result: Result) -> None:
        """Learn from the run that was performed last; see `Conclusion.learn`."""
        await self._conclusion.learn(self._task, result)

    @property
    def _conclusion(self) -> Conclusion:
        return Conclusion(self.scorer, self.state, self.environment, self.log, self._acted)

    async def _episode(self) -> _Ending:
        if not self.log.step:
            await self.environment.reset()  # 1: the initial state and the first screenshot
            self._task = await self.scorer.prepare(self._task, self.environment)
            await self.state.recall(self._task)  # 2: patterns and SOPs, made into advice
        observation = await self._see()
        self._acted = ActingTime.from_now()
        while self.log.step < self.max_steps:
            self.log.step += 1
            observation, outcome = await self.step(self._task, observation)
            if ending := _ending(outcome):
                return ending
            if reason := await self.scorer.over(self._task, self.environment):
                return _Ending("ended", reason)
        return _Ending("max_steps", f"{self.max_steps} steps without termination")

    async def step(self, task: Task, before: Observation) -> tuple[Observation, Outcome]:
        """Steps 3 to 6 of the paper: plan, ground, act, abstract, refine."""
        self._seconds = {}
        if _now() - self._looked_at > self.stale or await self._other_windows(before):
            before = await self._see()  # a planner is told that it looks at now
        grounded, outcome, acted_on = await self._plan_and_act(task, before)
        after = acted_on if outcome.ends else await self._see()
        with self._phase("abstract"):
            await self.state.abstract(grounded, acted_on, after, outcome)  # 5
        if not outcome.ends:
            with self._phase("refine"):
                await self.state.refine_if_due(task)  # 6: every N steps
        self.log.emit(StepFinished(seconds=self._seconds))
        self._begun = True
        return after, outcome

    async def _plan_and_act(
        self, task: Task, before: Observation
    ) -> tuple[GroundedCall, Outcome, Observation]:
        """Plan, ground and execute one call; returns it with its outcome and what it acted on.

        A failure that the model can react to becomes a failed outcome that it reads in its history.

        Raises:
            InvalidReply: `MAX_UNUSABLE` steps in a row had no usable reply.
        """
        call, acted_on = ToolCall(thought="", tool="none", input=""), before
        try:
            with self._phase("plan"):
                call = await self.planner.plan(task, before, self.state.view(before))  # 3
            self._unusable = 0
            acted_on = await self._anew(before)
            with self._phase("ground"):
                grounded = await self.grounder.resolve(call, before)  # 4
            with self._phase("act"):
                outcome = await self.tools.execute(grounded, before, self.environment)
                return grounded, outcome, acted_on
        except InvalidReply as error:
            self._unusable += 1
            if self._unusable >= MAX_UNUSABLE:
                raise
            failure = f"no usable reply: {error}"
        except (NotFound, ActionRefused) as error:
            failure = str(error)
        outcome = Outcome(ok=False, error=failure)
        self.log.emit(Acted(tool=call.tool, input=call.input, ok=False, error=failure))
        return GroundedCall(call, call.input, call.actions), outcome, acted_on

    async def _anew(self, before: Observation) -> Observation:
        """The look that a step is judged from: what came while it was planned is not its doing."""
        if _now() - self._looked_at <= self.stale:
            return before
        now = await self._look(0.0, elements=False)
        return before if now.shows(before) else await self._look(0.0)

    async def _other_windows(self, look: Observation) -> bool:
        """Whether a window came or went since a look; asked only where looking costs little."""
        if not (look.name and look.windows):
            return False
        with self._phase("observe"):
            now = await self.environment.observe()
        return {(w.id, w.title) for w in now.windows} != {(w.id, w.title) for w in look.windows}

    async def _see(self) -> Observation:
        """The look that a planner gets, and points at."""
        observation = await self._look(self.settle, points=True)
        self._looked_at = _now()
        return observation

    async def _look(
        self, settle: float, *, points: bool = False, elements: bool = True
    ) -> Observation:
        with self._phase("observe"):
            started = time.monotonic()
            elements = elements and self.elements
            observation = await self.environment.observe(elements=elements, settle=settle)
            seconds = time.monotonic() - started
            if points and isinstance(self.grounder, Prefetching):
                self.grounder.begin(observation)
            kept = await self.log.keep(observation)
        self.log.emit(Observed.of(observation, kept=kept, seconds=seconds))
        return observation

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            seconds = time.monotonic() - started
            self._seconds[name] = self._seconds.get(name, 0.0) + seconds


def _now() -> float:
    """Seconds that no clock change moves; they go on while the machine is suspended."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
