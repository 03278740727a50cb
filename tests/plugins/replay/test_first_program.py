"""A program before a planner: its calls have their places, and what it cannot do is handed on."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, cast

import pytest

import hisa
from hisa.actions import Click
from hisa.errors import UsageError
from hisa.events import Event, Grounded, Noted
from hisa.hooks import Hooks, Run, Step
from hisa.plugins.replay.program_planners import FirstProgram, fitting_program
from hisa.plugins.replay.program_player import ProgramPlayer
from hisa.plugins.replay.program_records import Program, ProgramStep, Target, write_program
from hisa.plugins.replay.target_ladder import target_of
from hisa.protocols import Planner, StateView, Task, ToolCall
from hisa.runs.run_reader import load_run
from hisa.screen.observation import Observation
from hisa.testing import FakeEnvironment, FunctionModel
from tests.plugins.replay.order_looks import ANN, BO, CY, button_of, look, orders

TASK = Task("ship", "Ship order 1022.")


class Other:
    """A planner that says that it is done; ``views`` holds what it was shown."""

    def __init__(self, call: ToolCall | None = None) -> None:
        self.call = call or ToolCall("", "termination", {"summary": "done"})
        self.views: list[StateView] = []

    async def plan(self, task: Task, observation: Observation, view: StateView) -> ToolCall:
        self.views.append(view)
        return self.call


class EventCollector:
    """A log that keeps events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event, /) -> None:
        self.events.append(event)


def store_click_program(folder: Path, target: Target, *, proved: bool = True) -> Path:
    """A folder with a program of one click."""
    program = Program(
        name="ship",
        instruction="Ship order 1022.",
        screen=(1280, 720),
        task={},
        steps=(ProgramStep(action="pyautogui.click(740, 110)", targets=(target,)),),
        proof={"run": "r", "by": "check", "at": "2026-11-26"} if proved else None,
    )
    write_program(program, folder / "ship")
    return folder


async def begin_run(planner: Planner) -> tuple[Run, EventCollector, Hooks]:
    """A run with the planner as a hook of it."""
    log, nothing = EventCollector(), cast(Any, None)
    assert isinstance(planner, FirstProgram | ProgramPlayer)
    hooks = Hooks([planner])
    run = Run(TASK, nothing, nothing, cast(Any, log), hooks)
    await hooks.call("on_start", run)
    return run, log, hooks


async def plan_step(planner: Planner, run: Run, observation: Observation, hooks: Hooks) -> Step:
    """A step up to the moment before its call is grounded."""
    step = Step(1, run, observation, StateView())
    step.call = await planner.plan(run.task, observation, step.view)
    await hooks.call("after_plan", step)
    return step


def ship(observation: Observation) -> Target:
    return target_of(button_of(observation, BO), observation)


async def test_a_programs_click_has_its_place_and_is_not_searched_for(tmp_path: Path) -> None:
    observation, other = look(orders([ANN, BO, CY])), Other()
    planner = FirstProgram(store_click_program(tmp_path, ship(observation)), other)
    run, log, hooks = await begin_run(planner)
    step = await plan_step(planner, run, observation, hooks)
    assert step.call is not None
    assert step.call.by_program
    assert step.grounded is not None
    (action,) = step.grounded.actions
    assert isinstance(action, Click)
    assert action.at == observation.convert(button_of(observation, BO).box.centre, "image")
    assert not other.views
    assert [e for e in log.events if isinstance(e, Grounded)]
    assert "the program ship goes first" in [e.text for e in log.events if isinstance(e, Noted)]


async def test_the_planner_behind_a_program_goes_on_for_good_where_it_ends(tmp_path: Path) -> None:
    observation = look(orders([ANN, BO, CY]))
    planner = FirstProgram(store_click_program(tmp_path, ship(observation)), other := Other())
    run, _, hooks = await begin_run(planner)
    gone = look(orders([ANN, CY]))
    for _ in range(30):
        step = await plan_step(planner, run, gone, hooks)
        if other.views:
            break
    assert step.call is other.call
    assert step.grounded is None, "the other planner's call is left to the run's grounder"
    assert "a stored program did 0 steps and ends" in other.views[0].notice
    await plan_step(planner, run, observation, hooks)
    assert [bool(view.notice) for view in other.views] == [True, False]


def test_a_task_in_the_same_words_has_its_program_and_no_other_has(tmp_path: Path) -> None:
    observation = look(orders([ANN, BO, CY]))
    place = store_click_program(tmp_path, ship(observation)) / "ship"
    assert fitting_program(Task("t", "Ship  order\n1022."), tmp_path) == place
    reason = fitting_program(Task("t", "Ship order 1023."), tmp_path)
    assert reason == "no proved program has its instruction"
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "program.yaml").write_text("a: 1")
    shutil.copytree(place, tmp_path / "twin")
    assert "all fit it" in str(fitting_program(TASK, tmp_path))
    assert fitting_program(TASK, tmp_path / "nowhere") == "no proved program has its instruction"


async def test_a_run_that_goes_on_begins_no_program(tmp_path: Path) -> None:
    observation = look(orders([ANN, BO, CY]))
    planner = FirstProgram(store_click_program(tmp_path, ship(observation)), other := Other())
    await begin_run(planner)
    view = StateView(lines=("Step 1: gui_action | Result: Succeeded.",))
    call = await planner.plan(TASK, observation, view)
    assert call is other.call, "what a program did is not done twice"


def test_a_program_without_a_proof_goes_before_no_planner(tmp_path: Path) -> None:
    observation = look(orders([ANN, BO, CY]))
    place = store_click_program(tmp_path, ship(observation), proved=False) / "ship"
    with pytest.raises(UsageError, match="no second run proved it"):
        FirstProgram(place, Other())


async def test_an_agent_plays_a_program_before_its_planner(tmp_path: Path) -> None:
    form, state = FakeEnvironment(), FunctionModel(lambda _: "Succeeded. It did.")
    observation = await form.observe(elements=True)
    save = next(e for e in observation.elements or () if e.name == "Save")
    planner = FirstProgram(
        store_click_program(tmp_path, target_of(save, observation)), other := Other()
    )
    agent = hisa.Agent(
        {"planner": state, "state": state},
        planner=planner,
        environment=form,
        settings=hisa.Settings.model_validate(
            {"run": {"folder": tmp_path / "runs"}, "patterns": {"enabled": False}}
        ),
    )
    result = await agent.run(TASK)
    assert (result.status, result.steps) == ("succeeded", 2)
    assert form.acted, "the button was clicked"
    assert not other.views, "the program does all of it"
    assert not state.requests, "no model writes of what a program does"
    run = load_run(result.folder)
    (grounded,) = [event for event in run.events if isinstance(event, Grounded)]
    assert grounded.places[0].source == "planner", "nothing was searched for"
