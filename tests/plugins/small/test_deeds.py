"""What was done and what is missing, by lines, words and the list."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hisa.plugins.small.deeds import Mark, deeds, marked, to_do
from hisa.screen.geometry import BoundingBox

NAME = Mark(
    'field "Name"',
    "field",
    "Name",
    "",
    BoundingBox(100, 0, 300, 20, "image"),
    takes_text=True,
    is_line=True,
)
SAVE = Mark('button "Save"', "button", "Save", "", BoundingBox(0, 50, 60, 70, "image"))
GIFT = Mark(
    'check box "Gift"', "check box", "Gift", "", BoundingBox(0, 80, 60, 99, "image"), is_off=True
)
TEXT = Mark(
    "text",
    "text",
    'Enter "Ada" and press Save.',
    "",
    BoundingBox(0, 100, 99, 120, "image"),
    is_text=True,
    repeats_task=True,
)
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


def test_a_field_is_told_for_what_stands_close_behind_its_name() -> None:
    to = replace(NAME, name="To:", box=GIFT.box)
    fields = (NAME, to)
    assert to_do('To: "Palma" on 10/03/2016', fields, []) == [
        'type "Palma" into element 2',
        'type "10/03/2016" into element 2',
    ]
    assert to_do("To: the town of palms on the 3/4", fields, []) == ['type "3/4"']


def test_of_things_of_one_name_that_of_the_named_row_is_meant() -> None:
    bin_of = [
        replace(SAVE, line=f'image "trash" of "{who}"', kind="image", name="trash", box=box)
        for who, box in (("Anne", NAME.box), ("Misty", SAVE.box), ("Bo", GIFT.box))
    ]
    task = "Find the mail by Misty and click its trash icon."
    assert to_do(task, bin_of, []) == ['click element 2: image "trash"']
    assert to_do("Click a trash icon.", bin_of, []) == [
        'click one of the elements 1, 2, 3: image "trash"'
    ]


def test_a_scroll_leaves_a_thing_to_do() -> None:
    scrolled = CLICKED.replace("click(30, 60)", "scroll(-5, 30, 60)")
    asked = ['click element 1: button "Save"']
    assert to_do("Press Save.", (SAVE,), deeds([scrolled])) == asked
    assert to_do("Press Save.", (SAVE,), deeds([CLICKED])) == []
