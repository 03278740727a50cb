"""Lists for a workbook in Calc: clicks in its tool bars, boxes, tabs and menus, and keys after."""

from __future__ import annotations

import io

import openpyxl

from benchmarks.app_sequences.runs import (
    Act,
    AppList,
    KeptDesktop,
    Read,
    click,
    fill_screen,
    keys,
    read_by,
)
from benchmarks.sequences import open_with
from hisa.actions import Hotkey, Press

__all__ = ["REPORTED", "TUNED_ON", "open_calc", "renew_calc"]

ROWS = (("Region", "Year", "Sales"), ("North", 2023, 10), ("South", 2023, 20), ("West", 2024, 5))
NAME_BOX, INPUT_LINE, FONT_NAME, FONT_SIZE = "67, 143", "730, 143", "90, 104", "252, 104"
"""Fields without a name in LibreOffice's tree, at their places in a window of 1280 by 720."""
ENTER = keys("pyautogui.press('enter')")


async def open_calc(desktop: KeptDesktop) -> None:
    """Open a workbook of two sheets that fills the screen."""
    book, buffer = openpyxl.Workbook(), io.BytesIO()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Sheet1"
    for row in ROWS:
        sheet.append(row)
    book.create_sheet("Sheet2")
    book.save(buffer)
    await desktop.write_file("/home/user/lists.xlsx", buffer.getvalue())
    await open_with(
        desktop, "soffice --calc --norestore --nologo /home/user/lists.xlsx", "lists.xlsx"
    )
    await fill_screen(desktop)


async def renew_calc(desktop: KeptDesktop) -> None:
    """Leave what a list has left open, and go to the first cell of the first sheet."""
    first = [Hotkey(("ctrl", "pageup"))] * 3
    await desktop.act([*[Press("esc")] * 3, *first, Hotkey(("ctrl", "home"))])
    await desktop.observe(settle=2.0)


def cell(name: str) -> Read:
    """Returns a reader of what a cell shows and how it looks."""
    shown = read_by("calc_program", "read", cells=name, show="shown")
    looks = read_by("calc_program", "look", cells=name)

    async def read(desktop: KeptDesktop) -> str:
        return f"{await shown(desktop)}\n{await looks(desktop)}"

    return read


def in_cell(name: str, then: str = "") -> Act:
    """Returns a click on a cell."""
    return click(f'table cell "{name}"', then)


def at(place: str, then: str = "") -> Act:
    """Returns a click at a place, with what the same call does next."""
    return keys("; ".join(part for part in (f"pyautogui.click({place})", then) if part))


def write(text: str) -> Act:
    """Returns a call that types a text."""
    return keys(f"pyautogui.write('{text}')")


def over(text: str) -> str:
    """Returns the source that types a text over what a field holds."""
    return f"pyautogui.hotkey('ctrl', 'a'); pyautogui.write('{text}')"


def looked(button: str, name: str, text: str, *wanted: str) -> AppList:
    """Returns the list that chooses a cell, presses a button of a tool bar, and types."""
    acts = [in_cell(name), click(button), write(text), ENTER]
    return AppList(f"{button}, then text", acts, (text, *wanted), cell(name))


