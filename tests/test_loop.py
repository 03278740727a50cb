"""The loop on real parts around a scripted planner: it ends as it should, whatever comes."""

from __future__ import annotations

import ast
import asyncio
import inspect
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import hisa.loop
from hisa.actions import Action
from hisa.config import load
from hisa.errors import BudgetExceeded, EnvironmentFailed, ModelUnavailable, UsageError
from hisa.events import (
    Acted,
    Failed,
    GroundingFailed,
    Observed,
    Planned,
    PlanRejected,
    Refined,
    StepFinished,
)
from hisa.loop import Loop
from hisa.outcomes.endings import Result
from hisa.protocols import GroundedCall, Grounder, ModelRequest, Task, ToolCall
from hisa.runs.read import Run, load_run
from hisa.screen.observation import Observation
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import FunctionModel, ScriptedModel, tool_call
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


LOOK: dict[str, object] = {
    "type": "observed",
    "width": 1280,
    "height": 720,
    "screen_width": 1280,
    "screen_height": 720,
    "window": "Form",
    "windows": ("Form",),
    "elements": 6,
}


def told(run: Run) -> list[dict[str, object]]:
    """All that a log says but times, names of pictures and what has its default."""
    left_out = {"v", "at", "image", "elements_sha256", "seconds", "traceback"}
    events = (event.model_dump(exclude=left_out, exclude_defaults=True) for event in run.events)
    said = [{"type": event.type, **said} for event, said in zip(run.events, events, strict=True)]
    for place in (place for event in said for place in event.get("places", ())):
        place.pop("element", None)  # a test of its own has them
    return said


async def test_a_log_tells_a_run_from_its_first_look_to_its_end(tmp_path: Path) -> None:
    source = "pyautogui.click(X_COORD, Y_COORD); pyautogui.write('Ada')"
    ran = "pyautogui.click(400, 136)\npyautogui.write('Ada')"
    replies = [
        click("the field labelled Name", "pyautogui.write('Ada')"),
        say("gui_action", "pyautogui.click(9000, 5)", thought="Away."),
        *["x", "y", "z"],
        done("Saved."),
    ]
    result, run = await Bench(tmp_path, ScriptedModel(replies)).run()
    refused = "(9000, 5) is off the screen of 1280x720"
    unusable = "no usable reply: no JSON object in it"
    assert told(run) == [
        LOOK,
        {
            "type": "planned",
            "step": 1,
            "thought": "Go on.",
            "tool": "gui_action",
            "input": source,
            "description": "the field labelled Name",
        },
        {
            "type": "grounded",
            "step": 1,
            "places": (
                {
                    "description": "the field labelled Name",
                    "x": 400.0,
                    "y": 136.0,
                    "score": 1.0,
                    "source": "accessibility",
                    "label": 'text "Name:"',
                    "chosen": True,
                },
            ),
            "input": ran,
        },
        {
            "type": "acted",
            "step": 1,
            "tool": "gui_action",
            "input": ran,
            "points": ((400.0, 136.0),),
            "ok": True,
        },
        {**LOOK, "step": 1},
        {
            "type": "abstracted",
            "step": 1,
            "line": "Step 1: gui_action | Thought: Go on. | Description: the field labelled Name | "
            "Input: pyautogui.click(400, 136); pyautogui.write('Ada') | "
            "Result: Succeeded. The form changed.",
            "result": "Succeeded. The form changed.",
            "roi": (220, 120, 580, 152),
            "asked_model": True,
            "verdict": "succeeded",
        },
        {"type": "step_finished", "step": 1},
        {
            "type": "planned",
            "step": 2,
            "thought": "Away.",
            "tool": "gui_action",
            "input": "pyautogui.click(9000, 5)",
        },
        {
            "type": "acted",
            "step": 2,
            "tool": "gui_action",
            "input": "pyautogui.click(9000, 5)",
            "ok": False,
            "error": refused,
        },
        {**LOOK, "step": 2},
        {
            "type": "abstracted",
            "step": 2,
            "line": "Step 2: gui_action | Thought: Away. | Input: pyautogui.click(9000, 5) | "
            f"Result: Failed. {refused}.",
            "result": f"Failed. {refused}.",
            "verdict": "failed",
        },
        {"type": "step_finished", "step": 2},
        *(
            {
                "type": "plan_rejected",
                "step": 3,
                "attempt": attempt,
                "error": "no JSON object in it",
                "reply": reply,
            }
            for attempt, reply in enumerate("xyz", 1)
        ),
        {
            "type": "acted",
            "step": 3,
            "tool": "none",
            "input": "",
            "ok": False,
            "error": unusable,
        },
        {**LOOK, "step": 3},
        {
            "type": "abstracted",
            "step": 3,
            "line": f"Step 3: none | Result: Failed. {unusable}.",
            "result": f"Failed. {unusable}.",
            "verdict": "failed",
        },
        {"type": "step_finished", "step": 3},
        {
            "type": "planned",
            "step": 4,
            "thought": "Go on.",
            "tool": "termination",
            "input": "Saved.",
        },
        {
            "type": "acted",
            "step": 4,
            "tool": "termination",
            "input": "Saved.",
            "ok": True,
            "output": "Saved.",
            "ends": "succeeded",
        },
        {
            "type": "abstracted",
            "step": 4,
            "line": "Step 4: termination | Thought: Go on. | Input: Saved. | "
            "Result: Succeeded. output: Saved.",
            "result": "Succeeded. output: Saved.",
            "verdict": "succeeded",
        },
        {"type": "step_finished", "step": 4},
        {
            "type": "evaluated",
            "step": 4,
            "score": None,
            "detail": "the task has no check",
            "score_state": "no_check",
        },
        {
            "type": "run_finished",
            "step": 4,
            "exit_status": "succeeded",
            "message": "Saved.",
            "score_state": "no_check",
            "score_detail": "the task has no check",
        },
        {"type": "learned", "step": 4},
    ]
    assert result == Result(
        run.id,
        "succeeded",
        "Saved.",
        steps=4,
        score_state="no_check",
        score_detail="the task has no check",
    )
    pictures = [event.image for event in run.events if isinstance(event, Observed)]
    assert all(run.image(name) for name in pictures)
    parts = [[*event.seconds] for event in run.events if isinstance(event, StepFinished)]
    seen = ["observe", "abstract", "refine"]
    assert parts == [
        ["hooks", "plan", "ground", "act", *seen],
        ["hooks", "plan", "ground", "act", *seen],
        ["hooks", "plan", *seen],
        ["hooks", "plan", "ground", "act", "abstract"],
    ]


