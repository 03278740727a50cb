"""The loop on real parts around a scripted planner: it ends as it should, whatever comes."""

from __future__ import annotations

import ast
import gc
import inspect
import math
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import hisa.loop
from hisa.actions import Action
from hisa.config import load
from hisa.errors import EnvironmentFailed, UsageError
from hisa.events import (
    Acted,
    Failed,
    GroundingFailed,
    Observed,
    Planned,
    PlanRejected,
    Refined,
    RunFinished,
    StepFinished,
)
from hisa.loop import Loop
from hisa.protocols import ModelRequest, Task
from hisa.runs.run_reader import load_run
from hisa.screen.observation import Observation
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import FunctionModel, ScriptedModel, tool_call
from tests.bench import Bench, click, finish, say


async def test_a_form_is_filled_saved_and_the_run_succeeds(tmp_path: Path) -> None:
    planner = ScriptedModel(
        [
            click("the field labelled Name", "pyautogui.write('Ada')"),
            click("the check box Agree"),
            click('button "Save"'),
            finish("Saved."),
        ]
    )
    bench = Bench(tmp_path, planner)
    result, run = await bench.run()
    assert (result.status, result.steps, result.score) == ("succeeded", 4, None)
    assert isinstance(bench.environment, FakeEnvironment)
    assert bench.environment.text == "Ada"
    assert [step.number for step in run.steps] == [1, 2, 3, 4]
    assert run.status == "succeeded"
    acted = [event for event in run.events if isinstance(event, Acted)]
    assert acted[0].points == ((400.0, 136.0),)
    assert all(run.image(step.before.image) for step in run.steps if step.before)


@pytest.mark.parametrize(
    ("error", "where", "status", "message"),
    [
        (EnvironmentFailed("gone"), "environment", "environment_error", "gone"),
        (UsageError("no such task"), "refused", "refused", "no such task"),
        (KeyError("A1"), "hisa", "defect", "KeyError: 'A1'"),
    ],
)
async def test_log_records_the_error_that_ended_a_run(
    tmp_path: Path, error: Exception, where: str, status: str, message: str
) -> None:
    bench = Bench(tmp_path, ScriptedModel([error]))
    if status == "environment_error":
        assert (await bench.agent.run(bench.task)).message == message
    else:
        with pytest.raises(type(error)):
            await bench.agent.run(bench.task)
    run = load_run(bench.log.folder)
    kind = type(error).__name__
    finished = next(event for event in run.events if isinstance(event, RunFinished))
    assert (finished.exit_status, finished.message) == (status, message)
    (written,) = [event for event in run.events if isinstance(event, Failed)]
    assert (written.where, written.kind, written.message) == (where, kind, str(error))
    assert written.traceback.startswith("Traceback (most recent call last):\n  File ")
    assert written.traceback.endswith(f"{kind}: {error}\n")


