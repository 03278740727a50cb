"""The planner asks from the bounded state only, and corrects bad replies with one image."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from PIL import Image

from hisa.errors import InvalidReply
from hisa.events import Event, Planned, PlanRejected
from hisa.geometry import Box, Size
from hisa.observation import Element, Observation, Screenshot, Window
from hisa.planner.planner import GlobalPlanner
from hisa.planner.view import element_lines
from hisa.protocols import ImagePart, ModelReply, StateView, Task
from hisa.testing.scripted import ScriptedModel
from hisa.tools.base import Tool
from hisa.tools.builtin import bash_execution, gui_action, termination, wait
from hisa.tools.registry import ToolRegistry

TASK = Task("t", 'Write "hello" into the field')
GOOD = json.dumps({"thought": "x", "tool": "bash_execution", "input": "ls"})
VIEW = StateView(
    step=7,
    advice="- MUST save",
    refined="Steps 1~5: opened it.",
    steps=("Step 6: wait | Result: Succeeded.",),
    notice="You repeat yourself.",
)


def observation() -> Observation:
    return Observation(
        Screenshot(Image.new("RGB", (640, 360), "white")),
        screen=Size(1280, 720),
        windows=(Window("1", "Untitled", "mousepad", active=True),),
        elements=(Element("push button", "Save", Box(100, 200, 140, 220, "screen")),),
    )


class Bench:
    def __init__(self, *replies: str | ModelReply, reads_elements: bool = False) -> None:
        self.events: list[Event] = []
        self.model = ScriptedModel(replies)
        tools = [Tool(f) for f in (gui_action, bash_execution, wait, termination)]
        self.planner = GlobalPlanner(
            self.model,
            ToolRegistry(tools, emit=self.events.append),
            emit=self.events.append,
            reads_elements=reads_elements,
        )


async def test_the_request_is_the_bounded_state_and_one_image() -> None:
    bench = Bench(GOOD)
    call = await bench.planner.plan(TASK, observation(), VIEW)
    assert call.input == "ls"
    request = bench.model.requests[0]
    assert (request.role, request.step, request.images, request.temperature) == ("planner", 7, 1, 0)
    system, user = request.messages
    assert system.parts[0].text.startswith("# Global planner")  # type: ignore[union-attr]
    text = user.parts[0].text  # type: ignore[union-attr]
    for part in (TASK.instruction, *VIEW.steps, VIEW.advice, VIEW.refined, VIEW.notice):
        assert part in text
    assert "<elements>" not in text
    assert isinstance(bench.events[-1], Planned)


async def test_every_tool_is_described_to_the_model() -> None:
    bench = Bench(GOOD)
    await bench.planner.plan(TASK, observation(), StateView(step=1))
    text = bench.model.requests[0].text
    assert all(f"### {name}" in text for name in ("gui_action", "bash_execution", "wait"))
    user = bench.model.requests[0].messages[1].parts[0]
    assert user.text.startswith("<task>\n")  # type: ignore[union-attr]
    assert "<advice>" not in user.text  # type: ignore[union-attr]


async def test_elements_are_told_in_image_pixels_where_the_profile_reads_them() -> None:
    bench = Bench(GOOD, reads_elements=True)
    await bench.planner.plan(TASK, observation(), VIEW)
    text = bench.model.requests[0].text
    assert "window: Untitled (mousepad)" in text
    assert '- push button "Save" at (60, 105)' in text


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("", "empty"),
        ("sorry", "no JSON"),
        (GOOD[:-3], "JSON"),
        (GOOD.replace("bash_execution", "bash"), "known: bash_execution, gui_action"),
        (GOOD.replace('"input": "ls"', '"input": "ls", "why": 1'), "unknown key 'why'"),
        ('{"thought": "x", "tool": "wait", "input": "soon"}', "seconds"),
    ],
)
async def test_a_bad_reply_is_recorded_and_corrected(bad: str, said: str) -> None:
    bench = Bench(bad, GOOD)
    assert (await bench.planner.plan(TASK, observation(), VIEW)).tool == "bash_execution"
    rejected = [event for event in bench.events if isinstance(event, PlanRejected)]
    assert len(rejected) == 1
    assert said in rejected[0].error
    second = bench.model.requests[1]
    assert second.images == 1
    assert rejected[0].error in second.text


async def test_a_reply_cut_off_by_the_server_is_rejected() -> None:
    bench = Bench(ModelReply(GOOD, finish="length"), GOOD)
    await bench.planner.plan(TASK, observation(), VIEW)
    assert [type(event) for event in bench.events] == [PlanRejected, Planned]


async def test_three_bad_replies_are_the_end_and_corrections_stay_bounded() -> None:
    bench = Bench("a" * 50_000, "b" * 50_000, "c" * 50_000)
    with pytest.raises(InvalidReply):
        await bench.planner.plan(TASK, observation(), VIEW)
    assert sum(isinstance(event, PlanRejected) for event in bench.events) == 3
    sizes = [len(request.text) for request in bench.model.requests]
    assert sizes[2] == sizes[1]
    assert all(
        sum(isinstance(p, ImagePart) for m in r.messages for p in m.parts) == 1
        for r in bench.model.requests
    )


def test_an_element_is_told_with_what_it_holds_and_how_it_stands() -> None:
    box = Box(0, 0, 10, 20, "screen")
    states = frozenset({"focused", "checked"})
    bold = Element("check box", "Bold", box, text="on", label="Style", states=states)
    line = list(element_lines(replace(observation(), elements=(bold,))))[-1]
    told = '- check box "Bold" text="on" label="Style" states=checked,focused at '
    assert line.startswith(told)


async def test_the_active_window_is_told_first_and_containers_without_a_name_are_not() -> None:
    box = Box(0, 0, 10, 10, "screen")
    cells = [Element("table cell", f"A{n}", box, window="Sheet") for n in range(400)]
    dialog = Element("push button", "Save", box, window="Save As")
    panel = Element("panel", "", box, window="Save As")
    look = replace(
        observation(),
        windows=(Window("2", "Save As", "soffice", active=True), Window("1", "Sheet", "soffice")),
        elements=(*cells, panel, dialog),
    )
    lines = list(element_lines(look))
    assert lines[2].startswith('- push button "Save"')
    assert not [line for line in lines if line.startswith("- panel")]
    assert len(lines) == 152