@pytest.mark.parametrize(
    ("error", "where", "status", "message"),
    [
        (EnvironmentFailed("gone"), "environment", "environment_error", "gone"),
        (UsageError("no such task"), "refused", "refused", "no such task"),
        (KeyError("A1"), "hisa", "defect", "KeyError: 'A1'"),
    ],
)
async def test_the_log_says_what_ended_a_run_and_where_it_broke(
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
    failed = {"type": "failed", "step": 1, "where": where, "kind": kind, "message": str(error)}
    end = {"exit_status": status, "message": message, "score_detail": message}
    learned = [{"type": "learned", "step": 1}] if status == "environment_error" else []
    assert told(run) == [LOOK, failed, {"type": "run_finished", "step": 1, **end}, *learned]
    (written,) = [event for event in run.events if isinstance(event, Failed)]
    assert written.traceback.startswith("Traceback (most recent call last):\n  File ")
    assert written.traceback.endswith(f"{kind}: {error}\n")


class Waiting(FakeEnvironment):
    """A form that keeps what each look asked for; every look takes as long as it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[bool, float]] = []

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        self.asked.append((elements, settle))
        return await super().observe(elements=elements, settle=settle)


@pytest.mark.parametrize(("elements", "settle"), [(True, 3.0), (False, 0.5)])
@pytest.mark.parametrize(("stale", "looks"), [(math.inf, 2), (-1.0, 4)])
async def test_a_look_asks_for_what_the_agent_was_made_with_and_is_taken_again_when_old(
    tmp_path: Path, elements: bool, settle: float, stale: float, looks: int
) -> None:
    environment = Waiting()
    bench = Bench(tmp_path, ScriptedModel([click("OK"), done()]), environment=environment)
    bench.agent.elements, bench.agent.settle, bench.agent.stale = elements, settle, stale
    await bench.agent.run(bench.task)
    looked = [look for look in environment.asked if look[1]]
    assert looked == [(elements, settle)] * looks


class Begun:
    """A grounder that keeps what it was told to begin on and what it was asked about."""

    def __init__(self, inner: Grounder) -> None:
        self.inner = inner
        self.begun: list[Observation] = []
        self.asked: list[Observation] = []

    def begin(self, observation: Observation, /) -> None:
        self.begun.append(observation)

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        self.asked.append(observation)
        return await self.inner.resolve(call, observation)


async def test_a_grounder_may_begin_on_each_look_before_it_is_asked(tmp_path: Path) -> None:
    bench = Bench(tmp_path, ScriptedModel([click("OK"), done()]))
    bench.agent.grounder = begun = Begun(bench.agent.grounder)
    await bench.agent.run(bench.task)
    assert begun.begun == begun.asked


def test_what_is_not_chosen_is_as_in_the_paper_or_measured() -> None:
    chosen = inspect.signature(Loop).parameters
    defaults = {name: chosen[name].default for name in ("max_steps", "elements", "settle", "stale")}
    assert defaults == {"max_steps": 50, "elements": True, "settle": 3.0, "stale": 1.0}


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
    source = inspect.getsource(hisa.loop)
    assert len(source.splitlines()) <= 250
    assert len(inspect.getsource(Loop.run).splitlines()) <= 40
    allowed = {"conclusion", "errors", "events", "hooks", "looking", "protocols", "sequence"}
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
        look = await super().observe(elements=elements, settle=settle)
        if self.left:
            self.left -= 1
            (form,) = look.windows
            dialog = replace(form, id="2", title="Save As")
            look = replace(look, windows=(replace(form, active=False), dialog))
        return replace(look, name=f"look {len(self.looked)}")


async def test_what_is_planned_on_has_the_windows_of_that_moment(tmp_path: Path) -> None:
    press = tool_call("gui_action", "pyautogui.press('enter')")
    bench = Bench(tmp_path, ScriptedModel([press, done()]), environment=Closing())
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


async def test_the_state_manager_is_told_what_the_elements_say(tmp_path: Path) -> None:
    """A planner with eyes clicks pixels; what its step changed is read off the elements."""
    state = FunctionModel(lambda request: "Succeeded. The field was filled.")
    typed = "pyautogui.click(400, 136)\npyautogui.write('Ada')"
    planner = ScriptedModel([tool_call("gui_action", typed), done("Filled in.")])
    await hisa.run(
        Task("form", "Fill it in."),
        settings=load(
            overrides={"run": {"folder": tmp_path}, "patterns": {"enabled": False}}, environ={}
        ),
        model={"planner": planner, "state": state},
        environment=FakeEnvironment(),
    )
    told = "\n".join(request.text for request in state.requests)
    assert '"" -> "Ada"' in told
