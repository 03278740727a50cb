"""Two candidates have one key where they would do the same, and not where they would not."""

from __future__ import annotations

import pytest

from hisa.actions import fill, parse, slots
from hisa.planner.canonical import canonical_keys
from hisa.protocols import GroundedCall, Place, ToolCall
from hisa.screen.geometry import Point

CLICK = "pyautogui.click(X_COORD, Y_COORD)"


def gui(source: str, *places: Place) -> GroundedCall:
    actions = parse(source)
    at = {index: place.point for index, place in zip(slots(actions), places, strict=True)}
    call = ToolCall("why", "gui_action", source, actions=actions)
    return GroundedCall(call, source, fill(actions, at), places)


def tool(name: str, value: str | dict[str, object]) -> GroundedCall:
    call = ToolCall("why", name, value)
    return GroundedCall(call, value)


def place(x: float, y: float, label: str = "", source: str = "accessibility") -> Place:
    return Place("words", Point(x, y), None, source, label)


def same(one: GroundedCall, other: GroundedCall) -> bool:
    first, second = canonical_keys([[one], [other]])
    return first == second


ALIKE = [
    ("pyautogui.click(100, 200)", "pyautogui.moveTo(100, 200); pyautogui.click()"),
    ("pyautogui.click(100, 200)", "pyautogui.click(104, 203)"),
    ("pyautogui.doubleClick(5, 5)", "pyautogui.click(5, 5, clicks=2)"),
    ("pyautogui.hotkey('ctrl', 'shift', 's')", "pyautogui.hotkey('SHIFT', 'Ctrl', 'S')"),
    ("pyautogui.write('a  b ')", "pyautogui.write('a b', interval=0.1)"),
    ("pyautogui.write('a\\n')", "pyautogui.write('a'); pyautogui.press('return')"),
    ("pyautogui.press('tab', presses=2)", "pyautogui.press('tab'); pyautogui.press('tab')"),
    ("pyautogui.scroll(-3)", "pyautogui.scroll(-10)"),
    ("pyautogui.press('f2'); time.sleep(1)", "pyautogui.press('f2')"),
]
OTHER = [
    ("pyautogui.click(100, 200)", "pyautogui.click(100, 220)"),
    ("pyautogui.click(100, 200)", "pyautogui.rightClick(100, 200)"),
    ("pyautogui.click(100, 200)", "pyautogui.doubleClick(100, 200)"),
    ("pyautogui.write('a')", "pyautogui.write('a\\n')"),
    ("pyautogui.write('a')", "pyautogui.write('A')"),
    ("pyautogui.press('a')", "pyautogui.write('a')"),
    ("pyautogui.scroll(-3)", "pyautogui.scroll(3)"),
    ("pyautogui.moveTo(5, 5)", "pyautogui.click(5, 5)"),
    ("pyautogui.keyDown('ctrl')", "pyautogui.keyUp('ctrl')"),
    ("pyautogui.moveTo(5, 5); pyautogui.click(90, 90)", "pyautogui.click(90, 90)"),
]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_actions_that_do_the_same_have_one_key(one: str, other: str) -> None:
    assert same(gui(one), gui(other))


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_actions_that_do_something_else_do_not(one: str, other: str) -> None:
    assert not same(gui(one), gui(other))


def test_words_of_a_description_do_not_count_where_the_place_is_the_same() -> None:
    one = place(100, 200, 'button "Save"')
    other = place(103, 200, "a point", "vision")
    assert same(gui(CLICK, one), gui(CLICK, other))


def test_points_on_one_thing_may_lie_further_apart() -> None:
    assert same(gui(CLICK, place(100, 200, "Save")), gui(CLICK, place(110, 200, "Save")))
    assert not same(gui(CLICK, place(100, 200, "Save")), gui(CLICK, place(110, 200, "Open")))
    assert not same(gui(CLICK, place(100, 200)), gui(CLICK, place(110, 200)))


def test_things_of_one_name_in_two_rows_are_two() -> None:
    assert not same(gui(CLICK, place(100, 200, "Delete")), gui(CLICK, place(100, 216, "Delete")))


def test_nearness_does_not_chain() -> None:
    first, second, third = canonical_keys(
        [[gui(f"pyautogui.click({x}, 200)")] for x in (100, 105, 110)]
    )
    assert first == second != third


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (tool("bash_execution", "ls  -l\n"), tool("bash_execution", " ls -l"), True),
        (tool("bash_execution", "cd a\nls"), tool("bash_execution", "cd a ls"), False),
        (tool("bash_execution", "if x:\n  a"), tool("bash_execution", "if x:\na"), False),
        (tool("bash_execution", "ls"), tool("wait", "ls"), False),
        (tool("termination", "Done."), tool("termination", "All is saved."), True),
        (tool("termination", "Done."), tool("infeasible", "Done."), False),
        (tool("wait", "2"), tool("wait", "5"), True),
        (tool("mail", {"a": " x", "b": 1}), tool("mail", {"b": 1, "a": "x"}), True),
        (tool("mail", {"a": "x"}), tool("mail", {"a": "y"}), False),
    ],
)
def test_other_tools_compare_by_their_input(
    one: GroundedCall, other: GroundedCall, equal: bool
) -> None:
    assert same(one, other) is equal


def test_a_reply_of_several_calls_compares_as_a_whole() -> None:
    click, text, end = gui("pyautogui.click(5, 5)"), gui("pyautogui.write('a')"), tool("wait", "1")
    keys = canonical_keys([[click, text], [click, text], [text, click], [click, text, end]])
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
