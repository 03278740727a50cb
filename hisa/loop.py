"""The loop: the eight steps of HiSA (section 3.4), in the paper's order, on one page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from hisa.conclusion import Conclusion, uncancel, write_end
from hisa.errors import ActionRefused, InvalidReply, LogFailed, NotFound, with_fix
from hisa.events import Acted, Event, StepFinished
from hisa.hooks import Hooks, Run, Step
from hisa.looker import Looker
from hisa.protocols import (
    ActingTime,
    Environment,
    ExitStatus,
    GroundedCall,
    Grounder,
    Outcome,
    Planner,
    Recorder,
    Result,
    Scorer,
    StateManager,
    Task,
    Toolbox,
    ToolCall,
)
from hisa.screen.observation import Observation
from hisa.sequence import ground_calls, make_calls, plan_call

__all__ = ["Loop"]

MAX_UNUSABLE = 3
"""The run ends after so many steps in a row without a usable reply."""


@dataclass(frozen=True)
class _Ending:
    status: ExitStatus
    message: str = ""


def _ending(outcome: Outcome | None) -> _Ending | None:
    """Returns how a step's outcome ends the run; None if the run goes on."""
    return _Ending(outcome.ends, outcome.output) if outcome and outcome.ends else None


class Loop(Looker):
    """Runs tasks on a computer; `hisa.Agent` makes one for each run.

    Args:
        planner, grounder, state, tools: the parts; see `hisa.protocols`.
        environment: a started one.
        scorer: prepares and scores tasks.
        log: records every event and picture; its ``step`` is the number of steps already done.
        hooks: called at the moments of a run; see `hisa.hooks`.
        max_steps: limit of steps (HiSA, section 4.3: 50).
        elements: whether the looks on which steps are decided and judged have accessibility
            elements: an action is checked against the element at its place.
        settle: longest wait, in seconds, for the screen to stop changing.
        stale: age in seconds from which on a look is taken again before the planner gets it.
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
        super().__init__(environment, log, elements=elements, settle=settle, stale=stale)
        self.planner, self.grounder, self.state = planner, grounder, state
        self.tools, self.scorer = tools, scorer
        self.hooks = hooks or Hooks()
        self.max_steps = max_steps
        self._unusable = 0
        self._acted: ActingTime | None = None
        self._step: Step | None = None

    def hear(self, event: Event) -> None:
        """Add an event to the present step, for hooks."""
        if self._step is not None:
            self._step.events.append(event)

    async def run(
        self,
        task: Task,
        *,
        end_outcome: Outcome | None = None,
        on_result: Callable[[Result], object] = lambda _: None,
    ) -> Result:
        """Run a task to its end, score it, report the result, then learn from the run.

        Args:
            task: what the agent has to do.
            end_outcome: for a resumed run whose last step already ended it: the outcome of that
                step. The run is then only scored.
            on_result: called with the result before the learning, which can take long.

        Raises:
            LogFailed: the log cannot be written.
            Exception: a defect, or an `OperatorError` without an exit status of its own; the log
                has the traceback and an end.
        """
        result = await self.perform(task, end_outcome=end_outcome)
        on_result(result)
        await self.learn(result)
        return result

    async def perform(self, task: Task, *, end_outcome: Outcome | None = None) -> Result:
        """Run a task to its end and score it, as `run` does, without learning from it."""
        self.begin(task)
        try:
            return await self._perform(end_outcome)
        finally:
            await self._conclusion.call_end_hooks(self._run)

    def begin(self, task: Task) -> None:
        """Make the `Run` that hooks get."""
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

    async def _perform(self, end_outcome: Outcome | None) -> Result:
        try:
            ending = _ending(end_outcome) or await self._episode()
        except asyncio.CancelledError:
            uncancel()
            ending = _Ending("stopped", "stopped by a person")
        except LogFailed:
            raise
        except Exception as error:  # the border of a run: every log has exactly one end
            status = write_end(self.log, error, self._acted)
            if status is None:
                raise
            ending = _Ending(status, with_fix(error))
        self._run.result = await self._conclusion.finish(
            self._run.task, ending.status, ending.message, begun=self._begun
        )
        return self._run.result

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
        observation: Observation | None = await self.see()
        self._acted = ActingTime.from_now()
        while self.log.step < self.max_steps:
            self.log.step += 1
            observation, outcome = await self.do_step(observation)
            if ending := _ending(outcome):
                return ending
            if reason := await self.scorer.over(run.task, self.environment):
                return _Ending("ended", reason)
        return _Ending("max_steps", f"{self.max_steps} steps without termination")

    async def do_step(self, before: Observation | None) -> tuple[Observation | None, Outcome]:
        """Steps 3 to 6 of the paper: plan, ground, act, abstract, refine."""
        self.seconds = {}
        before = await self.refresh(before)  # the planner must see the screen as it is now
        step = self._step = Step(self.log.step, self._run, before, self.state.view(before))
        step.before, self._run.step = before, step
        step.outcome = outcome = await self._plan_and_act(step)
        step.after = step.before if outcome.ends else await self.see()
        assert step.grounded is not None, "every step has a call, if none was usable an empty one"
        with self.phase("abstract"):
            step.line = await self.state.abstract(step.grounded, step.before, step.after, outcome)
        if not outcome.ends:  # 5, and 6 every N steps
            with self.phase("refine"):
                await self.state.refine_if_due(step.task)
        self.log.emit(StepFinished(seconds=self.seconds))
        self._begun = True
        await self.hooks.call("after_step", step)  # a hook may wait here: the step is done
        self._step = None
        return step.after, step.outcome

    async def _plan_and_act(self, step: Step) -> Outcome:
        """Plan, ground and execute a step; returns the outcome.

        A failure that the model can react to becomes a failed outcome, which the planner reads in
        the step's line.

        Raises:
            InvalidReply: `MAX_UNUSABLE` steps in a row had no usable reply.
        """
        call, observation = ToolCall(thought="", tool="none", input=""), step.look
        try:
            with self.phase("hooks"):
                await self.hooks.call("before_plan", step)
            with self.phase("plan"):
                call = step.call = await plan_call(step, self.planner)  # 3
            self._unusable = 0
            step.before = await self.look_after_plan(observation)
            with self.phase("hooks"):
                await self.hooks.call("after_plan", step)
            call = step.call
            if step.grounded is None:
                with self.phase("ground"):
                    step.grounded = await ground_calls(call, observation, self.grounder)  # 4
            with self.phase("act"):
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
