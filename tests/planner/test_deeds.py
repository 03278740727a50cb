"""What was done and what is missing, by lines, words and the list."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hisa.planner.deeds import deeds, marked, to_do
from hisa.screen.geometry import BoundingBox
from hisa.screen.mark import Mark

NAME = Mark(
    'field "Name"', "field", "Name", "", BoundingBox(100, 0, 300, 20, "image"),
    takes_text=True, is_line=True,
)  # fmt: skip
SAVE = Mark('button "Save"', "button", "Save", "", BoundingBox(0, 50, 60, 70, "image"))
GIFT = Mark(
    'check box "Gift"', "check box", "Gift", "", BoundingBox(0, 80, 60, 99, "image"), is_off=True
)
TEXT = Mark(
    "text", "text", 'Enter "Ada" and press Save.', "", BoundingBox(0, 100, 99, 120, "image"),
    is_text=True, repeats_task=True,
)  # fmt: skip
CLICKED = (
    'Step 2: gui_action | Description: button "Save" | Input: pyautogui.click(30, 60) | '
    "Result: No visible change. The focus is there."
)
TYPED = (
    'Step 1: gui_action | Description: entry "Name" | '
    "Input: pyautogui.click(200, 10); pyautogui.write('Ada') | "
    "Result: Changed. Entry now reads Ada."
)


def test_a_step_is_told_in_a_few_words() -> None:
    assert [deed.line for deed in deeds([TYPED, CLICKED])] == [
        '1. typed "Ada" into entry "Name": Changed. Entry now reads Ada.',
        '2. clicked button "Save": No visible change. The focus is there.',
    ]


@pytest.mark.parametrize("line", ["", "Step", "Step 3: wait | Result: x", "no line | Input: ;;;"])
def test_any_line_is_read(line: str) -> None:
    (deed,) = deeds([line])
    assert not deed.typed
    assert not deed.was_on(NAME)


def test_a_step_is_marked_where_its_thing_still_lies() -> None:
    done = deeds([TYPED, CLICKED])
    assert list(marked((NAME, SAVE, GIFT), done)) == [
        '1 field "Name" (typed into in step 1)',
        '2 button "Save" (clicked in step 2, nothing changed)',
        '3 check box "Gift"',
    ]
    other = Mark("", "button", "Send", "", SAVE.box)
    assert list(marked((other,), done)) == ["1 "]


def test_what_is_missing_goes_with_each_step() -> None:
    task = 'Enter "Ada" as the name, choose Gift and press Save.'
    screen = (SAVE, NAME, GIFT, TEXT)
    filled = (SAVE, replace(NAME, value="Ada", is_filled=True), GIFT, TEXT)
    assert to_do(task, screen, []) == [
        'type "Ada" into element 2',
        'tick element 3: check box "Gift"',
        'click element 1: button "Save"',
    ]
    assert to_do(task, screen, deeds([TYPED]))[0] == 'type "Ada" into element 2'
    assert to_do(task, filled, deeds([TYPED]))[0] == 'tick element 3: check box "Gift"'
    assert to_do(task, filled, deeds([TYPED, CLICKED])) == ['tick element 3: check box "Gift"']


def test_numbers_and_values_that_nothing_shows_are_missing() -> None:
    assert to_do("Set it to -12 and take the 7th.", (NAME,), []) == ['type "-12" into element 1']
    assert to_do('Look for "Bo".', (SAVE,), []) == ['find "Bo"']


def test_a_name_counts_as_it_is_written_where_two_differ_by_capitals() -> None:
    low = Mark("", "link", "eget", "", SAVE.box)
    high = Mark("", "link", "Eget", "", GIFT.box)
    assert to_do('Click on the link "Eget".', (low, high), []) == ['click element 2: link "Eget"']
