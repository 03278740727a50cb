"""No line of runs on real pages and real spreadsheets misleads: each is read by the checker."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

import hisa
from benchmarks.miniwob_words.player import by_rules, play
from hisa.config import Settings
from hisa.events import Abstracted, Event, ModelAsked
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.protocols import ModelRequest
from hisa.runs.read import load_run
from hisa.testing.scripted import FunctionModel, tool_call
from tests.plugins.benchmarks.tasks.pages import needs_pages
from tests.state.line_faults import run_faults

TUTORIALS = Path(__file__).parents[3] / "data" / "spider2v" / "evaluation_examples" / "examples"
CLICK = "pyautogui.click(X_COORD, Y_COORD)"

Step = tuple[str, str]
"""Source, and the description of its place."""

SUMS: tuple[Step, ...] = (
    (
        f"{CLICK}; pyautogui.write('A12\\n')",
        "the Name Box at the left of the formula bar, showing A1",
    ),
    ("pyautogui.write('Total\\t=SUM(B2:B11)\\n')", ""),
    (CLICK, "cell H1"),
    ("pyautogui.write('Total')", ""),
    ("pyautogui.press('enter')", ""),
    ("pyautogui.write('=SUM(B2:G2)\\n')", ""),
    ("pyautogui.scroll(-5, 600, 400)", ""),
    ("pyautogui.press('escape')", ""),
    ("pyautogui.hotkey('ctrl', 's')", ""),
    (CLICK, "'Keep Current Format!' button in the dialog"),
)
SORT: tuple[Step, ...] = (
    ("pyautogui.hotkey('ctrl', 'a')", ""),
    (CLICK, "menu 'Data' in the menu bar at the top"),
    (CLICK, "menu item 'Sort...' in the opened Data menu"),
    (CLICK, "'Descending' radio button of Sort Key 1, to the right of the drop-down list"),
    (CLICK, "'Options' tab at the top of the Sort dialog"),
    (CLICK, "check box 'Case sensitive'"),
    (CLICK, "the purple unicorn button"),
    (CLICK, "'OK' button at the bottom of the Sort dialog"),
    ("pyautogui.hotkey('ctrl', 'z')", ""),
)


def planner(steps: tuple[Step, ...]) -> FunctionModel:
    """Makes these steps, whatever comes of them, and ends."""
    left = iter(steps)

    async def reply(request: ModelRequest) -> str:
        if request.role != "planner":
            return await asyncio.to_thread(by_rules, request)
        source, description = next(left, ("", ""))
        return (
            tool_call("gui_action", source, description)
            if source
            else tool_call("termination", "Done.")
        )

    return FunctionModel(reply)


def tells_programs(events: Iterable[Event]) -> list[bool]:
    """Of each request to the planner: whether it says what is installed."""
    texts: dict[str, str] = {}
    asked = []
    for event in events:
        if isinstance(event, ModelAsked):
            texts.update(event.texts)
            body = json.dumps(event.body["messages"][1:])
            digests = re.findall(r"[0-9a-f]{64}", body)
            whole = body + "".join(texts.get(digest, "") for digest in digests)
            asked += ["<programs>" in whole] if event.role == "planner" else []
    return asked


@pytest.mark.desktop
@pytest.mark.skipif(not shutil.which("soffice"), reason="needs LibreOffice")
@pytest.mark.parametrize(("task", "steps"), [("9e7adf85", SUMS), ("428da721", SORT)])
async def test_a_tutorials_lines_are_true(
    tmp_path: Path, task: str, steps: tuple[Step, ...]
) -> None:
    (path,) = TUTORIALS.glob(f"excel/{task}*/*.json")
    settings = Settings.model_validate(
        {
            "run": {"folder": tmp_path},
            "patterns": {"enabled": False},
            "grounder": {"kind": "elements"},
        }
    )
    result = await hisa.run(path, settings=settings, model=planner(steps))
    events = load_run(result.folder).events
    assert len([event for event in events if isinstance(event, Abstracted)]) == len(steps) + 1
    assert run_faults(events) == []
    assert tells_programs(events) == [True] + [False] * len(steps)


@pytest.mark.desktop
@pytest.mark.browser
@needs_pages
@pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium")
@pytest.mark.parametrize(
    "page",
    ["click-checkboxes-large", "form-sequence-2", "read-table-2", "scroll-text-2", "find-greatest"],
)
async def test_a_pages_lines_are_true(page: str) -> None:
    heard: list[Event] = []
    async with DesktopEnvironment() as desktop:
        episode = await play(desktop, page, 1, on_event=heard.append)
    assert not episode.broken
    assert [event for event in heard if isinstance(event, Abstracted)]
    assert run_faults(heard) == []
    assert not any(tells_programs(heard))
