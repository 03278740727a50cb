"""A computer-use model as planner: a new chain each step, screenshots, safety, whole runs."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import hisa
from hisa.environments.confirmation import Answer, Ask, Question
from hisa.errors import ActionRefused, ConfigError, InvalidReply
from hisa.events import (
    Acted,
    Confirmed,
    Event,
    Grounded,
    ModelAsked,
    Planned,
    PlanRejected,
)
from hisa.plugins.computer_use.computer import ComputerPlanner
from hisa.plugins.computer_use.responses_server import (
    ResponsesReceived,
    ResponsesServer,
    computer_call,
    function_call,
)
from hisa.protocols import Environment, StateView, Task, ToolCall
from hisa.runs.run_reader import Run, load_run
from hisa.runs.turns import turns
from hisa.screen.observation import Screenshot
from hisa.testing.form import FakeEnvironment
from hisa.testing.model_server import ReceivedRequest
from hisa.testing.scripted import ScriptedModel
from hisa.tools.base import Tool
from hisa.tools.builtin import gui_action, infeasible, termination, wait
from hisa.tools.registry import ToolRegistry
from tests.planner.test_planner import TASK, VIEW, observation

LOOK = computer_call({"type": "screenshot"}, thought="Let me see.")
CHECKS = {"malicious_instructions": "The screen gives orders."}
DONE = function_call("termination", summary="Done.")


def click(x: int, y: int, **more: Any) -> str:
    return computer_call({"type": "click", "button": "left", "x": x, "y": y}, **more)


class Bench:
    def __init__(self, *replies: str, allow: bool = True) -> None:
        self.events: list[Event] = []
        self.questions: list[str] = []
        self.model = ScriptedModel(replies)
        self._allow = allow
        tools = [Tool(f) for f in (gui_action, wait, termination, infeasible)]
        registry = ToolRegistry(tools)
        self.planner = ComputerPlanner(
            self.model,
            registry,
            emit=self.events.append,
            functions=registry.functions,
            tool="computer_use_preview",
            confirm=self._confirm,
            programs=self._programs,
        )

    async def _programs(self) -> str:
        return "Mousepad (mousepad)"

    async def _confirm(self, question: str) -> None:
        self.questions.append(question)
        if not self._allow:
            raise ActionRefused("a person refused this")

    async def plan(self, view: StateView = VIEW) -> ToolCall:
        return await self.planner.plan(TASK, observation(), view)


async def test_the_request_is_the_bounded_state_one_image_and_the_tools() -> None:
    bench = Bench(click(3, 4, thought="There."))
    call = await bench.plan()
    assert (call.tool, call.input, call.thought) == (
        "gui_action",
        "pyautogui.click(3, 4)",
        "There.",
    )
    (request,) = bench.model.requests
    assert request.images == 1
    assert [message.role for message in request.messages] == ["system", "user"]
    assert "<refined_context>\nSteps 1~5: opened it.\n</refined_context>" in request.text
    assert "One JSON object" not in request.text
    computer, *functions = request.tools
    assert (computer["display_width"], computer["display_height"]) == (640, 360)
    assert [tool["name"] for tool in functions] == ["infeasible", "termination", "wait"]
    assert [type(event) for event in bench.events] == [Planned]


async def test_a_screenshot_is_the_output_of_its_call_and_still_the_one_image() -> None:
    bench = Bench(LOOK, click(3, 4))
    assert (await bench.plan()).input == "pyautogui.click(3, 4)"
    first, second = bench.model.requests
    assert (first.images, second.images) == (1, 1)
    assert [m.role for m in second.messages] == ["system", "user", "assistant", "user"]
    with pytest.raises(InvalidReply, match="you have the screenshot already"):
        await Bench(LOOK, LOOK, LOOK).plan()


async def test_unusable_answer_is_corrected_and_left_out_of_the_next_request() -> None:
    bench = Bench("Shall I?", click(3, 4).replace('"click"', '"fly"'), click(3, 4))
    assert (await bench.plan()).input == "pyautogui.click(3, 4)"
    _, second, third = bench.model.requests
    assert "Your last answer was refused: not a list of output items" in second.text
    assert "unknown action 'fly'; allowed are click" in third.text
    assert "Shall I?" not in third.text
    assert "not a list" not in third.text  # corrections do not pile up
    assert [m.role for m in third.messages] == ["system", "user"]
    assert len([event for event in bench.events if isinstance(event, PlanRejected)]) == 2
    with pytest.raises(InvalidReply, match="unknown tool 'fly'"):
        await Bench(*[function_call("fly", x="1")] * 3).plan()


async def test_a_check_on_a_screenshot_is_acknowledged_only_once_it_was_allowed() -> None:
    look = computer_call({"type": "screenshot"}, checks=CHECKS)
    bench = Bench(look, click(3, 4))
    await bench.plan()
    assert len(bench.questions) == 1
    (item,) = json.loads(bench.model.requests[1].messages[2].parts[0].text)  # type: ignore[union-attr]
    assert item["acknowledged_safety_checks"] == item["pending_safety_checks"]
    refused = Bench(look, allow=False)
    with pytest.raises(ActionRefused):
        await refused.plan()
    assert len(refused.model.requests) == 1  # nothing went back to the server


# ---------------------------------------------------------------- whole runs over the wire


def run(
    folder: Path,
    answers: Iterable[str] | Callable[[ReceivedRequest], str],
    environment: Environment | str,
    *,
    ask: Ask | None = None,
    task: Task | None = None,
) -> tuple[hisa.RunResult, Run, list[ResponsesReceived]]:
    """A run against the server; the state manager has the model's words to go by."""

    def state(received: ReceivedRequest) -> str:
        assert received.role == "state"
        return "Succeeded. The window changed."

    script = iter(()) if callable(answers) else iter(answers)

    def answer(received: ReceivedRequest) -> str:
        if received.role != "planner":
            return state(received)
        return answers(received) if callable(answers) else next(script)

    with ResponsesServer(then=answer) as server:
        tree = {
            "patterns": {"enabled": False},
            "run": {"folder": folder},
            "models": {"planner": {"model": "computer-use-preview", "base_url": server.url}},
        }
        result = hisa.run_sync(
            task or Task("form", 'Enter "Ada" as the name and save the form.'),
            settings=hisa.Settings.model_validate(tree),
            environment=environment,
            ask=ask,
        )
        requests = [r for r in server.requests if isinstance(r, ResponsesReceived)]
    return result, load_run(result.folder), [r for r in requests if r.role == "planner"]


