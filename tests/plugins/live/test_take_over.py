"""The safe points of a run that a person steers: what waits, what is refused, what is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any

import pytest

from hisa.errors import ActionRefused
from hisa.hooks import Hook, Hooks, Moment, Run, Step, StepAction
from hisa.plugins.live.watched.gate import Gate, Refused
from hisa.plugins.live.watched.take_over import TakeOver
from hisa.protocols import GroundedCall, StateView, Task, ToolCall
from hisa.testing import FakeEnvironment

CLICK = ToolCall("I click.", "gui_action", "pyautogui.click(1, 1)")
WAIT = ToolCall("I wait.", "wait", "1")
SAFE: tuple[Moment, ...] = ("before_plan", "after_plan", "before_action", "after_step")
LINE = "a person had the machine for 3 s and gave it back."


@dataclass
class SteeredRun:
    """One step of a run with the hook, by hand."""

    step: Step
    hooks: Hooks
    gate: Gate = field(default_factory=Gate)

    def come_to(self, moment: Moment, call: ToolCall = CLICK) -> Awaitable[None]:
        """The hooks of a moment, as the loop calls them."""
        records: list[Any] = [self.step]
        if "action" in moment:
            grounded = GroundedCall(call, call.input)
            action = StepAction(grounded, self.step.look, 1, full_call=grounded)
            self.step.actions.append(action)
            records.append(action)
        else:
            self.step.call = call if moment != "before_plan" else None
        return self.hooks.call(moment, *records)

    async def have_it(self, viewer: str = "Ruth") -> None:
        """Take the machine over once the agent is parked, and give it back."""
        lease = await self.gate.take(viewer, self)
        self.gate.returned = await self.step.run.environment.observe()
        self.gate.drop(lease, (self.step.number, LINE))


async def start_run(lines: int = 0) -> SteeredRun:
    """A run in its first step, that a person steers."""
    gate, form, parts = Gate(), FakeEnvironment(), {"tools": None, "state": None, "log": None}
    gate.lines += [(1, f"line {number}") for number in range(lines)]
    hooks = Hooks([TakeOver(gate)])
    more: dict[str, Any] = parts
    run = Run(Task("t", "Click."), form, hooks=hooks, **more)
    gate.begin(run)
    observation = await form.observe(elements=True)
    run.step = Step(1, run, observation, StateView(lines=("1",), steps=("1",)), before=observation)
    return SteeredRun(run.step, hooks, gate)


async def settle() -> None:
    """Let everything that can go on do so."""
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.parametrize("moment", SAFE)
async def test_a_pause_holds_the_agent_at_its_next_safe_point(moment: Moment) -> None:
    run = await start_run()
    run.gate.pause("one")
    work = asyncio.ensure_future(run.come_to(moment))
    await settle()
    assert not work.done()
    assert run.gate.state == "paused"
    run.gate.resume("one")
    await work
    assert run.gate.state == "running"


@pytest.mark.parametrize("moment", SAFE[:3])
async def test_plan_from_before_a_take_over_is_refused(
    moment: Moment,
) -> None:
    run = await start_run()
    if moment != "before_plan":
        await run.come_to("before_plan")
    person = asyncio.ensure_future(run.have_it())
    await settle()
    with pytest.raises(ActionRefused, match=LINE):
        await run.come_to(moment)
    await person
    if moment != "before_plan":
        with pytest.raises(ActionRefused, match=LINE):
            await run.come_to("before_action")
    assert run.step.before is run.gate.returned


async def test_take_over_during_a_question_cancels_the_plan() -> None:
    run = await start_run()
    await run.come_to("before_plan")
    await run.come_to("after_plan")
    person = asyncio.ensure_future(run.have_it())
    with run.gate.idle():  # a confirmation that waits for its answer
        await person
    with pytest.raises(ActionRefused, match=LINE):
        await run.come_to("before_action")


async def test_hook_added_while_another_waits_takes_effect_at_once() -> None:
    gate = Gate()

    class Asking(Hook):
        async def before_action(self, step: Step, action: StepAction) -> None:
            person = asyncio.ensure_future(run.have_it())
            with gate.idle():  # its question waits, and the first viewer takes over
                run.hooks.add(TakeOver(gate))
                await person

    run = await start_run()
    run.gate, run.hooks = gate, Hooks([Asking()])
    with pytest.raises(ActionRefused, match=LINE):
        await run.come_to("before_action")


async def test_another_try_of_an_action_waits_as_well() -> None:
    run = await start_run()
    await run.come_to("before_plan")
    await run.come_to("before_action")
    person = asyncio.ensure_future(run.have_it())
    await settle()
    with pytest.raises(ActionRefused, match=LINE):
        await run.hooks.call("before_action", run.step, run.step.actions[0], again=True)
    await person


async def test_a_wait_that_a_planner_answers_a_take_over_with_is_done() -> None:
    run = await start_run()
    await run.come_to("before_plan")
    person = asyncio.ensure_future(run.have_it())
    await settle()
    await run.come_to("after_plan", WAIT)
    await person
    await run.come_to("before_action", WAIT)
    await run.come_to("after_action", WAIT)
    assert run.step.before is run.gate.returned, "what the person did is not the agent's"


async def test_the_next_step_looks_anew_once_a_person_had_the_machine() -> None:
    run = await start_run()
    run.step.after, before = await run.step.environment.observe(), run.step.before
    await run.come_to("after_step")
    observations = [run.step.after]
    person = asyncio.ensure_future(run.have_it())
    await settle()
    await run.come_to("after_step")
    await person
    observations.append(run.step.after)
    assert [observation is None for observation in observations] == [False, True]
    assert run.step.before is before, "the step is judged already"


async def test_resumed_run_shows_earlier_acts_of_persons() -> None:
    run = await start_run()
    run.gate.lines[:] = [(0, "at first"), (1, "long ago"), (3, "lately"), (9, "last")]
    run.hooks.add(TakeOver(run.gate))  # as in a run that is resumed
    run.hooks.remove(next(iter(run.hooks)))
    state = StateView(refined="So far.", lines=("1", "2", "3", "4"), steps=("3", "4"))
    run.step.view = state
    await run.come_to("before_plan")
    view = run.step.view
    assert view.notice == "", "it was read then"
    assert view.refined == "So far.\nAfter step 1, long ago"
    assert view.steps == ("3 After this step, lately", "4 After this step, last")
    run.gate.lines += [(4, "just now")]
    run.step.view = state
    await run.come_to("before_plan")
    assert run.step.view.notice == "just now Go on from the screen as it is now."
    run.step.view = state
    await run.come_to("before_plan")
    assert run.step.view.notice == ""


async def test_a_connection_that_is_gone_before_the_agent_is_parked_holds_nothing() -> None:
    run = await start_run()
    taking = asyncio.ensure_future(run.gate.take("Ruth", "one"))
    await settle()
    taking.cancel()
    await asyncio.wait([taking])
    assert run.gate.lease is None
    await run.come_to("before_plan")


async def test_viewer_waiting_for_an_ended_run_is_refused() -> None:
    run = await start_run()
    taking = asyncio.ensure_future(run.gate.take("Ruth", "one"))
    await settle()
    run.gate.close()
    with pytest.raises(Refused, match="has ended"):
        await taking
