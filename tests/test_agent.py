"""An agent composed from Python: each part a name or an object, everything with a default."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import hisa
from hisa.actions import Click
from hisa.errors import ActionRefused, HookFailed, OperatorError, UsageError
from hisa.events import Abstracted, Acted, Noted, RunFinished, RunStarted, SequenceStopped
from hisa.hooks import Hook, Run, Step, StepAction
from hisa.protocols import GroundedCall, ModelRequest, StateView, Task, ToolCall
from hisa.runs.run_reader import list_runs
from hisa.screen.observation import Observation
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import tool_call
from tests.bench import click, finish, together

Answer = Callable[[ModelRequest], Awaitable[str]]


def answers(*replies: str) -> Answer:
    """A model of a script: it plans these replies, and says of each step that it succeeded."""
    left = iter(replies)

    async def answer(request: ModelRequest) -> str:
        return next(left) if request.role == "planner" else "Succeeded. It went on."

    return answer


def settings(folder: Path, **more: Any) -> hisa.Settings:
    tree = {"patterns": {"enabled": False}, "run": {"folder": folder}}
    return hisa.Settings.model_validate(tree | more)


def lookup_price(item: str) -> str:
    """Look up what an item costs."""
    return f"{item}: 12 EUR"


class Moments(Hook):
    """Writes down when it is called."""

    def __init__(self) -> None:
        self.names: list[str] = []

    async def on_start(self, run: Run) -> None:
        self.names.append("start")

    async def before_plan(self, step: Step) -> None:
        self.names.append(f"plan {step.number}")

    async def after_plan(self, step: Step) -> None:
        self.names.append(f"planned {step.call.tool if step.call else ''}")

    async def before_action(self, step: Step, action: StepAction) -> None:
        self.names.append(f"act {action.number}")

    async def after_action(self, step: Step, action: StepAction) -> None:
        self.names.append(f"acted {action.number}")

    async def after_step(self, step: Step) -> None:
        self.names.append(f"step {step.number}: {len(step.events)} events")

    async def on_end(self, run: Run) -> None:
        self.names.append(run.result.status if run.result else "")


async def test_a_function_is_a_tool_and_another_the_model(tmp_path: Path) -> None:
    model = answers(tool_call("lookup_price", "lamp"), finish())
    agent = hisa.Agent(
        model, tools=[lookup_price], environment=FakeEnvironment(), settings=settings(tmp_path)
    )
    result = await agent.run("What does the lamp cost?")
    assert result.status == "succeeded"
    acted = [e for e in hisa.load_run(result.folder).events if isinstance(e, Acted)]
    assert (acted[0].tool, acted[0].output) == ("lookup_price", "lamp: 12 EUR")


async def test_a_planner_a_grounder_and_a_machine_of_ones_own_are_taken(tmp_path: Path) -> None:
    class Once:
        async def plan(self, task: Task, observation: Observation, view: StateView) -> ToolCall:
            return ToolCall("It is done.", "termination", f"{task.instruction} {observation.image}")

    class Unused:
        async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
            return GroundedCall(call, call.input, call.actions)

    opened: list[FakeEnvironment] = []

    async def machine() -> FakeEnvironment:
        opened.append(FakeEnvironment())
        return opened[-1]

    agent = hisa.Agent(
        answers(),
        planner=Once(),
        grounder=Unused(),
        environment=machine,
        settings=settings(tmp_path),
    )
    for number in (1, 2):
        result = await agent.run("Look.")
        assert (result.status, len(opened)) == ("succeeded", number)
        assert result.message.startswith("Look.")


async def test_a_planner_of_ones_own_writes_source_alone_or_a_tool_that_is_not_there(
    tmp_path: Path,
) -> None:
    calls = iter(
        [
            ToolCall("", "gui_action", "pyautogui.click(X_COORD, Y_COORD)", 'button "Save"'),
            ToolCall("", "gui_action", "import os"),
            ToolCall("", "lookup_prices", "lamp"),
            ToolCall("", "lookup_price", {"thing": "lamp"}),
            ToolCall("", "termination", "done"),
        ]
    )

    class Written:
        async def plan(self, task: Task, observation: Observation, view: StateView) -> ToolCall:
            return next(calls)

    form = FakeEnvironment()
    result = await hisa.run(
        "Save.",
        model=answers(),
        planner=Written(),
        tools=[lookup_price],
        environment=form,
        settings=settings(tmp_path),
    )
    acted = [e for e in hisa.load_run(result.folder).events if isinstance(e, Acted)]
    assert [e.ok for e in acted] == [True, False, False, False, True]
    assert [type(action) for action in form.acted] == [Click], "what was written is done"
    assert "unknown tool 'lookup_prices'" in acted[2].error
    assert "item" in acted[3].error


async def test_hooks_are_called_in_order_around_each_press(tmp_path: Path) -> None:
    moments = Moments()
    two = tool_call("gui_action", "pyautogui.click(400, 136); pyautogui.click(375, 237)")
    agent = hisa.Agent(
        answers(two, finish()),
        environment=FakeEnvironment(),
        hooks=[moments],
        settings=settings(tmp_path),
    )
    result = await agent.run("Press.")
    counted = [word.partition(":")[0] for word in moments.names]
    assert counted == [
        "start",
        *("plan 1", "planned gui_action", "act 1", "acted 1", "act 2", "acted 2", "step 1"),
        *("plan 2", "planned termination", "act 1", "acted 1", "step 2"),
        "succeeded",
    ]
    started = next(e for e in hisa.load_run(result.folder).events if isinstance(e, RunStarted))
    assert started.hooks[:2] == ("Moments", "repeats"), "the head of the log has their order"


class OneAction(Hook):
    async def before_action(self, step: Step, action: StepAction) -> None:
        if action.number > 1:
            raise ActionRefused("one action a step, please")


@pytest.mark.parametrize(
    "reply",
    [
        tool_call("gui_action", "pyautogui.click(400, 136); pyautogui.click(375, 237)"),
        together(click("the field labelled Name"), click('button "Save"')),
    ],
    ids=["a call of two presses", "a sequence of two calls"],
)
async def test_a_hook_stops_the_second_click(tmp_path: Path, reply: str) -> None:
    form = FakeEnvironment()
    chosen = settings(tmp_path, planner={"sequence": 3})
    result = await hisa.run(
        "Press.",
        model=answers(reply, finish()),
        environment=form,
        hooks=[OneAction()],
        settings=chosen,
    )
    events = hisa.load_run(result.folder).events
    assert [type(action) for action in form.acted if isinstance(action, Click)] == [Click]
    reasons = [e.error for e in events if isinstance(e, Acted)]
    reasons += [e.reason for e in events if isinstance(e, SequenceStopped)]
    assert any("one action a step, please" in reason for reason in reasons)


async def test_action_refused_by_a_hook_is_not_counted_as_made(tmp_path: Path) -> None:
    three = together(
        click("the field labelled Name"), click("the check box Agree"), click('button "Save"')
    )
    result = await hisa.run(
        "Press.",
        model=answers(three, finish()),
        environment=FakeEnvironment(),
        hooks=[OneAction()],
        settings=settings(tmp_path, planner={"sequence": 3}),
    )
    events = hisa.load_run(result.folder).events
    assert [e.ok for e in events if isinstance(e, Acted)] == [True, True], "one press, and the end"
    (stopped,) = [e for e in events if isinstance(e, SequenceStopped)]
    assert (stopped.made, stopped.of) == (1, 3)
    assert "one action a step, please" in stopped.reason
    line = next(e.line for e in events if isinstance(e, Abstracted))
    assert "Only 1 of 3 actions" in line
    assert "one action a step, please" in line


async def test_a_hook_replaces_the_call_and_another_ends_the_run(tmp_path: Path) -> None:
    from dataclasses import replace

    class Waits(Hook):
        async def after_plan(self, step: Step) -> None:
            step.call = ToolCall("", "wait", "0")

    class Ends(Hook):
        async def after_step(self, step: Step) -> None:
            assert step.outcome is not None
            step.outcome = replace(step.outcome, ends="ended", output="enough")

    form = FakeEnvironment()
    result = await hisa.run(
        "Save.",
        model=answers(click('button "Save"')),
        environment=form,
        hooks=[Waits(), Ends()],
        settings=settings(tmp_path),
    )
    assert (result.status, result.message, result.steps, form.acted) == ("ended", "enough", 1, [])


async def test_a_hook_that_fails_ends_the_run_by_its_name(tmp_path: Path) -> None:
    class Broken(Hook):
        async def before_action(self, step: Step, action: StepAction) -> None:
            raise ZeroDivisionError("ours")

    form = FakeEnvironment()
    with pytest.raises(HookFailed, match="hook 'Broken' failed in before_action"):
        await hisa.run(
            "Save.",
            model=answers(click('button "Save"')),
            environment=form,
            hooks=[Broken()],
            settings=settings(tmp_path),
        )
    assert form.acted == []
    (run,) = map(hisa.load_run, list_runs(tmp_path))
    ended = next(e for e in run.events if isinstance(e, RunFinished))
    assert "Broken" in ended.message


async def test_a_hook_that_only_watches_fails_without_harm(tmp_path: Path) -> None:
    class Watches(Hook):
        watches = True

        async def before_action(self, step: Step, action: StepAction) -> None:
            raise ActionRefused("it may not refuse either")

    form = FakeEnvironment()
    result = await hisa.run(
        "Save.",
        model=answers(click('button "Save"'), finish()),
        environment=form,
        hooks=[Watches()],
        settings=settings(tmp_path),
    )
    assert result.status == "succeeded"
    assert form.acted
    notes = [e.text for e in hisa.load_run(result.folder).events if isinstance(e, Noted)]
    assert any("Watches failed in before_action" in note for note in notes)


async def test_stream_yields_the_logged_events_and_closing_it_stops_the_run(
    tmp_path: Path,
) -> None:
    agent = hisa.Agent(
        answers(tool_call("wait", "0"), finish()),
        environment=FakeEnvironment(),
        settings=settings(tmp_path / "whole"),
    )
    kinds = [event.type async for event in agent.stream("Wait.")]
    (folder,) = list_runs(tmp_path / "whole")
    assert kinds == [event.type for event in hisa.load_run(folder).events]

    agent = hisa.Agent(
        answers(*[tool_call("wait", "0")] * 9),
        environment=FakeEnvironment(),
        settings=settings(tmp_path / "left"),
    )
    stream = agent.stream("Wait.")
    async for event in stream:
        if event.type == "step_finished":
            break
    await stream.aclose()
    (folder,) = list_runs(tmp_path / "left")
    assert hisa.load_run(folder).status == "stopped"


async def test_a_task_that_is_none_is_refused(tmp_path: Path) -> None:
    agent = hisa.Agent(answers(), environment=FakeEnvironment(), settings=settings(tmp_path))
    with pytest.raises(UsageError, match=r"task=3 is not allowed; it may be a hisa\.Task"):
        await agent.run(3)  # type: ignore[arg-type]


WRONG: Sequence[tuple[dict[str, Any], str]] = (
    ({"model": 3}, "model=3 is not allowed; it may be a name"),
    ({"model": {"plannr": "gpt-5"}}, "unknown role 'plannr'; roles: planner, state"),
    ({"tools": ["lookup_prices"]}, r"tools\[0\] = 'lookup_prices': no installed tool"),
    ({"tools": [lookup_price, 3]}, r"tools\[1\] = 3 is not allowed; a tool is a function"),
    ({"tools": [lambda item: item]}, r"tools\[0\]: .* has no docstring"),
    ({"planner": object()}, "planner=.*it has no method plan"),
    ({"grounder": "elemnts"}, "grounder.kind = 'elemnts': must be 'auto', 'cascade'"),
    ({"state": "rw"}, "state.steps = 'rw': must be 'abstracted' or 'raw'"),
    ({"environment": FakeEnvironment}, "environment=the class FakeEnvironment is not allowed"),
    ({"environment": "desktp"}, "environment 'desktp': allowed are desktop"),
    ({"planner": "chatt"}, "planner.kind = 'chatt': allowed are auto, chat"),
    ({"memory": 3}, "memory=3 .*it may be a hisa.state.base.Memory, off"),
    ({"tools": "calc_*"}, "tools='calc_.*' is not allowed; it may be a list of functions"),
    ({"tools": lookup_price}, "tools=.*is not allowed; it may be a list of functions"),
    ({"hooks": OneAction()}, "hooks=.*is not allowed; it may be a list of hisa.hooks.Hook"),
    ({"hooks": [3]}, r"hooks\[0\] = 3 is not a hisa.hooks.Hook"),
)


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_wrong_argument_is_refused_with_the_allowed_values(
    tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    usual = {
        "model": answers(),
        "environment": FakeEnvironment(),
        "settings": settings(tmp_path / "runs"),
    }
    with pytest.raises(OperatorError, match=message):
        hisa.run_sync("Go.", **usual | arguments)
    assert not (tmp_path / "runs").exists(), "nothing is left of a run that was refused"


def test_names_go_into_the_settings(tmp_path: Path) -> None:
    agent = hisa.Agent(
        {"planner": "gpt-5", "state": "gpt-5-mini"},
        planner="short",
        grounder="elements",
        state="raw",
        environment="desktop",
        memory=tmp_path,
        tools=["wait"],
        settings=settings(tmp_path),
    )
    chosen = agent.settings
    assert chosen.models.planner.model == "gpt-5"
    assert chosen.models.state is not None
    assert chosen.models.state.model == "gpt-5-mini"
    assert (chosen.planner.kind, chosen.grounder.kind) == ("short", "elements")
    assert (chosen.state.steps, chosen.environment.kind) == ("raw", "desktop")
    assert (chosen.patterns.enabled, chosen.patterns.path) == (True, tmp_path)
    assert "wait" in chosen.tools.allow


def test_a_machine_with_connections_is_not_used_in_another_loop(tmp_path: Path) -> None:
    from hisa.plugins.machines.guests.remote import RemoteEnvironment

    agent = hisa.Agent(
        answers(), environment=RemoteEnvironment("http://127.0.0.1:1"), settings=settings(tmp_path)
    )

    async def within() -> None:
        agent.run_sync("Go.")

    with pytest.raises(UsageError, match="while an event loop is running"):
        asyncio.run(within())