FILL = (
    computer_call(
        {"type": "click", "button": "left", "x": 400, "y": 137},
        {"type": "type", "text": "Ada"},
        thought="The name field is at the top.",
    ),
    LOOK,
    click(375, 237),
    DONE,
)


def test_step_of_a_run_starts_a_new_chain(tmp_path: Path) -> None:
    form = FakeEnvironment()
    result, log, requests = run(tmp_path, FILL, form)
    assert (result.status, result.steps, form.text) == ("succeeded", 3, "Ada")
    assert asyncio.run(form.read_file("/home/user/form.txt")) == b"Ada"
    assert [len(request.images) for request in requests] == [1, 1, 1, 1]
    assert [len(request.items) for request in requests] == [2, 2, 5, 2]  # nothing piles up
    assert all("previous_response_id" not in request.body for request in requests)
    assert "click(400, 137)" in requests[1].text  # what was done stands in the history
    assert "The name field is at the top." in requests[1].text
    kinds = [item.get("type", item.get("role")) for item in requests[2].items]
    assert kinds == ["system", "user", "reasoning", "computer_call", "computer_call_output"]
    places = [place for e in log.events if isinstance(e, Grounded) for place in e.places]
    assert {place.source for place in places} == {"planner"}
    assert result.steps == len([e for e in log.events if isinstance(e, Planned)])
    assert log.manifest.totals.tokens > 0
    sent = [
        turn.request["tools"] for turn in turns(log) if turn.role == "planner"
    ]  # each request as it left
    assert sent == [request.body["tools"] for request in requests]
    texts = [text for e in log.events if isinstance(e, ModelAsked) for text in e.texts.values()]
    assert sum("computer_use_preview" in text for text in texts) == 1, "in the log once"


def test_a_larger_screen_is_pointed_at_in_pixels_of_the_picture(tmp_path: Path) -> None:
    from hisa.screen.geometry import Size

    form = FakeEnvironment(Size(2560, 1440))
    _, log, requests = run(tmp_path, [click(200, 68), DONE], form)
    sent = requests[0].images[0]["image_url"].partition(",")[2]
    assert Screenshot.from_png(base64.b64decode(sent)).size == Size(1280, 720)
    assert requests[0].body["tools"][0]["display_width"] == 1280
    (acted, *_) = form.acted
    assert acted.at.to_pixels() == (400, 136)  # type: ignore[union-attr]
    assert log.steps[0].acted is not None


