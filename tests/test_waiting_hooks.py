"""Hooks that interrupt a plan, wait after a step, or join while others are called."""

from __future__ import annotations

import asyncio
from pathlib import Path

import hisa
from hisa.events import Event
from hisa.hooks import Hook, Hooks, Step, StepAction
from hisa.protocols import StateView, Task, ToolCall
from hisa.runs.run_reader import load_run
from hisa.screen.observation import Observation
from hisa.testing import FakeEnvironment, FunctionModel

DONE = ToolCall("It is done.", "termination", "done")
WAIT = ToolCall("I wait.", "wait", "0.01")


class Planner:
    """Thinks for ever at its first step, and is done at the second."""

    def __init__(self, answer: ToolCall | None = None) -> None:
        self.answer, self.thinks, self.views = answer, asyncio.Event(), list[StateView]()

    async def plan(self, task: Task, observation: Observation, view: StateView) -> ToolCall:
        """A plan; the answer to being cancelled, where there is one."""
        self.views.append(view)
        if len(self.views) > 1:
            return DONE
        self.thinks.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if self.answer is None:
                raise
            return self.answer
        raise AssertionError("nobody ends the wait")


class Interrupting(Hook):
    """Interrupts the first plan once the planner thinks."""

    def __init__(self, planner: Planner) -> None:
        self.planner = planner

    async def before_plan(self, step: Step) -> None:
        """Begin to wait for it."""

        async def interrupt() -> None:
            await self.planner.thinks.wait()
            if step.number == 1 and step.planning is not None:
                step.interrupted = "nothing was done: somebody came"
                step.planning.cancel()

        self.work = asyncio.create_task(interrupt())

    async def on_end(self, run: object) -> None:
        """Wait no longer."""
        self.work.cancel()


async def run(
    folder: Path, planner: Planner, *hooks: Hook, form: FakeEnvironment | None = None
) -> hisa.RunResult:
    """A run of the form in memory."""
    tree = {"patterns": {"enabled": False}, "state": {"steps": "raw"}, "run": {"folder": folder}}
    return await hisa.run(
        "Wait.",
        settings=hisa.Settings.model_validate(tree),
        planner=planner,
        model=FunctionModel(lambda request: "nothing"),
        environment=form or FakeEnvironment(),
        hooks=hooks,
    )


def events_of(result: hisa.RunResult) -> list[Event]:
    return list(load_run(result.folder).events)


async def test_an_interrupted_plan_is_a_failed_step_that_the_planner_reads(tmp_path: Path) -> None:
    planner = Planner()
    result = await run(tmp_path, planner, Interrupting(planner))
    assert (result.status, result.steps) == ("succeeded", 2)
    acted = [event for event in events_of(result) if event.type == "acted"]
    assert [event.ok for event in acted] == [False, True]
    assert "somebody came" in planner.views[1].steps[-1]


async def test_a_planner_may_answer_an_interruption_with_a_call(tmp_path: Path) -> None:
    planner = Planner(answer=WAIT)
    result = await run(tmp_path, planner, Interrupting(planner))
    assert (result.status, result.steps) == ("succeeded", 2)
    acted = [event for event in events_of(result) if event.type == "acted"]
    assert [(event.tool, event.ok) for event in acted] == [("wait", True), ("termination", True)]


async def test_run_stops_even_if_its_planner_answers_after_the_stop(
    tmp_path: Path,
) -> None:
    planner = Planner(answer=WAIT)
    work = asyncio.create_task(run(tmp_path, planner))
    await planner.thinks.wait()
    work.cancel()
    result = await work
    assert result.status == "stopped"
    assert len(planner.views) == 1
    assert not [event for event in events_of(result) if event.type == "acted"]


async def test_a_step_is_done_before_a_hook_waits_after_it(tmp_path: Path) -> None:
    def read_events() -> list[Event]:
        (folder,) = tmp_path.iterdir()
        return list(load_run(folder).events)

    class Waiting(Hook):
        async def after_step(self, step: Step) -> None:
            event_types.extend(event.type for event in (await asyncio.to_thread(read_events)))
            work.cancel()
            await asyncio.Event().wait()

    event_types: list[str] = []
    planner = Planner(answer=WAIT)
    work = asyncio.create_task(run(tmp_path, planner, Interrupting(planner), Waiting()))
    result = await work
    assert (result.status, result.steps) == ("stopped", 1)
    assert event_types[-1] == "step_finished", "killed while it waits, the step is not done again"


async def test_the_next_step_looks_anew_where_a_hook_takes_its_look_away(tmp_path: Path) -> None:
    class Blinding(Hook):
        blinds = False

        async def before_plan(self, step: Step) -> None:
            observations.append(step.look)

        async def after_step(self, step: Step) -> None:
            after.append(step.after)
            if self.blinds:
                step.after = None

    for blinds in (False, True):
        observations: list[Observation] = []
        after: list[Observation | None] = []
        hook, planner = Blinding(), Planner(answer=WAIT)
        hook.blinds = blinds
        await run(tmp_path / str(blinds), planner, Interrupting(planner), hook)
        assert (observations[1] is after[0]) is not blinds


async def test_a_hook_that_joins_at_a_moment_is_called_at_that_moment() -> None:
    called: list[str] = []

    class Late(Hook):
        async def before_action(self, step: Step, action: StepAction) -> None:
            called.append("late")

    class Early(Hook):
        async def before_action(self, step: Step, action: StepAction) -> None:
            called.append("early")
            if called == ["early"]:
                hooks.add(Late())

    hooks = Hooks([Early()])
    await hooks.call("before_action", None, None)
    assert called == ["early", "late"]
    await hooks.call("before_action", None, None)
    assert called == ["early", "late"] * 2
