"""What a step's line says was seen, whatever the model says: every model here claims success."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PIL import Image, ImageDraw

from hisa.actions import parse
from hisa.config import StateSettings
from hisa.events import Abstracted, Event, event_adapter
from hisa.outcomes.verdicts import VERDICT_WORDS, split_verdict
from hisa.protocols import GroundedCall, Outcome, ToolCall
from hisa.screen.geometry import BoundingBox, Point, Size
from hisa.screen.observation import Element, Observation, Screenshot, UnderPointer, Window
from hisa.state.manager import build_state
from hisa.testing.scripted import FunctionModel
from tests.state.scene import element

SCREEN = Size(640, 360)
MAIN = Window("1", "Book.ods", "soffice", BoundingBox(0, 0, 640, 360, "screen"), active=True)
OTHER = Window("2", "Terminal", "xterm", BoundingBox(0, 0, 300, 200, "screen"))
DIALOG = Window(
    "3", "Format Cells", "soffice", BoundingBox(200, 100, 440, 260, "screen"), active=True
)
ALERT = element("alert", "Error", BoundingBox(200, 100, 440, 260, "screen"))
SAYS = Element(
    "label", "Could not write the file.", BoundingBox(210, 120, 400, 140, "screen"), window="Error"
)


def look(
    *boxes: tuple[int, int, int, int],
    windows: tuple[Window, ...] = (MAIN, OTHER),
    elements: tuple[Element, ...] | None = None,
    cursor: tuple[int, int] | None = None,
) -> Observation:
    """A grid with dark boxes, and a pointer where there is one."""
    image = Image.new("RGB", (SCREEN.width, SCREEN.height), "#e8e8e8")
    draw = ImageDraw.Draw(image)
    for y in range(0, SCREEN.height, 20):
        draw.line((0, y, SCREEN.width, y), fill="#b0b0b0")
    for left, top, right, bottom in boxes:
        draw.rectangle((left, top, right - 1, bottom - 1), fill="#303030")
    if cursor is not None:
        x, y = cursor
        shape = [(0, 0), (0, 16), (4, 12), (7, 19), (10, 18), (7, 11), (12, 11)]
        draw.polygon([(x + dx, y + dy) for dx, dy in shape], fill="black", outline="white")
    at = Point(*cursor, "screen") if cursor else None
    return Observation(Screenshot(image), SCREEN, windows=windows, elements=elements, cursor=at)


SHAPES = {
    "arrow": [(0, 0), (0, 16), (4, 12), (7, 19), (10, 18), (7, 11), (12, 11)],
    "beam": [(5, 0), (7, 0), (7, 19), (5, 19)],
    "none": [],
}


def over(observation: Observation, cursor: tuple[int, int], shape: str = "arrow") -> Observation:
    """The look with a pointer painted in, and with what it covers where it is seen."""
    x, y = cursor
    area = (x, y, x + 14, y + 20)
    image = observation.screenshot.pixels.copy()
    bare = Screenshot(image.crop(area))
    if points := [(x + dx, y + dy) for dx, dy in SHAPES[shape]]:
        ImageDraw.Draw(image).polygon(points, fill="black", outline="white")
    under = UnderPointer(BoundingBox(*area), bare) if points else None
    at = Point(x, y, "screen")
    return replace(observation, screenshot=Screenshot(image), cursor=at, under_pointer=under)


def partial(before: Observation) -> Observation:
    """The look with elements that are not all; `Observation` is frozen."""
    observation = replace(before)
    object.__setattr__(observation, "complete", False)
    return observation


def grounded_act(source: str, thought: str = "Go on.", description: str = "") -> GroundedCall:
    call = ToolCall(thought, "gui_action", source, description, actions=parse(source))
    return GroundedCall(call, source, call.actions)


CLICK = grounded_act("pyautogui.click(300, 180)", "Press OK.", "the OK button")
CHANGE = (20, 20, 200, 120)


async def judge_step(
    call: GroundedCall,
    before: Observation,
    after: Observation,
    outcome: Outcome | None = None,
    reply: str = "Succeeded. It worked.",
) -> tuple[Abstracted, int]:
    """The step's event, as read back from a log, and how often the model was asked."""
    events: list[Event] = []
    model = FunctionModel(lambda request: reply)
    state = build_state(model, StateSettings(), emit=events.append)
    line = await state.abstract(call, before, after, outcome or Outcome(ok=True))
    (event,) = events
    read = event_adapter.validate_json(event_adapter.dump_json(event))
    assert isinstance(read, Abstracted)
    assert read.line == line
    assert read.verdict is not None
    assert read.result.startswith(VERDICT_WORDS[read.verdict])
    assert f"Result: {VERDICT_WORDS[read.verdict]}" in line
    return read, len(model.requests)


