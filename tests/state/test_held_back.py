"""Whole runs of models that do not learn: the same failure never comes three times in a row."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hisa
from hisa.config import load
from hisa.errors import InvalidReply
from hisa.events import Abstracted, Acted, Event, HeldBack, Planned, PlanRejected
from hisa.protocols import CommandResult, ModelRequest, ToolCall
from hisa.runs.log import RunLog
from hisa.runs.read import Run, load_run
from hisa.runs.resume import resume_point
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import FunctionModel, tool_call
from hisa.tools.base import Tool
from hisa.tools.builtin import gui_action, wait
from hisa.tools.registry import ToolRegistry
from tests.bench import click, state_words, together
from tests.plugins.computer_use.test_computer import click as computer_click
from tests.plugins.computer_use.test_computer import run as computer_run
from tests.runs.sample import TASK
from tests.state.failure_rows import failure_row, held_back

LOST = click("the Export button")
VOID = tool_call("gui_action", "pyautogui.click(900, 600)")
DENIED = tool_call("bash_execution", "rm -rf notes")
FALSE = tool_call("bash_execution", "cat notes.txt")


async def run_of(
    folder: Path, reply: str | Callable[[ModelRequest], str], steps: int = 7, **planner: object
) -> tuple[Run, FakeEnvironment, FunctionModel]:
    def answer(request: ModelRequest) -> str:
        if request.role == "judge":
            return json.dumps({"explaining": "Good.", "index": 1})
        if request.role != "planner":
            return state_words(request)
        return reply if isinstance(reply, str) else reply(request)

    overrides = {
        "run": {"folder": folder, "max_steps": steps},
        "planner": planner,
        "patterns": {"enabled": False},
        "policy": {"defaults": "never", "rules": [{"then": "deny", "command": "rm *"}]},
    }
    model = FunctionModel(answer)
    form = FakeEnvironment(commands={"cat notes.txt": CommandResult(1, "", "no such file")})
    result = await hisa.run(
        "Export it.",
        settings=load(overrides=overrides, environ={}),
        model=model,
        environment=form,
    )
    return load_run(result.folder), form, model


def failures(run: Run) -> list[str]:
    return [event.error for event in run.events if isinstance(event, Acted) and not event.ok]


@pytest.mark.parametrize("reply", [LOST, VOID, DENIED, FALSE], ids=["lost", "void", "no", "fails"])
async def test_a_model_that_never_learns_fails_twice_in_a_row_at_most(
    tmp_path: Path, reply: str
) -> None:
    run, _, _ = await run_of(tmp_path, reply)
    assert len(run.steps) == 7
    assert 1 <= failure_row(run.events) <= 2
    assert len(held_back(run.events)) >= 2
    assert any(
        "refused for this step" in e.error for e in run.events if isinstance(e, PlanRejected)
    )
    made = [e for e in run.events if isinstance(e, Acted) and (e.ok or e.exit_code is not None)]
    assert len(made) <= 2


async def test_the_model_is_told_what_was_not_done_why_and_what_there_is(tmp_path: Path) -> None:
    run, form, model = await run_of(tmp_path, LOST, 3)
    (step,) = held_back(run.events)
    message = failures(run)[step - 1]
    for words in (
        "not done again: it failed in step 1 and the screen has not changed since. It said: “",
        "push button “OK”, push button “Save”",
        "tools: bash_execution, wait",
        "call wait first",
    ):
        assert words in message
    asked = [request.text for request in model.requests if request.role == "planner"]
    assert "not done again: it failed in step 1" in asked[2]
    assert "refused for now: do something else" in asked[2]
    assert not form.acted


async def test_what_is_not_done_is_not_looked_for_either(tmp_path: Path) -> None:
    run, _, _ = await run_of(tmp_path, LOST, 2)
    assert [event.type for event in run.events].count("grounding_failed") == 1


async def test_another_call_is_made_at_once(tmp_path: Path) -> None:
    replies = iter([LOST, LOST, click('button "Save"'), LOST])
    run, form, _ = await run_of(tmp_path, lambda _: next(replies), 4)
    assert held_back(run.events) == [2]
    assert len(form.acted) == 1  # saving changed the screen, so that the last one is looked for
    assert failure_row(run.events) == 2


@pytest.mark.parametrize("planner", [{"sequence": 3}, {"samples": 2}])
async def test_sequences_and_samples_are_held_back_alike(
    tmp_path: Path, planner: dict[str, object]
) -> None:
    reply = together(VOID, VOID) if "sequence" in planner else VOID
    run, form, _ = await run_of(tmp_path, reply, 6, **planner)
    assert held_back(run.events)
    assert failure_row(run.events) <= 2
    assert len(form.acted) <= 4


def test_a_computer_tool_is_held_back_alike(tmp_path: Path) -> None:
    form = FakeEnvironment()
    answers = iter([computer_click(900, 600)] * 20)
    _, run, _ = computer_run(tmp_path, lambda _: next(answers), form)
    assert failure_row(run.events) <= 2
    assert held_back(run.events)[0] == 3


def test_a_replay_leaves_out_what_was_not_done(tmp_path: Path) -> None:
    with RunLog.create(tmp_path, TASK) as log:
        for number in (1, 2):
            log.step = number
            log.emit(Planned(thought="", tool="bash_execution", input="make"))
            if number == 2:
                log.emit(HeldBack(inputs=("make",), steps=(1,)))
            log.emit(Acted(tool="bash_execution", input="make", ok=False, error="broke"))
            log.emit(Abstracted(line="x", result="Failed."))
            log.emit(hisa.events.StepFinished())
    assert [act.step for act in resume_point(load_run(log.folder)).acts] == [1]


# ---------------------------------------------------------------- tools that are withdrawn


def export(name: str) -> str:
    """Export a page."""
    return name


def test_a_withdrawn_tool_is_neither_offered_nor_taken() -> None:
    gone: list[ToolCall] = []
    tools = ToolRegistry(
        [Tool(gui_action), Tool(wait), Tool(export, source="page")],
        withdrawn=lambda: gone[0] if gone else None,
    )
    task, look = hisa.Task("t", "Export a page."), _look()
    wrong = ToolCall("", "export", "a")
    assert "export" in tools.offer(task, look)
    tools.check(wrong)
    gone.append(wrong)
    assert "export" not in tools.offer(task, look)
    assert not [f for f in tools.functions(task, look) if f["name"] == "export"]
    with pytest.raises(
        InvalidReply, match=r"export is refused for this step.*; others: gui_action"
    ):
        tools.check(ToolCall("", "export", "b"))
    tools.check(ToolCall("", "wait", "2"))


def test_of_a_tool_for_everything_one_call_is_withdrawn() -> None:
    gone = ToolCall("", "gui_action", "pyautogui.click(1, 2)", "the bin")
    tools = ToolRegistry([Tool(gui_action)], withdrawn=lambda: gone)
    assert tools.names() == ("gui_action",)
    tools.check(ToolCall("", "gui_action", "pyautogui.click(3, 4)"))
    with pytest.raises(InvalidReply, match=r"the very same is refused.*; act on something else"):
        tools.check(ToolCall("", "gui_action", "pyautogui.click(1, 2)", "the dust bin"))


def _look() -> Any:
    from tests.state.scene import look

    return look()


# ---------------------------------------------------------------- the count itself


def told(step: int, *, error: str = "", held: bool = False, **seen: Any) -> list[Event]:
    source = "pyautogui.click(1, 2)"
    events: list[Event] = [Planned(step=step, thought="", tool="gui_action", input=source)]
    if held:
        events.append(HeldBack(step=step, inputs=(source,), steps=(1,)))
    acted = Acted(step=step, tool="gui_action", input=source, ok=not error, error=error)
    return [*events, acted, Abstracted(step=step, line="", result="Failed.", **seen)]


@pytest.mark.parametrize(
    ("steps", "row"),
    [
        ([told(1), told(2)], 0),
        ([told(1, error="no"), told(2, error="no"), told(3, error="no")], 3),
        ([told(1, error="no"), told(2, error="other"), told(3, error="no")], 1),
        ([told(1, error="no"), told(2, error="not done again", held=True)], 2),
        ([told(1, error="no", roi=(1, 1, 9, 9)), told(2, error="no")], 1),
        ([told(1, error="no"), told(2, error="no", moved=True)], 1),
        ([told(1, error="no"), told(2), told(3, error="no")], 1),
    ],
)
def test_failures_in_a_row_are_counted(steps: list[list[Event]], row: int) -> None:
    assert failure_row([event for step in steps for event in step]) == row
