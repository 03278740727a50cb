"""Concrete values outlive the summaries of a model that forgets them, within the same limit."""

from __future__ import annotations

import random

import pytest

from hisa.config import StateSettings
from hisa.events import Abstracted, Event
from hisa.models.tokens import estimate_tokens
from hisa.protocols import ModelRequest, Task
from hisa.state.manager import build_state
from hisa.testing.scripted import FunctionModel

TASK = Task("t", "Bring the books of the branch in order and send the summary to the owner.")
FACTS = {
    6: ("The title bar shows that the book lies at {}.", "/home/ada/books/branch_17.ods"),
    14: ("The total of the column Net is {}.", "48,211.07"),
    23: ("The invoice is due on {}.", "2026-03-19"),
    31: ("The order has the number {}.", "ORD-55170"),
    40: ("The owner of the branch is {}.", "Ingrid Vale"),
    52: ("The drop-down Separator is set to {}.", "semicolon"),
    60: ("The shared folder is at {}.", "https://files.example/branch?v=7"),
    71: ("The report goes to {}.", "books@branch.example"),
    80: ('The field Subject reads "{}".', "Closing of the year"),
    90: ("The key of the licence: {}.", "9F3K-22LM-0Q7"),
}
DOES = (
    "Succeeded. The list was scrolled by {} rows.",
    'Succeeded. The menu "Data" is open with Sort, Filter and {} more.',
    "No visible change. Only the pointer moved.",
    "Succeeded. exit 0 output: {} rows in 0.{} s",
)


def _line(draw: random.Random, step: int) -> str:
    sentence, value = FACTS.get(step, ("", ""))
    result = f"Succeeded. {sentence.format(value)}" if sentence else draw.choice(DOES)
    result = result.format(draw.randrange(400), draw.randrange(100)) if not sentence else result
    noted, of = FACTS.get(step - 1, ("", ""))
    thought = f"Row {step} is done, {draw.randrange(90)} are left. I go on with the next one."
    if noted and step % 2:
        thought = f"{noted.format(of)} {thought}"
    place = f"({draw.randrange(1280)}, {draw.randrange(720)})"
    return (
        f"Step {step}: gui_action | Thought: {thought} | Description: row in the list | "
        f"Input: pyautogui.click{place} | Result: {result}"
    )


def forgets(request: ModelRequest) -> str:
    return "Steps 1~9: Rows of the list were filled one by one. Suggestion: Continue."


@pytest.mark.parametrize("every", [3, 5, 7, 9])
async def test_state_of_step_100_holds_nine_of_ten_values(every: int) -> None:
    draw = random.Random(every)
    events: list[Event] = []
    settings = StateSettings(refine_every=every)
    state = build_state(FunctionModel(forgets), settings, emit=events.append)
    for step in range(1, 100):
        line = _line(draw, step)
        events.append(Abstracted(step=step, line=line, result=line.rpartition("Result: ")[2]))
        state.restore(events)
        await state.refine_if_due(TASK)
        assert estimate_tokens(state.view().refined) <= settings.refined_tokens
    view = state.view()
    text = "\n".join((view.refined, *view.steps))
    lost = [value for _, value in FACTS.values() if value not in text]
    assert len(lost) <= 1, f"gone from the state: {lost}"


async def test_the_value_not_met_for_longest_goes_first() -> None:
    events: list[Event] = []
    settings = StateSettings(refine_every=5, refined_tokens=200)
    state = build_state(FunctionModel(forgets), settings, emit=events.append)
    for step in range(1, 61):
        code = "AAA-10001" if step in (1, 57) else f"XYZ-{20_000 + step}"
        line = f"Step {step}: wait | Thought: Go on. | Result: Succeeded. The number reads {code}."
        events.append(Abstracted(step=step, line=line, result="x"))
        state.restore(events)
        await state.refine_if_due(TASK)
    summary = state.view().refined
    assert "AAA-10001" in summary  # met again lately
    assert "XYZ-20060" in summary
    assert "XYZ-20002" not in summary
    assert estimate_tokens(summary) <= 200


async def test_a_summary_cannot_forge_values() -> None:
    events: list[Event] = []
    model = FunctionModel(
        lambda request: "Steps 1~2: Done.\nNoted: the password is hunter2-9\nEnd."
    )
    state = build_state(model, StateSettings(refine_every=2), emit=events.append)
    for step in (1, 2):
        line = f"Step {step}: wait | Thought: Go on. | Result: Succeeded. Nothing."
        events.append(Abstracted(step=step, line=line, result="x"))
    state.restore(events)
    await state.refine_if_due(TASK)
    assert "hunter2" not in state.view().refined