class TestNothingChanged:
    @pytest.mark.parametrize(
        "source", ["pyautogui.click(300, 180)", "pyautogui.write('abc')", "pyautogui.press('f2')"]
    )
    async def test_is_never_a_success(self, source: str) -> None:
        event, request_count = await judge_step(grounded_act(source), look(), look())
        assert (event.result, event.verdict) == ("No visible change.", "no_change")
        assert request_count == 0

    async def test_pointer_move_does_not_count_as_change(self) -> None:
        event, request_count = await judge_step(
            CLICK, look(cursor=(40, 45)), look(cursor=(300, 187))
        )
        assert (event.verdict, event.roi, request_count) == ("no_change", None, 0)

    async def test_a_change_under_the_pointer_is_one(self) -> None:
        after = look((295, 175, 305, 185), cursor=(300, 180))
        event, request_count = await judge_step(CLICK, look(cursor=(40, 45)), after)
        assert event.verdict == "succeeded"
        assert request_count == 1
        assert event.roi is not None
        assert BoundingBox(290, 170, 315, 203).contains(Point(event.roi[0], event.roi[1]))

    @pytest.mark.parametrize("shape", ["beam", "none", "arrow"])
    async def test_pointer_shape_does_not_count_as_change(self, shape: str) -> None:
        after = over(look(), (300, 187), shape)
        event, request_count = await judge_step(CLICK, over(look(), (40, 45)), after)
        assert (event.verdict, event.roi, request_count) == ("no_change", None, 0)

    @pytest.mark.parametrize("place", [(295, 180), (40, 45)])
    async def test_change_under_a_changed_pointer_counts(self, place: tuple[int, int]) -> None:
        x, y = place
        changed = look((x, y, x + 6, y + 6))
        event, request_count = await judge_step(
            CLICK, over(look(), (40, 45)), over(changed, (297, 182), "beam")
        )
        assert (event.verdict, request_count) == ("succeeded", 1)
        assert event.roi == (x, y, x + 6, y + 6)

    async def test_a_speck_that_moves_with_the_pointer_is_none(self) -> None:
        before = replace(look((40, 45, 44, 48)), cursor=Point(40, 45, "screen"))
        after = replace(look((300, 185, 304, 188)), cursor=Point(300, 185, "screen"))
        event, _ = await judge_step(CLICK, before, after)
        assert event.verdict == "succeeded"

    async def test_a_change_elsewhere_is_shown_without_the_pointer(self) -> None:
        after = look((500, 20, 540, 60), cursor=(300, 180))
        event, _ = await judge_step(CLICK, look(cursor=(40, 45)), after)
        assert event.roi == (500, 20, 540, 60)

    @pytest.mark.parametrize(
        ("width", "height", "still"),
        [(1, 16, True), (3, 40, True), (4, 16, False), (1, 41, False), (1, 6, True), (1, 5, False)],
    )
    async def test_a_caret_blinks(self, width: int, height: int, still: bool) -> None:
        event, _ = await judge_step(CLICK, look(), look((101, 101, 101 + width, 101 + height)))
        assert (event.verdict == "no_change") is still

    async def test_a_thin_letter_with_a_gap_is_a_change(self) -> None:
        event, _ = await judge_step(CLICK, look(), look((101, 101, 103, 103), (101, 105, 103, 115)))
        assert event.verdict == "succeeded"

    async def test_the_field_with_the_focus_is_looked_at(self) -> None:
        box = BoundingBox(0, 0, 100, 20, "screen")
        empty = (element("entry", "Name", box, "", "focused"),)
        full = (element("entry", "Name", box, "abc", "focused"),)
        typing = grounded_act("pyautogui.write('abc')")
        event, _ = await judge_step(typing, look(elements=empty), look(elements=full))
        sentence = 'The focus is on entry "Name", which holds "abc".'
        assert event.result == f"Succeeded. {sentence}"
        event, _ = await judge_step(typing, look(elements=full), look(elements=full))
        assert event.result == f"No visible change. {sentence}"

    async def test_a_password_is_not_shown(self) -> None:
        box = BoundingBox(0, 0, 100, 20, "screen")
        field = (element("password text", "PIN", box, "1234", "focused"),)
        event, _ = await judge_step(
            grounded_act("pyautogui.press('end')"), look(elements=field), look(elements=field)
        )
        assert event.result == 'No visible change. The focus is on password text "PIN".'

    @pytest.mark.parametrize(
        ("outcome", "verdict"),
        [
            (Outcome(ok=True, exit_code=0), "succeeded"),
            (Outcome(ok=True, output="a"), "succeeded"),
            (Outcome(ok=True, output=" "), "no_change"),
        ],
    )
    async def test_a_status_or_an_output_alone_is_a_report(
        self, outcome: Outcome, verdict: str
    ) -> None:
        call = GroundedCall(ToolCall("", "a_plug_in", "ls"), "ls")
        event, _ = await judge_step(call, look(), look(), outcome)
        assert event.verdict == verdict


