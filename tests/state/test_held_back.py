"""Whole runs of models that do not learn: the same failure never comes three times in a row."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import hisa
from hisa.config import load
from hisa.events import Abstracted, Acted, Event, HeldBack, Planned
from hisa.protocols import CommandResult, ModelRequest
from hisa.runs.log import RunLog
from hisa.runs.resume import resume_point
from hisa.runs.run_reader import Run, load_run
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import FunctionModel, tool_call
from tests.bench import click, state_words, together
from tests.plugins.computer_use.test_computer import click as computer_click
from tests.plugins.computer_use.test_computer import run as computer_run
from tests.runs.sample import TASK

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


def held_back(events: Iterable[Event]) -> list[int]:
    """The steps whose call was not made again."""
    return [event.step for event in events if isinstance(event, HeldBack)]


def failures(run: Run) -> list[str]:
    return [event.error for event in run.events if isinstance(event, Acted) and not event.ok]


@pytest.mark.parametrize("reply", [LOST, VOID, DENIED, FALSE], ids=["lost", "void", "no", "fails"])
async def test_a_model_that_never_learns_has_its_call_executed_twice_at_most(
    tmp_path: Path, reply: str
) -> None:
    run, _, _ = await run_of(tmp_path, reply)
    assert len(run.steps) == 7
    assert len(held_back(run.events)) >= 2
    executed_acts = [
        e for e in run.events if isinstance(e, Acted) and (e.ok or e.exit_code is not None)
    ]
    assert len(executed_acts) <= 2


async def test_the_model_reads_which_call_was_held_back_why_and_other_tools(tmp_path: Path) -> None:
    run, form, model = await run_of(tmp_path, LOST, 3)
    step, *_ = held_back(run.events)
    message = failures(run)[step - 1]
    for words in (
        "not done again: it failed in step 1 and the screen has not changed since. It said: “",
        "use another tool: bash_execution, wait",
        "call wait first",
    ):
        assert words in message
    prompts = [request.text for request in model.requests if request.role == "planner"]
    assert "not done again: it failed in step 1" in prompts[2]
    assert not form.acted


async def test_held_back_act_is_not_grounded(tmp_path: Path) -> None:
    run, _, _ = await run_of(tmp_path, LOST, 2)
    assert [event.type for event in run.events].count("grounding_failed") == 1


async def test_another_call_is_made_at_once(tmp_path: Path) -> None:
    replies = iter([LOST, LOST, click('button "Save"'), LOST])
    run, form, _ = await run_of(tmp_path, lambda _: next(replies), 4)
    assert held_back(run.events) == [2]
    assert len(form.acted) == 1  # saving changed the screen, so that the last one is looked for


@pytest.mark.parametrize("planner", [{"sequence": 3}, {"samples": 2}])
async def test_sequences_and_samples_are_held_back_too(
    tmp_path: Path, planner: dict[str, object]
) -> None:
    reply = together(VOID, VOID) if "sequence" in planner else VOID
    run, form, _ = await run_of(tmp_path, reply, 6, **planner)
    assert held_back(run.events)
    assert len(form.acted) <= 4


def test_a_computer_tool_is_held_back_too(tmp_path: Path) -> None:
    form = FakeEnvironment()
    answers = iter([computer_click(900, 600)] * 20)
    _, run, _ = computer_run(tmp_path, lambda _: next(answers), form)
    assert held_back(run.events)[0] == 3


def test_replay_skips_held_back_acts(tmp_path: Path) -> None:
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
