"""What was done and what is missing, by lines, words and the list."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hisa.plugins.small.past_steps import Mark, build_mark_lines, list_to_do, read_past_steps
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


def test_past_step_has_a_short_line() -> None:
    assert [step.line for step in read_past_steps([TYPED, CLICKED])] == [
        '1. typed "Ada" into entry "Name": Changed. Entry now reads Ada.',
        '2. clicked button "Save": No visible change. The focus is there.',
    ]


@pytest.mark.parametrize("line", ["", "Step", "Step 3: wait | Result: x", "no line | Input: ;;;"])
def test_any_line_is_read(line: str) -> None:
    (step,) = read_past_steps([line])
    assert not step.typed_text
    assert not step.was_on(NAME)


def test_entry_names_the_step_that_acted_on_it() -> None:
    steps = read_past_steps([TYPED, CLICKED])
    assert list(build_mark_lines((NAME, SAVE, GIFT), steps)) == [
        '1 field "Name" (typed into in step 1)',
        '2 button "Save" (clicked in step 2, nothing changed)',
        '3 check box "Gift"',
    ]
    other = Mark("", "button", "Send", "", SAVE.box)
    assert list(build_mark_lines((other,), steps)) == ["1 "]


def test_to_do_list_shrinks_with_every_step() -> None:
    task = 'Enter "Ada" as the name, choose Gift and press Save.'
    screen = (SAVE, NAME, GIFT, TEXT)
    filled = (SAVE, replace(NAME, value="Ada", is_filled=True), GIFT, TEXT)
    assert list_to_do(task, screen, []) == [
        'type "Ada" into element 2',
        'tick element 3: check box "Gift"',
        'click element 1: button "Save"',
    ]
    assert list_to_do(task, screen, read_past_steps([TYPED]))[0] == 'type "Ada" into element 2'
    assert (
        list_to_do(task, filled, read_past_steps([TYPED]))[0] == 'tick element 3: check box "Gift"'
    )
    assert list_to_do(task, filled, read_past_steps([TYPED, CLICKED])) == [
        'tick element 3: check box "Gift"'
    ]


def test_numbers_and_values_that_nothing_shows_are_missing() -> None:
    assert list_to_do("Set it to -12 and take the 7th.", (NAME,), []) == [
        'type "-12" into element 1'
    ]
    assert list_to_do('Look for "Bo".', (SAVE,), []) == ['find "Bo"']


def test_field_gets_the_value_close_behind_its_name() -> None:
    to = replace(NAME, name="To:", box=GIFT.box)
    fields = (NAME, to)
    assert list_to_do('To: "Palma" on 10/03/2016', fields, []) == [
        'type "Palma" into element 2',
        'type "10/03/2016" into element 2',
    ]
    assert list_to_do("To: the town of palms on the 3/4", fields, []) == ['type "3/4"']


def test_row_name_decides_among_things_of_one_name() -> None:
    bin_of = [
        replace(SAVE, line=f'image "trash" of "{who}"', kind="image", name="trash", box=box)
        for who, box in (("Anne", NAME.box), ("Misty", SAVE.box), ("Bo", GIFT.box))
    ]
    task = "Find the mail by Misty and click its trash icon."
    assert list_to_do(task, bin_of, []) == ['click element 2: image "trash"']
    assert list_to_do("Click a trash icon.", bin_of, []) == [
        'click one of the elements 1, 2, 3: image "trash"'
    ]


def test_a_scroll_leaves_a_thing_to_do() -> None:
    scrolled = CLICKED.replace("click(30, 60)", "scroll(-5, 30, 60)")
    open_items = ['click element 1: button "Save"']
    assert list_to_do("Press Save.", (SAVE,), read_past_steps([scrolled])) == open_items
    assert list_to_do("Press Save.", (SAVE,), read_past_steps([CLICKED])) == []
