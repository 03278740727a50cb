"""The loop: the eight steps of HiSA (section 3.4), in the paper's order, on one page."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from hisa.errors import (
    ActionRefused,
    BudgetExceeded,
    EnvironmentFailed,
    HisaError,
    InvalidReply,
    ModelUnavailable,
    NotFound,
)
from hisa.events import Acted, Evaluated, Event, Failed, Observed, RunFinished, StepFinished
from hisa.observation import Observation
from hisa.protocols import (
    Environment,
    ExitStatus,
    GroundedCall,
    Grounder,
    Outcome,
    Planner,
    Scorer,
    StateManager,
    Task,
    Toolbox,
    ToolCall,
)

__all__ = ["Agent", "Recorder", "Result"]

MAX_UNUSABLE = 3
"""Steps in a row without a usable reply after which the model is given up."""


class Recorder(Protocol):
    """Where a run is written down; `hisa.runs.RunLog` is one."""

    id: str
    step: int

    def emit(self, event: Event, /) -> object:
        """Record an event; what comes back is not looked at."""
        ...

    async def save(self, png: bytes, /) -> str:
        """Keep a picture; its SHA-256 comes back."""
        ...


@dataclass(frozen=True)
class Result:
    """How a run ended."""

    run_id: str
    status: ExitStatus
    message: str = ""
    score: float | None = None
    steps: int = 0


@dataclass(frozen=True)
class _Ending:
    status: ExitStatus
    message: str = ""


class Agent:
    """Runs tasks on a computer.

    Args:
        planner, grounder, state, tools: the parts; see `hisa.protocols`.
        environment: a started one.
        scorer: prepares and scores tasks.
        log: gets every event and picture.
        max_steps: limit of steps (HiSA, section 4.3: 50).
        elements: ask the environment for accessibility elements in each look, for a planner
            that reads them.
        settle: longest wait, in seconds, for the screen to stop changing.
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
    ) -> None:
        self.planner, self.grounder, self.state, self.tools = planner, grounder, state, tools
        self.environment, self.scorer, self.log = environment, scorer, log
        self.max_steps, self.elements, self.settle = max_steps, elements, settle
        self._unusable = 0
        self._seconds: dict[str, float] = {}

    async def run(self, task: Task, *, done: int = 0) -> Result:
        """Run a task to its end; it always ends with one `ExitStatus`.

        Args:
            task: what to do.
            done: steps already done, where a run goes on: the desktop and the state are as
                they were after that step.
        """
        self._task = task
        try:
            ending = await self._episode(done)
        except BudgetExceeded as error:
            ending = _Ending("budget", str(error))
        except (ModelUnavailable, InvalidReply) as error:
            ending = _Ending("model_error", str(error))
        except EnvironmentFailed as error:
            self._failed("environment", error)
            ending = _Ending("environment_error", str(error))
        except asyncio.CancelledError:
            self._uncancel()
            ending = _Ending("stopped", "stopped by a person")
        except Exception as error:  # a defect: written down, then seen by the developer
            self._failed("hisa", error)
            raise
        score = await self._conclude(ending)
        self.log.emit(RunFinished(exit_status=ending.status, message=ending.message, score=score))
        return Result(self.log.id, ending.status, ending.message, score, self.log.step)

    async def _episode(self, done: int) -> _Ending:
        if not done:
            await self.environment.reset()  # 1: the initial state and the first screenshot
            self._task = await self.scorer.prepare(self._task, self.environment)
            await self.state.recall(self._task)  # 2: patterns and SOPs, made into advice
        observation = await self._look()
        for number in range(done + 1, self.max_steps + 1):
            self.log.step = number
            observation, outcome = await self.step(self._task, observation)
            if outcome.ends:
                return _Ending(outcome.ends, outcome.output)
        return _Ending("max_steps", f"{self.max_steps} steps without termination")

    async def step(self, task: Task, before: Observation) -> tuple[Observation, Outcome]:
        """Steps 3 to 6 of the paper: plan, ground, act, abstract, refine."""
        self._seconds = {}
        grounded, outcome = await self._plan_and_act(task, before)
        with self._phase("observe"):
            after = before if outcome.ends else await self._look()
        with self._phase("abstract"):
            await self.state.abstract(grounded, before, after, outcome)  # 5
        with self._phase("refine"):
            await self.state.refine_if_due(task)  # 6: every N steps
        self.log.emit(StepFinished(seconds=self._seconds))
        return after, outcome

    async def _plan_and_act(self, task: Task, before: Observation) -> tuple[GroundedCall, Outcome]:
        """What the model can react to becomes a failed outcome that it reads in its history."""
        call = ToolCall(thought="", tool="none", input="")
        try:
            with self._phase("plan"):
                call = await self.planner.plan(task, before, self.state.view())  # 3
            self._unusable = 0
            with self._phase("ground"):
                grounded = await self.grounder.resolve(call, before)  # 4
            with self._phase("act"):
                return grounded, await self.tools.execute(grounded, before, self.environment)
        except InvalidReply as error:
            self._unusable += 1
            if self._unusable >= MAX_UNUSABLE:
                raise
            failure = f"no usable reply: {error}"
        except (NotFound, ActionRefused) as error:
            failure = str(error)
        outcome = Outcome(ok=False, error=failure)
        self.log.emit(Acted(tool=call.tool, input=call.input, ok=False, error=failure))
        return GroundedCall(call, call.input, call.actions), outcome

    async def _look(self) -> Observation:
        started = time.monotonic()
        observation = await self.environment.observe(elements=self.elements, settle=self.settle)
        seconds = time.monotonic() - started
        png = await asyncio.to_thread(lambda: observation.screenshot.png)
        active = observation.active
        self.log.emit(
            Observed(
                image=await self.log.save(png),
                width=observation.image.width,
                height=observation.image.height,
                screen_width=observation.screen.width,
                screen_height=observation.screen.height,
                window=active.title if active else "",
                windows=tuple(window.title for window in observation.windows),
                elements=None if observation.elements is None else len(observation.elements),
                seconds=seconds,
                complete=observation.complete,
            )
        )
        return observation

    async def _conclude(self, ending: _Ending) -> float | None:
        """Steps 7 and 8. What breaks here is recorded and does not change how the run ended."""
        score: float | None = None
        task = self._task
        try:
            if ending.status in ("succeeded", "infeasible"):
                await self.state.induct(task, self.log.id)  # 7: never sees the score
            if ending.status not in ("environment_error", "stopped"):
                score, detail = await self.scorer.score(task, self.environment, ending.status)  # 8
                self.log.emit(Evaluated(score=score, detail=detail))
                won = score > 0 if score is not None else ending.status == "succeeded"
                await self.state.credit(won=won)
        except asyncio.CancelledError:
            self._uncancel()
        except HisaError as error:
            self._failed("conclusion", error)
        return score

    def _failed(self, where: str, error: Exception) -> None:
        text = "".join(traceback.format_exception(error))
        self.log.emit(
            Failed(where=where, kind=type(error).__name__, message=str(error), traceback=text)
        )

    @staticmethod
    def _uncancel() -> None:
        current = asyncio.current_task()
        if current is not None:
            current.uncancel()

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            self._seconds[name] = time.monotonic() - started
