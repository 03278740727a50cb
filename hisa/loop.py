"""The loop: the eight steps of HiSA (section 3.4), in the paper's order, on one page."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hisa.conclusion import Conclusion, uncancel, write_end, write_failure
from hisa.errors import ActionRefused, InvalidReply, LogFailed, NotFound, with_fix
from hisa.events import Acted, Event, Noted, Observed, StepFinished
from hisa.hooks import Hooks, Run, Step
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
from hisa.sequence import ground_calls, make_calls

__all__ = ["Loop"]

MAX_UNUSABLE = 3
"""Steps in a row without a usable reply after which the model is given up."""


@dataclass(frozen=True)
class _Ending:
    status: ExitStatus
    message: str = ""


def _ending(outcome: Outcome | None) -> _Ending | None:
    """The end of a run whose last step came to that; None where it goes on."""
    return _Ending(outcome.ends, outcome.output) if outcome and outcome.ends else None


class Loop:
    """Runs tasks on a computer; `hisa.Agent` makes one for each run.

    Args:
        planner, grounder, state, tools: the parts; see `hisa.protocols`.
        environment: a started one.
        scorer: prepares and scores tasks.
        log: gets every event and picture; its ``step`` is the number of steps done before.
        hooks: come at the moments of a run; see `hisa.hooks`.
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
        hooks: Hooks | None = None,
        max_steps: int = 50,
        elements: bool = True,
        settle: float = 3.0,
        stale: float = 1.0,
    ) -> None:
        self.planner, self.grounder, self.state, self.tools = planner, grounder, state, tools
        self.environment, self.scorer, self.log = environment, scorer, log
        self.hooks = hooks or Hooks()
        self.max_steps, self.elements, self.settle = max_steps, elements, settle
        self.stale, self._looked_at = stale, -float("inf")
        self._unusable = 0
        self._acted: ActingTime | None = None
        self._seconds: dict[str, float] = {}
        self._step: Step | None = None

    def hear(self, event: Event) -> None:
        """Keep an event with the step that it is of, for hooks."""
        if self._step is not None:
            self._step.events.append(event)

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
        self._begun, self._acted = self.log.step > 0, None
        self._run = Run(
            task=task,
            environment=self.environment,
            tools=self.tools,
            state=self.state,
            log=self.log,
            hooks=self.hooks,
            max_steps=self.max_steps,
        )
        try:
            return await self._perform(ended)
        finally:
            await self._end()

    async def _perform(self, ended: Outcome | None) -> Result:
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
        self._run.result = await self._conclusion.finish(
            self._run.task, ending.status, ending.message, begun=self._begun
        )
        return self._run.result

    async def _end(self) -> None:
        """Call the hooks of the end; the result is out, and nothing that fails changes it."""
        try:
            await self.hooks.call("on_end", self._run)
        except asyncio.CancelledError:
            uncancel()
            self.log.emit(Noted(where="hooks", text="stopped by a person at the end of the run"))
        except LogFailed:
            raise
        except Exception as error:  # noqa: BLE001 - the border of a run's end: the result is out
            write_failure(self.log, "hooks", error)

    async def learn(self, result: Result) -> None:
        """Learn from the run that was performed last; see `Conclusion.learn`."""
        await self._conclusion.learn(self._run.task, result)

    @property
    def _conclusion(self) -> Conclusion:
        return Conclusion(self.scorer, self.state, self.environment, self.log, self._acted)

    async def _episode(self) -> _Ending:
        run = self._run
        await self.hooks.call("on_start", run)
        if not self.log.step:
            await self.environment.reset()  # 1: the initial state and the first screenshot
            run.task = await self.scorer.prepare(run.task, self.environment)
            await self.state.recall(run.task)  # 2: patterns and SOPs, made into advice
        observation: Observation | None = await self._see()
        self._acted = ActingTime.from_now()
        while self.log.step < self.max_steps:
            self.log.step += 1
            observation, outcome = await self._do_step(observation)
            if ending := _ending(outcome):
                return ending
            if reason := await self.scorer.over(run.task, self.environment):
                return _Ending("ended", reason)
        return _Ending("max_steps", f"{self.max_steps} steps without termination")

    async def _do_step(self, before: Observation | None) -> tuple[Observation | None, Outcome]:
        """Steps 3 to 6 of the paper: plan, ground, act, abstract, refine."""
        self._seconds = {}
        old = _now() - self._looked_at > self.stale
        if before is None or old or await self._other_windows(before):
            before = await self._see()  # a planner is told that it looks at now
        step = self._step = Step(self.log.step, self._run, before, self.state.view(before))
        step.before, self._run.step = before, step
        step.outcome = outcome = await self._plan_and_act(step)
        step.after = step.before if outcome.ends else await self._see()
        assert step.grounded is not None, "every step has a call, if none was usable an empty one"
        with self._phase("abstract"):
            step.line = await self.state.abstract(step.grounded, step.before, step.after, outcome)
        if not outcome.ends:  # 5, and 6 every N steps
            with self._phase("refine"):
                await self.state.refine_if_due(step.task)
        self.log.emit(StepFinished(seconds=self._seconds))
        self._begun = True
        await self.hooks.call("after_step", step)  # which may wait: the step is done by then
        self._step = None
        return step.after, step.outcome

    async def _plan_and_act(self, step: Step) -> Outcome:
        """Plan, ground and execute a step; returns the outcome.

        A failure that the model can react to becomes a failed outcome that it reads in its history.

        Raises:
            InvalidReply: `MAX_UNUSABLE` steps in a row had no usable reply.
        """
        call, look = ToolCall(thought="", tool="none", input=""), step.look
        try:
            await self.hooks.call("before_plan", step)
            with self._phase("plan"):
                call = step.call = await self._plan(step)  # 3
            self._unusable = 0
            step.before = await self._anew(look)
            await self.hooks.call("after_plan", step)
            call = step.call
            if step.grounded is None:
                with self._phase("ground"):
                    step.grounded = await ground_calls(call, look, self.grounder)  # 4
            with self._phase("act"):
                return await make_calls(step, settle=self.settle)
        except InvalidReply as error:
            self._unusable += 1
            if self._unusable >= MAX_UNUSABLE:
                raise
            outcome = Outcome(ok=False, error=f"no usable reply: {error}")
        except (NotFound, ActionRefused) as error:
            refused = isinstance(error, ActionRefused)
            outcome = Outcome(ok=False, error=str(error), refused=refused)
        self.log.emit(Acted(tool=call.tool, input=call.input, ok=False, error=outcome.error))
        step.grounded = GroundedCall(call, call.input, call.actions)
        return outcome

    async def _plan(self, step: Step) -> ToolCall:
        """The planner's call; a hook may interrupt it, and the planner may answer that with a call.

        Raises:
            ActionRefused: a hook did, and says why.
        """
        own = asyncio.current_task()
        assert own is not None, "a run is a task"
        stops = own.cancelling()
        plan = self.planner.plan(step.task, step.look, step.view)
        step.planning = asyncio.ensure_future(plan)
        try:
            call = await step.planning
        except asyncio.CancelledError:
            if not step.interrupted or own.cancelling() > stops:
                raise
            raise ActionRefused(step.interrupted) from None
        finally:
            step.planning = None
        if own.cancelling() > stops:  # the planner caught what was to stop the run
            raise asyncio.CancelledError
        return call

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
