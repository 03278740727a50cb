"""Whole texts: what the state model is asked, and what the planner reads, word for word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hisa.config import StateSettings
from hisa.models.tokens import estimate_tokens
from hisa.protocols import GroundedCall, ImagePart, Message, Outcome, TextPart
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation
from hisa.state.roi import roi_pair
from hisa.state.step_abstraction import StepAbstractor
from hisa.state.token_limits import whole_lines
from hisa.testing.scripted import ScriptedModel
from hisa.text.prompt_text import excerpt
from hisa.text.prompts import render
from tests.state import test_verdicts as verdicts
from tests.state.scene import click, element, look

MENU = (20, 10, 120, 100)
FILE = element("menu", "File", BoundingBox(40, 20, 240, 200, "screen"))
BOX = BoundingBox(20, 50, 80, 60, "screen")
ROI = BoundingBox(0, 0, 160, 90)


# ---------------------------------------------------------------- a step


CLICKED = """<action>
tool: gui_action
intent: Open the menu.
description: the File menu
input: pyautogui.click(131, 187)
</action>
"""
CHANGED = "<changes>\nNew on the screen: menu “File”.\n</changes>"
SHOWN = """changed: (20, 10) to (120, 100)
the pictures show: (0, 2) to (260, 108)
</outcome>"""


@pytest.mark.parametrize(
    ("outcome", "changed", "told"),
    [
        (
            Outcome(ok=True),
            True,
            f"{CLICKED}<outcome>\nok\n{SHOWN}\n{CHANGED}",
        ),
        (
            Outcome(ok=False, output=" a\nb ", error="not\nallowed", exit_code=3),
            True,
            f"{CLICKED}<outcome>\nfailed\nexit: 3\noutput: a b\nerror: not allowed\n{SHOWN}\n"
            f"{CHANGED}",
        ),
        (
            Outcome(ok=False, output=" ", error=" "),
            False,
            f"{CLICKED}<outcome>\nfailed\nscreen: unchanged\n</outcome>",
        ),
    ],
)
async def test_what_a_model_is_asked_about_a_step(
    outcome: Outcome, changed: bool, told: str
) -> None:
    model = ScriptedModel(["Succeeded. It opened."])
    before = look(elements=())
    after = look(MENU, elements=(FILE,)) if changed else look(elements=())
    step = await StepAbstractor(model, 160).abstract(7, click(), (before, after), outcome)
    (asked,) = model.requests
    facts = "exit 3; output: a b; error: not allowed." if outcome.exit_code else ""
    limit = 160 * 3 // 5 - estimate_tokens(facts)
    system = render("step_abstraction", limit=limit, words=limit * 3 // 5, actions=1, pictures=True)
    pair = roi_pair(before, after)
    pictures = (ImagePart(pair.before), ImagePart(pair.after)) if pair else ()
    assert asked.messages[0] == Message("system", (TextPart(system),))
    user, *shown = asked.messages[1].parts
    assert (asked.messages[1].role, user) == ("user", TextPart(told))
    assert [part.image.png for part in shown if isinstance(part, ImagePart)] == [
        part.image.png for part in pictures
    ]
    assert (asked.role, len(asked.messages)) == ("state", 2)
    assert step.line.startswith("Step 7: gui_action | Thought: Open the menu. | ")


# ---------------------------------------------------------------- a summary


RULES = "\n".join(f"- {count} rule to be kept at all times" for count in ("one", "two", "three"))
RULES_TOKENS = estimate_tokens(RULES)


@pytest.mark.parametrize(
    ("tokens", "told"),
    [
        (RULES_TOKENS, RULES),
        (RULES_TOKENS - 1, f"{RULES.split(chr(10))[0]}\n(2 more lines do not fit into 31 tokens)"),
        (8, "- one rule to be…"),
    ],
)
def test_what_does_not_fit_is_counted(tokens: int, told: str) -> None:
    assert whole_lines(f"\n{RULES}\n", tokens) == told


# ---------------------------------------------------------------- loops


# ---------------------------------------------------------------- what was not expected


ALERT = element("alert", "Error", BoundingBox(200, 100, 440, 260, "screen"))


def says(text: str, role: str = "label", title: str = "Error") -> Element:
    return Element(role, text, BoundingBox(210, 120, 400, 140, "screen"), window=title)


async def result(call: GroundedCall, before: Observation, after: Observation) -> str:
    event, _ = await verdicts.seen(call, before, after)
    return event.result


def seen(*elements: Element) -> Observation:
    return verdicts.look(verdicts.CHANGE, elements=elements)


SAVING = verdicts.does("pyautogui.hotkey('ctrl', 's')", "Save the file.")


@pytest.mark.parametrize(
    ("words", "told"),
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
async def test_a_dialogs_own_words_are_passed_on(words: tuple[Element, ...], told: str) -> None:
    before = verdicts.look(elements=())
    assert await result(SAVING, before, seen(ALERT, *words)) == f"Unexpected. {told} It worked."


def test_the_settings_say_what_the_paper_says() -> None:
    chosen = StateSettings()
    assert (chosen.refine_every, chosen.steps, chosen.refine) == (5, "abstracted", "summary")
