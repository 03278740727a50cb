"""Steps as people write them for a spreadsheet: read into records, and acted on by the screen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hisa.offline.instructions import read_script
from hisa.offline.records import (
    Click,
    Drag,
    GoTo,
    Instruction,
    Press,
    Reveal,
    Save,
    Target,
    Tick,
    Type,
)
from tests.offline.talk import line, planned

EXCEL = Path("tests/data/spider2v/evaluation_examples/examples/excel")
SHEET_MENU = Click(Target("Sheet", "menu"))
NEW_SHEET: list[Instruction] = [
    SHEET_MENU,
    Click(Target("Insert Sheet at End...", "menu item")),
    Press(("enter",)),
]


def cell(name: str) -> Target:
    return Target(name, "cell")


def filled(area: str, way: str) -> list[Instruction]:
    fill = [Click(Target("Fill Cells", "menu item")), Click(Target(f"Fill {way}", "menu item"))]
    return [GoTo(area), SHEET_MENU, *fill]


STEPS: list[tuple[str, list[Instruction]]] = [
    ("Click cell $C$4", [Click(cell("C4"))]),
    ("Select the range $A$1:B7", [GoTo("A1:B7")]),
    ("Select the cells A1:A5, C1:C5", [GoTo("A1:A5"), Drag(cell("C1"), cell("C5"), "ctrl")]),
    ("Select columns B to D", [GoTo("B:D")]),
    ("Click on column E", [GoTo("E:E")]),
    ('Select column C by clicking "C" on the top of the sheet', [GoTo("C:C")]),
    ('Choose "Column C"', [Click(Target("Column C"))]),
    ('Enter "Sum" at the entry D9', [Type("Sum", cell("D9"))]),
    ("Type =A1*2 in cell B1", [Type("=A1*2", cell("B1"))]),
    (
        'Click on the input line at the top, and enter the formula ``=A1&"x"``',
        [Press(("f2",)), Type('=A1&"x"')],
    ),
    (
        r"Type the headers \"One\" and \"Two\" in the $B$1, $C$1 cells.",
        [Type("One", cell("B1")), Type("Two", cell("C1"))],
    ),
    (
        'Type "1", "2" and "3" in three cells A1:A3 respectively',
        [Type("1", cell("A1")), Type("2", cell("A2")), Type("3", cell("A3"))],
    ),
    (
        'Click cell A1; type "x"; click cell B1; type "y" and press Tab',
        [Type("x", cell("A1")), Type("y", cell("B1")), Press(("tab",))],
    ),
    (
        'Click cell B9. Type "=SUM()". Switch to Sheet3, and select the cells $B$2:$B$8. '
        "Press Enter.",
        [Type("=SUM($Sheet3.B2:B8)", cell("B9")), Press(("enter",))],
    ),
    (
        'Click cell D1. Type "=". Click cell B1. Type "-". In Sheet2 click the cell B1. Press Tab.',
        [Type("=B1-$Sheet2.B1", cell("D1")), Press(("tab",))],
    ),
    (
        "Click the right bottom corner of the entry B9 (you should see a cross), hold it and drag "
        "to the entry F9.",
        filled("B9:F9", "Right"),
    ),
    (
        "Move the cursor to the bottom-right corner of cell C2. Then drag the cursor from C2 to "
        "C20.",
        filled("C2:C20", "Down"),
    ),
    (
        "Click cell B7 and move the mouse to the bottom right corner of this cell. Press down the "
        "mouse and drag right until to column E. Release the mouse.",
        [Click(cell("B7")), *filled("B7:E7", "Right")],
    ),
    ("Add a new sheet", NEW_SHEET),
    ('Click the "Append sheet" button to create a new sheet "Sheet2"', NEW_SHEET),
    ("Go back to Sheet1", [Click(Target("Sheet1", "tab"))]),
    ("Switch to Sheet2 via clicking its tab", [Click(Target("Sheet2", "tab"))]),
    ("Click the green tick or press Enter to make it work", [Press(("enter",))]),
    ("Uncheck or disable the `Legend` option", [Tick(Target("Legend", "check box"), on=False)]),
    (
        "Tick the check box before `A` and `B`",
        [Tick(Target("A", "check box")), Tick(Target("B", "check box"))],
    ),
    ('Ensure that "Rows" and "Labels" are chosen', [Tick(Target("Rows")), Tick(Target("Labels"))]),
    (
        'Click the menu button "Insert -> Pivot Table...".',
        [Click(Target("Insert", "menu")), Click(Target("Pivot Table...", "menu item"))],
    ),
    (
        "Insert > Chart...",
        [Click(Target("Insert", "menu")), Click(Target("Chart...", "menu item"))],
    ),
    (
        'Click "Insert", and choose "Chart".',
        [Click(Target("Insert", "menu")), Click(Target("Chart", "menu item"))],
    ),
    ("Click OK to confirm the area", [Click(Target("OK"))]),
    (
        "Under the `Function`, choose `Count`",
        [Click(Target("Count", near='below "Function"'))],
    ),
    (
        'Under "End", click the radio button "Cell". In the input box after "Cell", type "A1"',
        [
            Click(Target("Cell", "radio button", 'below "End"')),
            Type("A1", Target("", "field", 'right of radio button "Cell" below "End"')),
        ],
    ),
    (
        'For Titles, type "Sales" into the field `Subtitle` to overwrite the old one',
        [Reveal("Titles"), Type("Sales", Target("Subtitle", "field"), replace=True)],
    ),
    (
        "Press and drag `Year` from `Available Fields` box to `Row Fields` box",
        [
            Drag(
                Target("Year", "item", near='below label "Available Fields"'),
                Target("Row Fields", "box"),
            )
        ],
    ),
    (
        'Set the background color of this cell to "Green"',
        [
            Click(Target("Background Color", "arrow of button")),
            Click(Target("Green", "list item")),
        ],
    ),
    (
        'Type "Hi" in cell A1. Make it bold.',
        [Type("Hi", cell("A1")), GoTo("A1"), Press(("ctrl", "b"))],
    ),
    (
        "Change the color code into (255, 128, 0)",
        [Type("ff8000", Target("Hex", "field"), replace=True)],
    ),
    ("Click the triangle on the right of cell C1", [Click(cell("C1")), Press(("alt", "down"))]),
    ("Save the sheet using Excel 2007-365 format", [Save(".xlsx")]),
]


@pytest.mark.parametrize(("text", "wanted"), STEPS, ids=[text for text, _ in STEPS])
def test_a_step(text: str, wanted: list[Instruction]) -> None:
    assert list(read_script(text).instructions) == wanted


def test_remarks_around_steps_are_no_steps() -> None:
    script = read_script(
        "1. Click OK. You will see a list.\n2. Press F5. Now we have a table.\n"
        "You can also do it in another way."
    )
    assert list(script.instructions) == [Click(Target("OK")), Press(("f5",))]
    assert not script.unread
    assert len(script.ignored) == 3


def test_an_item_that_is_nothing_but_a_remark_is_a_step_that_is_not_understood() -> None:
    assert read_script("1. Press F5\n2. The total should be red").unread


def test_the_goal_before_a_tutorial_is_not_done_twice() -> None:
    script = read_script(
        "Please add a new sheet.\nHere is a tutorial that tells how to do it:\n1. Press F5\n"
    )
    assert list(script.instructions) == [Press(("f5",))]


@pytest.mark.parametrize(
    "text", ["Drag the corner of cell B2 to the end", "1. Click the corner of the table"]
)
def test_a_corner_of_something_else_is_no_fill(text: str) -> None:
    script = read_script(text)
    assert not any(isinstance(step, GoTo) for step in script.instructions)
    assert script.instructions


def test_a_task_of_prose_and_a_list_keeps_both() -> None:
    assert len(read_script("Open the text editor.\n1. Press F5\n2. Press F6").instructions) == 3


@pytest.mark.parametrize("path", sorted(EXCEL.glob("*/*.json")), ids=lambda path: path.stem[:8])
def test_a_published_tutorial_is_read_whole(path: Path) -> None:
    task = json.loads(path.read_text("utf-8"))
    if "verbose" in task["tags"]:
        script = read_script(task["instruction"])
        assert script.instructions
        assert not script.unread


# ---------------------------------------------------------------- on a screen

CALC = (
    "window: a.xlsx - LibreOffice Calc (soffice)\nwindows: a.xlsx - LibreOffice Calc\n"
    '- frame "a.xlsx - LibreOffice Calc" at (5, 5)\n'
)


def test_after_a_chart_was_made_the_sheet_gets_the_keys_back_first() -> None:
    chart = (
        CALC
        + '- menu "File" at (20, 30)\n- menu "Tools" at (60, 30)\n- table cell "A1" at (70, 80)'
    )
    sheet = CALC + '- menu "Tools" at (20, 30)\n- menu "Sheet" at (60, 30)'
    assert planned("Select cells A1:B2", elements=chart)["input"].startswith(
        "pyautogui.click(70, 80); pyautogui.sleep(0.5); pyautogui.hotkey('ctrl', 'shift', 't')"
    )
    assert planned("Select cells A1:B2", elements=sheet)["input"].startswith("pyautogui.hotkey")


def test_a_folded_section_is_unfolded_for_what_is_below_its_heading() -> None:
    folded = (
        "window: Layout (soffice)\nwindows: Layout\n"
        '- dialog "Layout" at (5, 5)\n'
        '- toggle button "Source and Destination" states=expandable,showing at (60, 30)'
    )
    task = 'Under "Destination", click the radio button "New"'
    first = planned(task, elements=folded)
    assert first["description"] == 'toggle button "Source and Destination"'
    shown = folded + '\n- label "Destination" at (9, 50)'
    then = planned(task, elements=shown, execution_history=line(1, first))
    assert then["description"] == 'radio button "New" below "Destination"'


def test_the_entry_of_a_list_is_ticked_with_the_space_bar() -> None:
    screen = CALC + '- table cell "Web" states=showing,selectable at (60, 30)'
    assert planned('Tick "Web"', elements=screen)["input"].endswith("pyautogui.press('space')")


def test_a_page_of_a_wizard_is_read_off_the_picture() -> None:
    wizard = (
        "window: First (soffice)\nwindows: First\n"
        '- frame "First" at (5, 5)\n- push button "Next >" at (9, 9)\n'
        '- text "" text="old" label="Name" states=single-line,showing at (50, 60)'
    )
    task = 'For Second, type "x" in the field "Name"'
    assert planned(task, elements=wizard)["description"] == 'text "Second"'
    there = wizard.replace("First", "Second")
    typed = planned(task, elements=there)
    assert typed["description"] == 'text labelled "Name"'
    assert "pyautogui.hotkey('ctrl', 'a')" in typed["input"]


def test_a_window_that_is_not_told_yet_is_waited_for() -> None:
    behind = CALC.replace("window: a.xlsx - LibreOffice Calc", "window: Options")
    assert planned("Click the OK button", elements=behind)["tool"] == "wait"


def test_a_format_is_saved_in_only_where_the_file_has_it() -> None:
    task = "Save the spreadsheet in CSV format"
    assert planned(task, elements=CALC)["tool"] == "infeasible"
    csv = planned(task, elements=CALC.replace(".xlsx", ".csv"))
    assert csv["input"] == "pyautogui.hotkey('ctrl', 's')"
