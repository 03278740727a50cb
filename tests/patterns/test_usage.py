"""A pattern was used where a thought cites it or its way was taken, and nowhere else."""

from __future__ import annotations

import pytest

from hisa.patterns.usage import cited, used
from hisa.protocols import StepSummary
from tests.patterns.conformance import pattern

SAVE = 'press Ctrl+Shift+S; click "Save As"; type the whole path; press Enter'


def step(source: str, description: str = "", result: str = "Succeeded.") -> StepSummary:
    line = f"Step 1: gui_action | Description: {description} | Input: {source} | Result: {result}"
    return StepSummary("Next.", line)


KEYS = "pyautogui.hotkey('ctrl', 'shift', 's')"
CLICK = 'menu item "Save As..."'


@pytest.mark.parametrize(
    ("thought", "wanted"),
    [
        ("As [p1] says.", {"p1"}),
        ("[p1, p3] and [p12]", {"p1", "p3", "p12"}),
        ("p1 without brackets, [x1], [p], [p123]", set()),
    ],
)
def test_citations(thought: str, wanted: set[str]) -> None:
    assert cited(thought) == wanted


def test_a_citation_counts_for_the_pattern_at_its_place() -> None:
    steps = [StepSummary("Next.", ""), StepSummary("As [p2] says.", "")]
    assert [used(pattern(), number, steps) for number in (1, 2, 3)] == [False, True, False]


@pytest.mark.parametrize(
    ("steps", "wanted"),
    [
        ([step(KEYS), step("pyautogui.click(1, 2)", CLICK)], True),
        ([step(KEYS.upper()), step("x", CLICK)], False),
        ([step(KEYS)], False),
        ([step("pyautogui.click(1, 2)", CLICK)], False),
        ([step("pyautogui.hotkey('ctrl', 's')"), step("x", CLICK)], False),
        ([step(KEYS, result="No visible change."), step("x", CLICK)], False),
        ([step(KEYS), step("x", CLICK, result="Failed. Not found.")], False),
        ([step(KEYS), step("x", 'menu item "Unsave Assets"')], False),
        ([], False),
    ],
)
def test_a_way_was_taken_where_all_that_it_names_was_done(
    steps: list[StepSummary], wanted: bool
) -> None:
    assert used(pattern(actions=SAVE), 1, steps) is wanted
