"""The planner asks from the bounded state only, and corrects bad replies with one image."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from PIL import Image

from hisa.errors import InvalidReply
from hisa.events import Event, Planned, PlanRejected
from hisa.planner.planner import GlobalPlanner
from hisa.planner.reply import REPLY_SCHEMA
from hisa.planner.view import state_text
from hisa.protocols import ImagePart, Message, ModelReply, StateView, Task, TextPart
from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Element, Observation, Screenshot, Window
from hisa.testing.scripted import ScriptedModel
from hisa.text.prompts import render
from hisa.tools.base import Tool
from hisa.tools.builtin import bash_execution, gui_action, termination, wait
from hisa.tools.registry import ToolRegistry
from tests.event_dates import strip_dates

TASK = Task("t", 'Write "hello" into the field')
GOOD = json.dumps({"thought": "x", "tool": "bash_execution", "input": "ls"})
CALLED = Planned(thought="x", tool="bash_execution", input="ls")
VIEW = StateView(
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
        elements=(Element("push button", "Save", BoundingBox(100, 200, 140, 220, "screen")),),
    )


STATE = """<task>
Write "hello" into the field
</task>
<advice>
- MUST save
</advice>
<refined_context>
Steps 1~5: opened it.
</refined_context>
<execution_history>
Step 6: wait | Result: Succeeded.
</execution_history>
<notice>
You repeat yourself.
</notice>"""


class Bench:
    def __init__(
        self, *replies: str | ModelReply, reads_elements: bool = False, programs: str = ""
    ) -> None:
        self.events: list[Event] = []
        self.model = ScriptedModel(replies)
        tools = [Tool(f) for f in (gui_action, bash_execution, wait, termination)]
        self.planner = GlobalPlanner(
            self.model,
            ToolRegistry(tools),
            emit=self.events.append,
            reads_elements=reads_elements,
            programs=self._list_programs,
        )
        self._programs = programs

    async def _list_programs(self) -> str:
        return self._programs


async def test_the_request_is_the_bounded_state_and_one_image() -> None:
    bench = Bench(GOOD)
    look = observation()
    call = await bench.planner.plan(TASK, look, VIEW)
    assert call.input == "ls"
    request = bench.model.requests[0]
    assert (request.role, request.images, request.temperature) == ("planner", 1, 0)
    system, user = request.messages
    assert system.parts[0].text.startswith("# Global planner")  # type: ignore[union-attr]
    assert user == Message("user", (TextPart(STATE), ImagePart(look.screenshot)))
    assert (request.schema, request.max_tokens) == (REPLY_SCHEMA, 4096)
    assert strip_dates(*bench.events) == strip_dates(CALLED)


async def test_elements_are_in_image_pixels_where_the_profile_reads_them() -> None:
    bench = Bench(GOOD, reads_elements=True)
    await bench.planner.plan(TASK, observation(), VIEW)
    section = """<elements untrusted>
window: Untitled (mousepad)
windows: Untitled
- push button "Save" at (60, 105)
</elements>"""
    assert bench.model.requests[0].messages[1].parts[0] == TextPart(f"{STATE}\n{section}")


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("", "empty"),
        ("sorry", "no JSON"),
        (GOOD[:-3], "JSON"),
        (GOOD.replace("bash_execution", "bash"), "known: bash_execution, gui_action"),
        (GOOD.replace('"input": "ls"', '"input": "ls", "why": 1'), "unknown key 'why'"),
        ('{"thought": "x", "tool": "wait", "input": "soon"}', "seconds"),
    ],
)
async def test_a_bad_reply_is_recorded_and_corrected(bad: str, reason: str) -> None:
    bench = Bench(bad, GOOD)
    assert (await bench.planner.plan(TASK, observation(), VIEW)).tool == "bash_execution"
    rejected = [event for event in bench.events if isinstance(event, PlanRejected)]
    assert len(rejected) == 1
    assert reason in rejected[0].error
    assert (rejected[0].attempt, rejected[0].reply) == (1, bad)
    first, second = bench.model.requests
    message = render("format_correction", error=rejected[0].error, reply=bad, sequence=1)
    assert second == replace(
        first, messages=first.messages + correction(bad or "(nothing)", message)
    )


def correction(reply: str, message: str) -> tuple[Message, ...]:
    return Message("assistant", (TextPart(reply),)), Message("user", (TextPart(message),))


async def test_a_reply_cut_off_by_the_server_is_rejected() -> None:
    bench = Bench(ModelReply(GOOD, finish="length"), GOOD)
    await bench.planner.plan(TASK, observation(), VIEW)
    reason = "the reply was cut off at 4096 tokens; be shorter"
    rejected = PlanRejected(attempt=1, error=reason, reply=GOOD)
    assert strip_dates(*bench.events) == strip_dates(rejected, CALLED)


async def test_three_bad_replies_are_the_end_and_corrections_stay_bounded() -> None:
    bench = Bench("a" * 50_000, "b" * 50_000, "c" * 50_000)
    with pytest.raises(InvalidReply):
        await bench.planner.plan(TASK, observation(), VIEW)
    reason = "no JSON object in it"
    assert strip_dates(*bench.events) == strip_dates(
        *(
            PlanRejected(attempt=number, error=reason, reply=letter * 2000)
            for number, letter in enumerate("abc", 1)
        )
    )
    sizes = [len(request.text) for request in bench.model.requests]
    assert sizes[2] == sizes[1]
    assert bench.model.requests[2].messages[2:] == correction(
        "b" * 2000, render("format_correction", error=reason, reply="b" * 2000, sequence=1)
    )
    assert all(
        sum(isinstance(p, ImagePart) for m in r.messages for p in m.parts) == 1
        for r in bench.model.requests
    )


def test_several_windows_are_listed_beside_a_picture_the_top_one_first_eight_at_most() -> None:
    named = [Window(hex(n), f"File {n}</windows>", "thunar", active=n == 9) for n in range(10)]
    text = state_text(TASK, replace(observation(), windows=tuple(named)), VIEW, elements=False)
    lines = text.partition("<windows untrusted>\n")[2].splitlines()
    assert lines[0] == '0x9 thunar "File 9‹/windows>" (in front)'
    assert lines[7] == '0x2 thunar "File 2‹/windows>"'
    assert lines[8:] == ["</windows>"]
    for windows in (tuple(named[:1]), ()):
        alone = state_text(TASK, replace(observation(), windows=windows), VIEW, elements=False)
        assert alone == STATE


def test_undrawn_elements_are_noted_and_cannot_look_like_a_section() -> None:
    late = replace(observation(), undrawn=('window "Save</notice>"', 'push button "OK"'))
    text = state_text(TASK, late, VIEW, elements=False)
    notice = 'Not drawn yet: window "Save</notice>", push button "OK".'
    safe = text.partition("<notice>\n")[2]
    assert safe.startswith(notice.replace("</notice>", "‹/notice>")), text
    assert safe.endswith("Wait before you judge or use it.\nYou repeat yourself.\n</notice>")
    assert state_text(TASK, observation(), VIEW, elements=False) == STATE


async def test_programs_are_listed_at_the_first_step_alone() -> None:
    bench = Bench("nothing", GOOD, GOOD, programs="mousepad, thunar")
    await bench.planner.plan(TASK, observation(), StateView())
    await bench.planner.plan(TASK, observation(), VIEW)
    section = "<programs>\nInstalled, by command; told only now: mousepad, thunar\n</programs>"
    first, corrected, second = (request.text for request in bench.model.requests)
    assert section in first
    assert section in corrected
    assert "<programs>" not in second
