"""Loops are found from what was done and what it changed."""

from __future__ import annotations

from hisa.events import Abstracted
from hisa.state.loops import Attempt, action_key, find_loop, step_key
from tests.state.scene import click, tool

MOVED = (100, 100, 140, 130)


def record(source: str, roi: tuple[int, int, int, int] | None = None) -> Attempt:
    call = tool("gui_action", source).call
    event = Abstracted(line="", result="", roi=roi, verdict="succeeded")
    return Attempt(call, (action_key(call, source),), event)


def times(*records: Attempt) -> int:
    loop = find_loop(records)
    return loop.times if loop else 0


def test_the_third_time_is_a_loop() -> None:
    a = record("a")
    assert times() == times(a) == times(a, a) == 0
    assert times(a, a, a) == 3
    assert times(a, a, a, a) == 4
    assert times(record("b"), a, a, a) == 3


def test_loop_count_ignores_changes_of_the_first_try() -> None:
    assert times(record("a", MOVED), record("a"), record("a")) == 3


def test_repeat_with_a_change_does_not_count_as_loop() -> None:
    assert times(record("a"), record("a", MOVED), record("a")) == 0
    assert times(record("a"), record("a"), record("a", MOVED)) == 0
    assert times(record("a"), record("a"), record("b")) == 0


def test_action_keys_differ_by_action() -> None:
    first = click()
    second = click(5, 5)
    lost = tool("gui_action", "pyautogui.click(X_COORD, Y_COORD)", description="the File menu")
    lost_other = tool(
        "gui_action", "pyautogui.click(X_COORD, Y_COORD)", description="the Edit menu"
    )
    keys = {action_key(call.call, call.input) for call in (first, second, lost, lost_other)}
    assert len(keys) == 4


def test_command_with_new_output_does_not_count_as_loop() -> None:
    call = tool("bash_execution", "date").call
    keys = {step_key([action_key(call, "date")], result=result) for result in ("1", "2", "2")}
    assert len(keys) == 2


def test_a_place_that_was_found_may_be_described_in_other_words() -> None:
    calls = [
        tool("gui_action", "pyautogui.click(X_COORD, Y_COORD)", description=text).call
        for text in ("the File menu", "File, in the menu bar")
    ]
    keys = {action_key(call, "pyautogui.click(1, 2)") for call in calls}
    assert len(keys) == 1
