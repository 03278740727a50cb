"""Level 2: older steps folded into one summary."""

from __future__ import annotations

import pytest

from hisa.models.tokens import estimate_tokens
from hisa.state.base import NewSteps
from hisa.state.context import ContextRefiner
from hisa.state.lines import history_line
from hisa.testing.scripted import FunctionModel, ScriptedModel
from tests.state.scene import TASK, click, section, tool

LIMIT = 120
LINES = (
    history_line(1, click(131, 187), "Succeeded. The menu is open.", limit=160),
    history_line(2, click(40, 50), "Failed. Nothing happened.", limit=160),
    history_line(3, tool("bash_execution", "ls"), "Succeeded. exit 0; output: a.", limit=160),
)


async def refine(
    model: ScriptedModel | FunctionModel,
    previous: str = "",
    lines: tuple[str, ...] = LINES,
    limit: int = LIMIT,
) -> str:
    return await ContextRefiner(model, limit).refine(
        TASK, previous, steps=NewSteps(lines), first=1, last=len(lines)
    )


async def test_the_request_holds_task_summary_and_steps_and_no_picture() -> None:
    model = ScriptedModel(["Steps 1~3: Opened click(131, 187). Suggestion: Continue"])
    summary = await refine(model, "Steps 1~0: nothing.")
    assert summary == "Steps 1~3: Opened click(131, 187). Suggestion: Continue"
    (request,) = model.requests
    assert request.images == 0
    assert request.text.startswith("# Context refinement\n")
    assert section(request, "task") == [TASK.instruction]
    assert section(request, "previous_summary") == ["Steps 1~0: nothing."]
    assert section(request, "new_steps") == [
        LINES[0],
        LINES[1].replace("click(40, 50)", "click(…)"),
        LINES[2],
    ]


async def test_a_summary_without_its_range_gets_it() -> None:
    summary = await refine(ScriptedModel(["Opened the menu at click(131,187)."]))
    assert summary == "Steps 1~3: Opened the menu at click(131,187)."


@pytest.mark.parametrize("limit", [100, 120, 800])
async def test_a_verbose_model_is_bounded(limit: int) -> None:
    model = FunctionModel(lambda request: "word " * 10_000)
    summary = await refine(model, "old " * 5000, limit=limit)
    assert estimate_tokens(summary) <= limit
    assert len(model.requests) == 1


@pytest.mark.parametrize("reply", ["", " \n\t", "…", "---"])
async def test_without_an_answer_the_steps_speak_for_themselves(reply: str) -> None:
    first = await refine(FunctionModel(lambda request: reply))
    assert first == (
        "Steps 1~3: gui_action pyautogui.click(131, 187): Succeeded. The menu is open; "
        "gui_action pyautogui.click(…): Failed. Nothing happened; "
        "bash_execution ls: Succeeded. exit 0; output: a"
    )
    later = await refine(FunctionModel(lambda request: reply), "Steps 1~9: Typed the name.")
    assert "pyautogui.click(…): Failed." in later
    assert "Earlier: Steps 1~9:" in later
    assert estimate_tokens(later) <= LIMIT


@pytest.mark.parametrize("verdict", ["Failed.", "No visible change.", "Unexpected."])
async def test_a_place_is_offered_again_only_where_its_click_had_its_effect(verdict: str) -> None:
    lines = (LINES[0], history_line(2, click(40, 50), f"{verdict} It is grey.", limit=160))
    model = ScriptedModel(
        ["Steps 1~2: Menu with click(131, 187), then doubleClick(x=40, y=50.0); value (40, 50)."]
    )
    await refine(model, lines=lines)
    (request,) = model.requests
    assert "click(131, 187)" in request.text
    assert "40, 50" not in request.text
