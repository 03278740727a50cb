"""The loop on real parts around a scripted planner: it ends as it should, whatever comes."""

from __future__ import annotations

import ast
import asyncio
import inspect
from pathlib import Path

import pytest

import hisa.agent
from hisa.agent import Agent
from hisa.errors import BudgetExceeded, ModelUnavailable
from hisa.events import Acted, Failed, GroundingFailed, PlanRejected, Refined, StepFinished
from hisa.protocols import ModelRequest, Task
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import FunctionModel, ScriptedModel
from tests.bench import Bench, click, done, say


async def test_a_form_is_filled_saved_and_the_run_succeeds(tmp_path: Path) -> None:
    planner = ScriptedModel(
        [
            click("the field labelled Name", "pyautogui.write('Ada')"),
            click("the check box Agree"),
            click('button "Save"'),
            done("Saved."),
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


async def test_every_planner_request_is_bounded_for_500_steps(tmp_path: Path) -> None:
    seen: list[ModelRequest] = []

    def endless(request: ModelRequest) -> str:
        seen.append(request)
        which = ("Agree", "OK", "Save")[request.step % 3]
        return click(f'"{which}"').replace("Go on.", "I think long. " * 100)

    def chatty(request: ModelRequest) -> str:
        return "Succeeded. " + "Much was to be seen at (10, 20). " * 400

    bench = Bench(tmp_path, FunctionModel(endless), state=FunctionModel(chatty), max_steps=500)
    result, run = await bench.run()
    assert (result.status, len(seen)) == ("max_steps", 500)
    assert {request.images for request in seen} == {1}
    early = max(len(request.text) for request in seen[5:10])
    assert max(len(request.text) for request in seen[10:]) <= 1.15 * early
    assert sum(isinstance(event, Refined) for event in run.events) == 100


async def test_what_is_not_on_the_screen_is_told_to_the_planner(tmp_path: Path) -> None:
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


async def test_a_bad_reply_between_good_ones_is_survived(tmp_path: Path) -> None:
    replies = ["", "{", "I refuse", click("OK"), "x", "y", "z", done()]
    result, _ = await Bench(tmp_path, ScriptedModel(replies)).run()
    assert (result.status, result.steps) == ("succeeded", 4)


@pytest.mark.parametrize(
    ("error", "status"),
    [(ModelUnavailable("gone"), "model_error"), (BudgetExceeded("spent"), "budget")],
)
async def test_a_model_that_cannot_go_on_names_the_end(
    tmp_path: Path, error: Exception, status: str
) -> None:
    result, run = await Bench(tmp_path, ScriptedModel([click("OK"), error])).run()
    assert (result.status, run.status) == (status, status)


@pytest.mark.parametrize("calls", range(1, 6))
async def test_a_broken_machine_is_never_a_score(tmp_path: Path, calls: int) -> None:
    planner = FunctionModel(lambda _: click("OK"))
    bench = Bench(tmp_path, planner, environment=FakeEnvironment(fail_after=calls))
    bench.task = Task("t", "x", check={"all": [{"file": "/a", "contains": ("b",)}]})
    result, run = await bench.run()
    assert (result.status, result.score) == ("environment_error", None)
    assert any(isinstance(event, Failed) for event in run.events)


async def test_a_person_stops_a_run_and_nothing_is_lost(tmp_path: Path) -> None:
    asked = asyncio.Event()

    async def slow(request: ModelRequest) -> str:
        if request.step < 3:
            return click("OK")
        asked.set()
        await asyncio.sleep(600)
        return done()

    bench = Bench(tmp_path, FunctionModel(slow))
    work = asyncio.create_task(bench.run())
    await asked.wait()
    work.cancel()
    result, run = await work
    assert (result.status, run.status, run.last_step) == ("stopped", "stopped", 2)


async def test_a_score_is_read_from_what_was_left_behind(tmp_path: Path) -> None:
    replies = [click("the field labelled Name", "pyautogui.write('Ada')"), click("Save"), done()]
    for wanted, score in (("Ada", 1.0), ("Bob", 0.0)):
        bench = Bench(tmp_path, ScriptedModel(replies))
        check = {"all": [{"file": "/home/user/form.txt", "contains": (wanted,)}]}
        bench.task = Task("t", "x", check=check)
        result, run = await bench.run()
        assert (result.score, run.score) == (score, score)


def test_the_loop_is_one_page_and_knows_protocols_only() -> None:
    source = inspect.getsource(hisa.agent)
    assert len(source.splitlines()) <= 250
    assert len(inspect.getsource(Agent.run).splitlines()) <= 40
    allowed = {"conclusion", "errors", "events", "observation", "protocols"}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hisa"):
            assert (node.module or "").removeprefix("hisa.") in allowed