class TestUnexpected:
    async def test_an_error_box_comes_with_its_own_words_first(self) -> None:
        before = look(elements=(element("frame", "Book.ods", MAIN.box or BoundingBox(0, 0, 1, 1)),))
        after = look(CHANGE, elements=(*(before.elements or ()), ALERT, SAYS))
        event, _ = await judge_step(
            grounded_act("pyautogui.hotkey('ctrl', 's')", "Save the file."), before, after
        )
        assert event.verdict == "unexpected"
        assert event.result.startswith(
            "Unexpected. “Could not write the file.” says the alert “Error” that came up."
        )

    async def test_an_intended_dialog_is_expected(self) -> None:
        dialog = element("dialog", "Format Cells", BoundingBox(200, 100, 440, 260, "screen"))
        after = look(CHANGE, windows=(DIALOG, MAIN, OTHER), elements=(dialog,))
        call = grounded_act("pyautogui.hotkey('ctrl', '1')", "Open the format dialog.")
        event, _ = await judge_step(call, look(elements=()), after)
        assert event.result == "Succeeded. It worked."

    @pytest.mark.parametrize(
        ("thought", "verdict"),
        [("Set the margins.", "succeeded"), ("Print the page.", "unexpected")],
    )
    async def test_an_alert_without_trouble_is_expected_where_the_step_names_it(
        self, thought: str, verdict: str
    ) -> None:
        alert = element("alert", "Margins", BoundingBox(200, 100, 440, 260, "screen"))
        call = grounded_act("pyautogui.hotkey('ctrl', 'm')", thought)
        event, _ = await judge_step(call, look(elements=()), look(CHANGE, elements=(alert,)))
        assert event.verdict == verdict

    async def test_a_new_window_with_words_of_trouble_needs_no_elements(self) -> None:
        trouble = replace(DIALOG, id="9", title="LibreOffice Document Recovery")
        event, _ = await judge_step(CLICK, look(), look(CHANGE, windows=(trouble, MAIN, OTHER)))
        assert event.result.startswith(
            "Unexpected. “LibreOffice Document Recovery” says the window"
        )

    async def test_a_model_that_says_failed_is_heard_after_the_words(self) -> None:
        after = look(CHANGE, elements=(ALERT, SAYS))
        event, _ = await judge_step(CLICK, look(elements=()), after, reply="Failed. Not saved.")
        assert event.result.startswith("Failed. “Could not write the file.” says the alert")
        assert event.result.endswith("Not saved.")

    async def test_a_partial_list_of_elements_proves_nothing(self) -> None:
        before, after = look(elements=()), look(CHANGE, elements=(ALERT, SAYS))
        event, _ = await judge_step(CLICK, partial(before), after)
        assert event.verdict == "succeeded"


class TestRawLog:
    """Lines without a model hold the same verdicts, and what the tool told."""

    async def raw(self, call: GroundedCall, after: Observation, outcome: Outcome) -> Abstracted:
        events: list[Event] = []
        settings = StateSettings(steps="raw")
        state = build_state(FunctionModel(lambda request: ""), settings, emit=events.append)
        line = await state.abstract(call, look(), after, outcome)
        (event,) = events
        assert isinstance(event, Abstracted)
        assert event.line == line
        assert not event.asked_model
        return event

    async def test_an_unjudged_change_has_the_verdict_changed(self) -> None:
        event = await self.raw(CLICK, look(CHANGE), Outcome(ok=True))
        assert (event.verdict, event.roi) == ("changed", CHANGE)
        expected = "Changed. The screen changed in (20, 20) to (200, 120)."
        assert event.result == expected

    async def test_a_failed_tool_is_shown_with_its_full_output(self) -> None:
        call = GroundedCall(ToolCall("", "bash_execution", "ls"), "ls")
        outcome = Outcome(ok=False, output="a b", error="no such file", exit_code=2)
        event = await self.raw(call, look(), outcome)
        assert event.verdict == "failed"
        assert event.result == "Failed. exit 2 a b no such file"


def test_every_word_is_read_back() -> None:
    for verdict, words in VERDICT_WORDS.items():
        assert split_verdict(f"{words} More.") == (verdict, "More.")
    assert split_verdict("Nothing of the kind.") == (None, "Nothing of the kind.")