class Waiting(FakeEnvironment):
    """A form that keeps what each look asked for; every look takes as long as it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.look_options: list[tuple[bool, float]] = []

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        self.look_options.append((elements, settle))
        return await super().observe(elements=elements, settle=settle)


@pytest.mark.parametrize(("elements", "settle"), [(True, 3.0), (False, 0.5)])
@pytest.mark.parametrize(("stale", "looks"), [(math.inf, 2), (-1.0, 4)])
async def test_look_uses_the_agent_options_and_is_retaken_when_stale(
    tmp_path: Path, elements: bool, settle: float, stale: float, looks: int
) -> None:
    environment = Waiting()
    bench = Bench(tmp_path, ScriptedModel([click("OK"), finish()]), environment=environment)
    bench.agent.elements, bench.agent.settle, bench.agent.stale = elements, settle, stale
    await bench.agent.run(bench.task)
    looked = [look for look in environment.look_options if look[1]]
    assert looked == [(elements, settle)] * looks


async def test_every_planner_request_is_bounded_for_500_steps(tmp_path: Path) -> None:
    texts: list[int] = []
    pictures: set[int] = set()

    def endless(request: ModelRequest) -> str:
        texts.append(len(request.text))
        pictures.add(request.images)
        planner.requests.clear()  # five hundred pictures are some gigabytes
        which = ("Agree", "OK", "Save")[request.step % 3]
        return click(f'"{which}"').replace("Go on.", "I think long. " * 100)

    def chatty(request: ModelRequest) -> str:
        state.requests.clear()
        return "Succeeded. " + "Much was to be seen at (10, 20). " * 400

    planner, state = FunctionModel(endless), FunctionModel(chatty)
    bench = Bench(tmp_path, planner, state=state, max_steps=500)
    result, run = await bench.run()
    assert (result.status, len(texts)) == ("max_steps", 500)
    assert pictures == {1}
    assert max(texts[10:]) <= 1.15 * max(texts[5:10])
    assert sum(isinstance(event, Refined) for event in run.events) == 100


async def test_looks_are_freed_as_a_run_goes_on(tmp_path: Path) -> None:
    """Without the collector: a screen of some megabytes must not wait for it."""
    observations: list[weakref.ref[Observation]] = []

    class Watching(FakeEnvironment):
        async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
            observation = await super().observe(elements=elements, settle=settle)
            observations.append(weakref.ref(observation))
            return observation

    alive: list[int] = []

    def endless(request: ModelRequest) -> str:
        alive.append(sum(observation() is not None for observation in observations))
        return click("OK")

    bench = Bench(tmp_path, FunctionModel(endless), environment=Watching(), max_steps=20)
    gc.disable()
    try:
        await bench.run()
    finally:
        gc.enable()
    assert max(alive[10:]) <= max(alive[3:6])


async def test_planner_learns_of_a_missing_control(tmp_path: Path) -> None:
    planner = ScriptedModel([click("button Explode"), say("infeasible", "no such button")])
    bench = Bench(tmp_path, planner)
    result, run = await bench.run()
    assert result.status == "infeasible"
    assert any(isinstance(event, GroundingFailed) for event in run.events)
    assert not [e for e in run.events if isinstance(e, Acted) and e.points]
    assert "Explode" in planner.requests[1].text.rsplit("<execution_history>", 1)[1]


async def test_bad_replies_cost_a_step_and_then_the_run(tmp_path: Path) -> None:
    bench = Bench(tmp_path, ScriptedModel(["nonsense"] * 9))
    result, run = await bench.run()
    assert result.status == "model_error"
    assert sum(isinstance(event, PlanRejected) for event in run.events) == 9
    assert sum(isinstance(event, StepFinished) for event in run.events) == 2


@pytest.mark.parametrize("calls", range(1, 6))
async def test_a_broken_machine_is_never_a_score(tmp_path: Path, calls: int) -> None:
    planner = FunctionModel(lambda _: click("OK"))
    bench = Bench(tmp_path, planner, environment=FakeEnvironment(fail_after=calls))
    bench.task = Task("t", "x", check={"all": [{"file": "/a", "contains": ("b",)}]})
    result, run = await bench.run()
    assert (result.status, result.score) == ("environment_error", None)
    assert any(isinstance(event, Failed) for event in run.events)


def test_the_loop_is_one_page_and_knows_protocols_only() -> None:
    source = inspect.getsource(hisa.loop)
    assert len(source.splitlines()) <= 250
    assert len(inspect.getsource(Loop.run).splitlines()) <= 40
    allowed = {"conclusion", "errors", "events", "hooks", "looker", "protocols", "sequence"}
    allowed |= {"screen.observation"}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hisa"):
            assert (node.module or "").removeprefix("hisa.") in allowed


class Closing(FakeEnvironment):
    """A form whose dialog shows in one look more after a key was pressed."""

    def __init__(self) -> None:
        super().__init__()
        self.left = 0

    async def act(self, actions: Sequence[Action], /) -> None:
        await super().act(actions)
        self.left = 1

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        observation = await super().observe(elements=elements, settle=settle)
        if self.left:
            self.left -= 1
            (form,) = observation.windows
            dialog = replace(form, id="2", title="Save As")
            observation = replace(observation, windows=(replace(form, active=False), dialog))
        return replace(observation, name=f"look {len(self.looked)}")


async def test_planned_look_has_the_current_windows(tmp_path: Path) -> None:
    press = tool_call("gui_action", "pyautogui.press('enter')")
    bench = Bench(tmp_path, ScriptedModel([press, finish()]), environment=Closing())
    _, run = await bench.run()
    looks: list[str] = []
    planned_on = []
    for event in run.events:
        match event:
            case Observed():
                looks.append(event.window)
            case Planned():
                planned_on.append(looks[-1])
            case _:
                pass
    assert planned_on == ["Form", "Form"]


async def test_state_manager_reads_changes_from_the_elements(tmp_path: Path) -> None:
    """A planner with eyes clicks pixels; what its step changed is read off the elements."""
    state = FunctionModel(lambda request: "Succeeded. The field was filled.")
    typed = "pyautogui.click(400, 136)\npyautogui.write('Ada')"
    planner = ScriptedModel([tool_call("gui_action", typed), finish("Filled in.")])
    await hisa.run(
        Task("form", "Fill it in."),
        settings=load(
            overrides={"run": {"folder": tmp_path}, "patterns": {"enabled": False}}, environ={}
        ),
        model={"planner": planner, "state": state},
        environment=FakeEnvironment(),
    )
    text = "\n".join(request.text for request in state.requests)
    assert "“Name:” now reads “Ada”" in text
