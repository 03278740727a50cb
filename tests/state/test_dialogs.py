"""Dialogs that come up, whose words are read, and whose windows are whose."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hisa.config import StateSettings
from hisa.events import Abstracted, Event
from hisa.protocols import GroundedCall, Outcome
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation, Window
from hisa.state.manager import build_state
from hisa.testing.scripted import FunctionModel
from tests.state.scene import element
from tests.state.test_verdicts import CHANGE, grounded_act, look

MAIN = Window("0x120009d", "Book", "calc", BoundingBox(0, 0, 640, 360, "screen"), active=True)
BEHIND = replace(MAIN, active=False)
PLACE = BoundingBox(200, 100, 440, 260, "screen")
DIALOG = Window("0x1200ccb", "", "Soffice", PLACE, active=True)
"""As LibreOffice's: of another class than its documents, and without a title."""
STRANGER = replace(DIALOG, id="0x1400ccb")
SAYS = Element("label", "The formula has an error.", PLACE, window="Question")
KEYS = grounded_act("pyautogui.press('enter')", "Enter the formula.")
CLICK = grounded_act("pyautogui.click(100, 300)", "Select the cell.")


async def abstract_step(
    call: GroundedCall,
    before: Observation,
    after: Observation,
    *elements: Element,
    steps: str = "abstracted",
) -> Abstracted:
    """The step's event; the model claims success."""
    events: list[Event] = []
    model = FunctionModel(lambda request: "Succeeded. It worked.")
    settings = StateSettings.model_validate({"steps": steps})
    state = build_state(model, settings, emit=events.append)
    await state.abstract(call, before, replace(after, elements=elements), Outcome(ok=True))
    (event,) = events
    assert isinstance(event, Abstracted)
    return event


@pytest.mark.parametrize("steps", ["abstracted", "raw"])
@pytest.mark.parametrize("role", ["alert", "dialog"])
async def test_the_words_of_a_dialog_that_came_up_are_read(role: str, steps: str) -> None:
    # A toolkit counts the shadow of its dialogs in, or leaves the title out.
    for box in (
        PLACE,
        BoundingBox(190, 90, 450, 270, "screen"),
        BoundingBox(200, 120, 440, 260, "screen"),
    ):
        elements = (element(role, "Question", box), SAYS)
        after = look(CHANGE, windows=(BEHIND, DIALOG))
        event = await abstract_step(KEYS, look(windows=(MAIN,)), after, *elements, steps=steps)
        assert event.result.startswith(
            f"Unexpected. “The formula has an error.” says the {role} “Question” that came up."
        )


async def test_a_dialog_elsewhere_is_not_the_one_that_came_up() -> None:
    """What was there before is not known, where the elements were not read then."""
    panel = element("dialog", "Side bar", BoundingBox(0, 0, 100, 360, "screen"))
    says = replace(SAYS, window="Side bar")
    after = look(CHANGE, windows=(BEHIND, DIALOG))
    event = await abstract_step(KEYS, look(windows=(MAIN,)), after, panel, says)
    assert event.verdict == "succeeded"


async def test_a_dialog_that_the_step_names_may_have_any_words() -> None:
    validity = element("dialog", "Validity", PLACE)
    says = replace(SAYS, name="Show error message", window="Validity")
    after = look(CHANGE, windows=(BEHIND, DIALOG))
    opens = grounded_act("pyautogui.click(300, 180)", "Click on Validity.")
    event = await abstract_step(opens, look(windows=(MAIN,)), after, validity, says)
    assert event.verdict == "succeeded"
