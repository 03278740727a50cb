"""Drafts and several calls in a run: what is carried out, and what the model hears."""

from __future__ import annotations

from pathlib import Path

import pytest

import hisa
from hisa.events import Acted, PlanRejected
from hisa.runs.run_reader import load_run
from hisa.testing import FakeEnvironment, FakeServer, ReceivedRequest, tool_call
from hisa.testing.model_server import Line

PRESS_DELETE = tool_call("gui_action", "pyautogui.press('delete')")
PRESS_TAB = tool_call("gui_action", "pyautogui.press('tab')")
DONE = tool_call("termination", "done")


async def run(
    folder: Path, *replies: str, sequence: int = 1
) -> tuple[list[str], list[ReceivedRequest], int]:
    """What was done, the planner's requests, and how many replies were rejected."""
    script = [Line(reply, "planner") for reply in replies]
    with FakeServer(script, then=lambda _: "Succeeded. It did.") as server:
        tree = {
            "patterns": {"enabled": False},
            "run": {"folder": folder},
            "planner": {"sequence": sequence},
            "models": {"planner": {"model": "m", "base_url": server.url}},
        }
        result = await hisa.run(
            "Press it.",
            settings=hisa.Settings.model_validate(tree),
            environment=FakeEnvironment(),
        )
    assert result.status == "succeeded", result.message
    events = load_run(result.folder).events
    inputs = [str(event.input) for event in events if isinstance(event, Acted)]
    rejected = sum(isinstance(event, PlanRejected) for event in events)
    return inputs, [got for got in server.requests if got.role == "planner"], rejected


async def test_call_after_the_thinking_is_the_only_call_carried_out(tmp_path: Path) -> None:
    reply = f"<think>{PRESS_DELETE} or rather</think>{PRESS_TAB}"
    inputs, _, rejected = await run(tmp_path, reply, DONE)
    assert ["delete" in line for line in inputs] == [False, False]
    assert "tab" in inputs[0]
    assert rejected == 0


@pytest.mark.parametrize("sequence", [1, 3])
async def test_of_two_calls_none_is_done_and_the_model_hears_it(
    sequence: int, tmp_path: Path
) -> None:
    two = f"{PRESS_DELETE}\n{PRESS_TAB}"
    inputs, requests, rejected = await run(tmp_path, two, PRESS_TAB, DONE, sequence=sequence)
    assert ["delete" in line for line in inputs] == [False, False]
    assert rejected == 1
    correction = requests[1].text_by("user")
    assert "2 objects where one is due" in correction
    assert ("'actions'" in correction) is (sequence > 1)
