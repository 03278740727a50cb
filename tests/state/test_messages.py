"""The words of a dialog that nobody expected are passed on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hisa.protocols import GroundedCall
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation
from hisa.text.prompt_text import excerpt
from tests.state import test_verdicts as verdicts
from tests.state.scene import element

ALERT = element("alert", "Error", BoundingBox(200, 100, 440, 260, "screen"))


def says(text: str, role: str = "label", title: str = "Error") -> Element:
    return Element(role, text, BoundingBox(210, 120, 400, 140, "screen"), window=title)


async def result(call: GroundedCall, before: Observation, after: Observation) -> str:
    event, _ = await verdicts.judge_step(call, before, after)
    return event.result


def look_with(*elements: Element) -> Observation:
    return verdicts.look(verdicts.CHANGE, elements=elements)


SAVING = verdicts.grounded_act("pyautogui.hotkey('ctrl', 's')", "Save the file.")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "“Error” says the alert that came up."),
        ((says("No room."),), "“No room.” says the alert “Error” that came up."),
        (
            (says("No room.", "heading"), says("Error"), says("Free 2 MB.", "paragraph")),
            "“No room. Free 2 MB.” says the alert “Error” that came up.",
        ),
        (
            (says("No room."), says("No room."), says("OK", "push button"), says("x", title="")),
            "“No room.” says the alert “Error” that came up.",
        ),
        (
            (replace(says("name"), text=" Full | disk "),),
            "“Full ¦ disk” says the alert “Error” that came up.",
        ),
        (
            (says("No room. " * 60),),
            f"“{excerpt('No room. ' * 60, 200)}” says the alert “Error” that came up.",
        ),
    ],
)
async def test_a_dialogs_own_words_are_passed_on(words: tuple[Element, ...], sentence: str) -> None:
    before = verdicts.look(elements=())
    assert (
        await result(SAVING, before, look_with(ALERT, *words))
        == f"Unexpected. {sentence} It worked."
    )