def test_a_point_outside_of_the_picture_fails_the_step(tmp_path: Path) -> None:
    _, log, requests = run(tmp_path, [click(1280, 5), DONE], FakeEnvironment())
    (failed, _) = [event for event in log.events if isinstance(event, Acted)]
    assert "lies outside the screenshot of 1280x720" in failed.error
    assert "outside the screenshot" in requests[1].text


@pytest.mark.parametrize("answer", ["once", "refuse", "stop", None])
def test_a_safety_check_reaches_the_person(tmp_path: Path, answer: Any) -> None:
    form = FakeEnvironment()
    questions: list[Question] = []

    async def ask(question: Question) -> Answer:
        questions.append(question)
        return Answer(answer, "leave it" if answer == "refuse" else "")

    script = [click(228, 184, checks=CHECKS), click(228, 184, checks=CHECKS), DONE]
    result, log, requests = run(tmp_path, script, form, ask=ask if answer else None)
    clicked = len(form.acted)
    if answer == "stop":
        assert (result.status, clicked, len(questions)) == ("stopped", 0, 1)
        return
    assert result.status == "succeeded"
    allowed = answer == "once"
    assert clicked == (2 if allowed else 0)
    assert len(questions) == (2 if answer else 0)  # each is asked for itself
    assert {question.action for question in questions} <= {"safety"}
    confirmed = [event for event in log.events if isinstance(event, Confirmed)]
    assert [event.allowed for event in confirmed] == [allowed] * len(questions)
    if answer is None:
        assert "nobody can be asked" in requests[1].text
    if answer == "refuse":
        assert "says “leave it”: " in requests[1].text
    if not allowed:  # the history has no call that "this" could mean
        assert "pyautogui.click(228, 184)" in requests[1].text


def test_the_offline_model_has_no_computer_tool(tmp_path: Path) -> None:
    tree = {
        "planner": {"kind": "computer"},
        "run": {"folder": tmp_path},
        "patterns": {"enabled": False},
    }
    with pytest.raises(ConfigError, match="offline knows no computer tool"):
        hisa.run_sync(
            TASK, settings=hisa.Settings.model_validate(tree), environment=FakeEnvironment()
        )


def test_computer_planner_refuses_settings_that_show_elements(tmp_path: Path) -> None:
    tree = {
        "planner": {"sees": "elements", "kind": "computer"},
        "run": {"folder": tmp_path},
        "patterns": {"enabled": False},
    }
    with pytest.raises(ConfigError, match="sees the picture and nothing else"):
        hisa.run_sync(
            TASK,
            settings=hisa.Settings.model_validate(tree),
            model=ScriptedModel([]),
            environment=FakeEnvironment(),
        )


NOTE = Task(
    "note",
    "Write a note in the text editor and save it as ~/note.txt.",
    check={"all": [{"file": "~/note.txt", "contains": "Tea at four"}]},
)
EDITOR = (
    function_call("bash_execution", command="setsid -f mousepad >/dev/null 2>&1; sleep 1"),
    LOOK,
    computer_call(
        {"type": "click", "button": "left", "x": 640, "y": 400},
        {"type": "type", "text": "Tea at five"},
    ),
    computer_call({"type": "double_click", "x": 395, "y": 170}),
    computer_call(
        {"type": "keypress", "keys": ["CTRL", "A"]}, {"type": "type", "text": "Tea at four"}
    ),
    computer_call({"type": "scroll", "x": 640, "y": 400, "scroll_x": 0, "scroll_y": 200}),
    computer_call({"type": "keypress", "keys": ["CTRL", "S"]}, {"type": "wait"}),
    computer_call(
        {"type": "keypress", "keys": ["CTRL", "A"]},
        {"type": "type", "text": "/home/user/note.txt"},
    ),
    computer_call({"type": "keypress", "keys": ["ENTER"]}, {"type": "wait"}),
    DONE,
)


@pytest.mark.desktop
def test_task_on_a_real_editor_succeeds(tmp_path: Path) -> None:
    result, log, requests = run(tmp_path, EDITOR, "desktop", task=NOTE)
    lines = [record.abstracted.line for record in log.steps if record.abstracted]
    assert (result.status, result.score) == ("succeeded", 1.0), "\n".join(
        [result.score_detail, *lines]
    )
    assert result.steps == len(EDITOR) - 1  # the look was within a step
    assert {len(request.images) for request in requests} == {1}
    assert max(len(request.items) for request in requests) == 5
    assert [event.ok for event in log.events if isinstance(event, Acted)] == [True] * result.steps
