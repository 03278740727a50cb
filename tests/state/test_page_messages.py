"""Lines from elements: what a page says against a step, what changed, and what is kept of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from PIL import Image, ImageDraw

from hisa.config import StateSettings
from hisa.events import Abstracted, Event
from hisa.protocols import GroundedCall, Outcome
from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Element, Observation, Screenshot, Window
from hisa.state.manager import HierarchicalState, build_state
from hisa.testing.scripted import FunctionModel
from tests.state.scene import element
from tests.state.test_verdicts import grounded_act

SIZE = Size(640, 360)
MAIN = Window("0x1", "Trip", "chromium", BoundingBox(0, 0, 640, 360, "screen"), active=True)


def box(left: int, top: int, width: int = 180, height: int = 20) -> BoundingBox:
    return BoundingBox(left, top, left + width, top + height, "screen")


FIELD = element("entry", "Date", box(60, 84), "tomorrow", "editable", "focused")
SEND = element("push button", "Send", box(490, 84, 50))
TITLE = replace(element("heading", "Your trip", box(8, 8)), text="Your trip")
PAGE = (TITLE, FIELD, SEND)
SENT = grounded_act("pyautogui.click(510, 94)", "Click Send.")


def draw_page(*elements: Element, shade: int = 255, title: str = "Trip") -> Observation:
    """A page that shows the words of its elements."""
    image = Image.new("RGB", (SIZE.width, SIZE.height), (shade, shade, shade))
    draw = ImageDraw.Draw(image)
    for shown_element in elements:
        draw.text(
            (shown_element.box.left, shown_element.box.top),
            shown_element.text or shown_element.name,
            fill="black",
        )
    return Observation(
        Screenshot(image), SIZE, windows=(replace(MAIN, title=title),), elements=elements
    )


def build_state_for(events: list[Event], reply: str = "") -> HierarchicalState:
    return build_state(FunctionModel(lambda _: reply), StateSettings(), emit=events.append)


async def abstract_step(
    before: Sequence[Element],
    after: Sequence[Element],
    call: GroundedCall = SENT,
    reply: str = "Succeeded. It was sent.",
) -> Abstracted:
    events: list[Event] = []
    state = build_state_for(events, reply)
    await state.abstract(call, draw_page(*before), draw_page(*after), Outcome(ok=True))
    (event,) = events
    assert isinstance(event, Abstracted)
    return event


@pytest.mark.parametrize("role", ["static", "notification"])
@pytest.mark.parametrize(
    "words",
    [
        "YYYY-MM-DD, please",
        "Enter at least 3 letters",
        "Your session has expired",
        "Not saved: the disk is full",
        "You can't book two seats",
    ],
)
async def test_a_pages_own_refusal_is_unexpected_with_its_words(role: str, words: str) -> None:
    says = replace(element(role, words, box(250, 84)), text=words)
    event = await abstract_step(PAGE, (*PAGE, says))
    assert (event.verdict, words in event.result) == ("unexpected", True), event.result


@pytest.mark.parametrize(
    "words",
    ["Thank you, please check your mail.", "Saved.", "Booked: no errors.", "Seat 14", "12 results"],
)
async def test_success_message_of_a_page_is_expected(words: str) -> None:
    event = await abstract_step(
        PAGE, (*PAGE, replace(element("static", words, box(250, 84)), text=words))
    )
    assert event.verdict == "succeeded", event.result


async def test_a_question_that_a_page_asks_is_unexpected_with_its_words() -> None:
    """As `confirm()` of a browser: a dialog with words and buttons, and no field."""
    asks, words, ok, no = (
        replace(element(role, name, box(*place)), window="Trip")
        for role, name, place in (
            ("dialog", "This page says", (200, 100, 240, 120)),
            ("label", "Delete user Ada?", (210, 130)),
            ("push button", "OK", (210, 180, 60)),
            ("push button", "No", (300, 180, 60)),
        )
    )
    event = await abstract_step(PAGE, (*PAGE, asks, words, ok, no))
    assert event.result.startswith("Unexpected. “Delete user Ada?” says the dialog"), event.result
    field = replace(element("entry", "Name", box(210, 150), "", "editable"), window="Trip")
    event = await abstract_step(PAGE, (*PAGE, asks, words, field, ok, no))
    assert event.verdict == "succeeded"  # a form to be filled in


@pytest.mark.parametrize("value", ["Err:508", "Err:522", "#DIV/0!", "#NAME?"])
async def test_an_error_value_in_a_cell_is_unexpected(value: str) -> None:
    typed = grounded_act("pyautogui.write('=A1+'); pyautogui.press('enter')", "Enter the formula.")
    cells = [element("table cell", "A2", box(41, 200, 80), "7"), FIELD]
    wrong = [element("table cell", "A2", box(41, 200, 80), value), FIELD]
    event = await abstract_step(cells, wrong, typed)
    assert (event.verdict, f"“{value}”" in event.result) == ("unexpected", True), event.result


async def test_a_dimmed_page_keeps_its_text() -> None:
    """Under a layer that waits for an answer a browser lists nothing else; it still shows."""
    layer = element("dialog", "", box(400, 200, 200, 100))
    words = element("static", "Dogs travel free.", box(420, 240))
    before, after = draw_page(*PAGE), draw_page(*PAGE, layer, words, shade=128)
    after = replace(after, elements=(layer, words))
    events: list[Event] = []
    state = build_state_for(events)
    for observations in ((before, after), (after, before)):
        await state.abstract(SENT, *observations, Outcome(ok=True))
    for event in events:
        assert isinstance(event, Abstracted)
        assert "Your trip" not in event.result, event.result


@pytest.mark.parametrize("come", [True, False])
async def test_a_change_during_planning_is_described_in_words_or_left_out(come: bool) -> None:
    news = element("static", "Seat 14 was taken", box(250, 200))
    planned, acted = draw_page(*PAGE), draw_page(*PAGE, news)
    if not come:
        acted = replace(acted, elements=None)
    events: list[Event] = []
    state = build_state_for(events, "Succeeded. It was sent.")
    state.view(planned)
    await state.abstract(SENT, acted, acted, Outcome(ok=True))
    (line,) = state.view(acted).steps
    assert "(" not in line.partition("Result: ")[2], line
    assert ("While it was planned" in line, "Seat 14 was taken" in line) == (come, come)