REPORTED = (
    looked('toggle button "Bold"', "F2", "total", "bold"),
    looked('push button "Underline"', "F4", "sub", "underlined"),
    looked('push button "Align Center"', "F6", "mid", "center"),
    looked('push button "Wrap Text"', "F8", "long", "wrapped"),
    looked('push button "Font Color"', "F10", "red", "color #c9211e"),
    looked('push button "Center Vertically"', "F12", "high", "vertically center"),
    looked('push button "Increase" beside "Delete Decimal Place"', "F14", "far"),
    looked('push button "Date"', "F16", "03/05/24", "number format"),
    looked('push button "Freeze Rows and Columns"', "F18", "cold"),
    AppList(
        "page tab, then a cell of its sheet",
        [click('page tab "Sheet2"'), write("second"), ENTER, write("below"), ENTER],
        ("below",),
        cell("Sheet2.A2"),
    ),
    AppList(
        "button that adds a sheet, then text",
        [click('push button "Add"'), write("third"), ENTER],
        ("third",),
        cell("A1"),
    ),
    AppList(
        "name box, then text in the cell that it went to",
        [at(NAME_BOX, over("H2")), ENTER, write("boxed"), ENTER],
        ("boxed",),
        cell("H2"),
    ),
    AppList(
        "input line",
        [in_cell("H4"), at(INPUT_LINE), write("=2*21"), ENTER],
        ("42",),
        cell("H4"),
    ),
    AppList(
        "button that begins a formula",
        [in_cell("H6"), click('push button "Formula"'), write("3*4"), ENTER],
        ("12",),
        cell("H6"),
    ),
    AppList(
        "font size, then text",
        [in_cell("H8"), at(FONT_SIZE, over("18")), ENTER, write("big"), ENTER],
        ("big", "18 pt"),
        cell("H8"),
    ),
    AppList(
        "merged by a drag and a button, then text",
        [
            Act(
                "pyautogui.moveTo(X_COORD, Y_COORD); pyautogui.dragTo(X_COORD_2, Y_COORD_2)",
                'table cell "H10"',
                description_2='table cell "I10"',
            ),
            click('push button "Merge and Center Cells"'),
            write("wide"),
            ENTER,
        ],
        ("wide", "center"),
        cell("H10"),
    ),
    AppList(
        "cell filled, two buttons, next cell filled",
        [
            in_cell("H12", "pyautogui.write('0.25'); pyautogui.press('enter')"),
            click('toggle button "Italic"'),
            click('push button "Percent"'),
            write("0.5"),
            ENTER,
        ],
        ("50", "italic"),
        cell("H13"),
    ),
    AppList(
        "menu left again, then text",
        [
            in_cell("H15"),
            click('menu "Insert"'),
            keys("pyautogui.press('esc')"),
            write("on"),
            ENTER,
        ],
        ("on",),
        cell("H15"),
    ),
    AppList(
        "menu entry chosen by keys",
        [
            in_cell("C2"),
            click('menu "Data"'),
            keys("pyautogui.press('down', presses=2)"),
            ENTER,
            keys("pyautogui.press('down')"),
        ],
        ("\t5",),
        cell("B2:C2"),
    ),
    AppList(
        "row header, button, then a key and text",
        [
            at("18, 544"),
            click('toggle button "Bold"'),
            keys("pyautogui.press('right')"),
            write("row"),
            ENTER,
        ],
        ("row", "bold"),
        cell("B19"),
    ),
)
TUNED_ON = (
    looked('toggle button "Italic"', "K2", "slanted", "italic"),
    looked('push button "Align Right"', "K4", "right", "right"),
    looked('push button "Percent"', "K6", "0.5", "%"),
    looked('push button "Background Color"', "K8", "shaded"),
    AppList(
        "two cells with a button between",
        [
            in_cell("K10", "pyautogui.write('left')"),
            ENTER,
            click('toggle button "Bold"'),
            write("under"),
            ENTER,
        ],
        ("under", "bold"),
        cell("K11"),
    ),
    AppList(
        "font name, then text",
        [in_cell("K13"), at(FONT_NAME, over("Liberation Serif")), ENTER, write("serif"), ENTER],
        ("serif", "Liberation Serif"),
        cell("K13"),
    ),
    AppList(
        "back to the first sheet by its tab, then text",
        [
            click('page tab "Sheet2"'),
            click('page tab "Sheet1"'),
            keys("pyautogui.hotkey('ctrl', 'end')"),
            keys("pyautogui.press('down'); pyautogui.write('end')"),
            ENTER,
        ],
        ("end",),
        cell("A1:Z40"),
    ),
    AppList(
        "name box by its button's neighbour, then bold",
        [at(NAME_BOX, over("K15")), ENTER, click('toggle button "Bold"'), write("nb"), ENTER],
        ("nb", "bold"),
        cell("K15"),
    ),
)
