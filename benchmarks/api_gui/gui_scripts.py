"""The spreadsheet tasks by the GUI alone.

They follow the expert's written steps that Spider2-V has for each task, without the detours: a
click and the text that belongs there are one step, a row or column of cells is typed in one with
Tab or Enter, data is selected before a chart is inserted. Places are described, and found by the
run's own grounder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.api_gui.player import Move, click, drag, keys

__all__ = ["PIVOT_PIE", "SHEETS_BY_GUI"]

_CALC = "LibreOffice Calc"
# The pointer comes first: the button loses a click that comes with it, 2 of 6 times here.
_ADD_SHEET = Move(
    "gui_action",
    "pyautogui.moveTo(X_COORD, Y_COORD); pyautogui.sleep(0.5); pyautogui.click()",
    _CALC,
    'button "Add" beside the sheet tabs',
)
_CHART = click('toolbar button "Chart"', window=_CALC)
_PIVOT = click('toolbar button "Pivot Table"', window=_CALC)
_SAVE = keys("ctrl", "s", window=_CALC)
_FINISH = click('button "Finish"')
_ELEMENTS = click('"Chart Elements" in the list on the left')


def _cell(name: str, typed: str) -> Move:
    return click(f"cell {name}", f"pyautogui.write({typed!r})", window=_CALC)


def _filled(first: str, last: str, formula: str) -> Move:
    """Select the cells and enter a formula into all of them; the tutorial drags from the first."""
    typed = f"pyautogui.write({formula!r}); pyautogui.hotkey('alt', 'enter')"
    return drag(f"cell {first}", f"cell {last}", typed, window=_CALC)


def _and_drag(first: str, last: str) -> Move:
    """Select further cells beside those that are selected."""
    code = (
        "pyautogui.keyDown('ctrl'); pyautogui.moveTo(X_COORD, Y_COORD); "
        "pyautogui.dragTo(X_COORD_2, Y_COORD_2, duration=0.6); pyautogui.keyUp('ctrl')"
    )
    return Move("gui_action", code, _CALC, f"cell {first}", f"cell {last}")


def _row_chart(first: str, last: str, row: int, kind: str, title: str) -> tuple[Move, ...]:
    """A chart of one row, with row 1 as labels, a title and no legend."""
    return (
        drag(f"cell {first}1", f"cell {last}1", window=_CALC),
        _and_drag(f"{first}{row}", f"{last}{row}"),
        _CHART,
        click(f'"{kind}" in the list below "Choose a Chart Type"', window="Chart Type"),
        _ELEMENTS,
        click('text field "Title"', f"pyautogui.write({title!r})", window="Chart Elements"),
        click('check box "Display legend"'),
        _FINISH,
        Move("gui_action", "pyautogui.press('esc')", _CALC),
    )


def _change(column: str) -> tuple[Move, ...]:
    """The yearly change of a column of Sheet1, as percentages."""
    formula = f"=($Sheet1.{column}3-$Sheet1.{column}2)/$Sheet1.{column}2"
    return (
        _filled(f"{column}2", f"{column}6", formula),
        click('toolbar button "Percent"', window=_CALC),
    )


def _pivot(
    select: Move, row: str, data: str, place: str, *, first: bool, count: bool = False
) -> tuple[Move, ...]:
    """A pivot table of the selected columns, at a place of Sheet2.

    Args:
        select: selects the columns.
        row: the field whose values are the rows.
        data: the field that is summed up.
        place: of the table.
        first: it is the first of the session.
        count: the values are counted and not added.
    """
    return (
        select,
        _PIVOT,
        click('button "OK"', window="Select Source"),
        drag(f'"{row}" in the list "Available Fields"', 'list "Row Fields"', window="Pivot"),
        drag(f'"{data}" in the list "Available Fields"', 'list "Data Fields"'),
        *(_counted(data) if count else ()),
        *(() if first else (_MAXIMIZE,)),
        click('"Source and Destination"', window="Pivot"),
        click('radio button "Selection" below "Destination"'),
        click(
            'text field beside the radio button "Selection" below "Destination"',
            f"pyautogui.write({place!r})",
        ),
        click('button "OK"'),
    )


def _counted(field: str) -> tuple[Move, ...]:
    """Count the values of a data field."""
    return (
        click(f'"Sum - {field}" in the list "Data Fields"', window="Pivot", kind="doubleClick"),
        click('"Count" in the list "Function"', window="Data Field"),
        click('button "OK"', window="Data Field"),
    )


# It keeps the height that it had with its destination in sight, and would grow beyond the screen.
_MAXIMIZE = Move("gui_action", "pyautogui.doubleClick(640, 75)", "Pivot")
# In the palette below the button; the grounder takes the palette for hidden behind the window.
_RED = Move("gui_action", "pyautogui.click(569, 239)")
_BLUE = Move("gui_action", "pyautogui.click(633, 239)")
_WHITE = Move("gui_action", "pyautogui.click(637, 222)")
PIVOT_PIE = (
    _CHART,
    click('"Pie" in the list below "Choose a Chart Type"', window="Chart Type"),
    _FINISH,
)
"""A chart of the pivot table in front."""
_SHEET1 = click('sheet tab "Sheet1"', window=_CALC)
_TO_G = drag('column header "A"', 'column header "G"', window=_CALC)


def _shares(column: str, field: str, row: int) -> tuple[Move, ...]:
    """A pivot table that counts the values of one column."""
    select = click(f'column header "{column}"', window=_CALC)
    return _pivot(select, field, field, f"$Sheet2.$A${row}", first=row == 2, count=True)


SHEETS_BY_GUI: Mapping[str, Sequence[Move]] = {
    "0326d92d": (
        _cell("A12", "Total\n"),
        _filled("B12", "G12", "=SUM(B2:B11)"),
        *_row_chart("B", "G", 12, "Bar", "Total"),
        _cell("A13", "Growth\n"),
        _filled("C13", "G13", "=(C12-B12)/B12"),
        *_row_chart("C", "G", 13, "Line", "Growth"),
        _SAVE,
    ),
    "04d9aeaf": (
        _ADD_SHEET,
        _cell("A1", "Year\tCA changes\tFA changes\tOA changes\n"),
        _cell("A2", "2015\n2016\n2017\n2018\n2019\n"),
        *_change("B"),
        *_change("C"),
        *_change("D"),
    ),
    "12382c62": (
        _ADD_SHEET,
        _CHART,
        click('"Data Range" in the list on the left', window="Chart Type"),
        click(
            'text field "Data range"',
            "pyautogui.hotkey('ctrl', 'a'); pyautogui.write('$Sheet1.$A$1:$C$11')",
            window="Data Range",
        ),
        click('radio button "Data series in columns"'),
        _ELEMENTS,
        click('text field "Title"', "pyautogui.write('Sales & COGS')", window="Chart Elements"),
        _FINISH,
        _SAVE,
    ),
    "30e3e107": (
        _ADD_SHEET,
        drag("cell A1", "cell C1", window=_CALC),
        click('toolbar button "Merge Cells"'),
        _cell("A1", "Demographic Profile\n"),
        click("cell A1", "pyautogui.hotkey('ctrl', 'b')", window=_CALC),
        click('the drop-down arrow of the toolbar button "Background Color"'),
        click('"Custom Color..."'),
        click(
            'text field "Hex"',
            "pyautogui.hotkey('ctrl', 'a'); pyautogui.write('0000ff'); pyautogui.press('tab')",
            window="Pick a Color",
        ),
        click('button "OK"'),
        click('the drop-down arrow of the toolbar button "Font Color"', window=_CALC),
        _WHITE,
        _SHEET1,
        *_shares("B", "Sex", 2),
        _SHEET1,
        *_shares("C", "Civil Status", 7),
        _SHEET1,
        *_shares("D", "Highest Educational Attainment", 13),
    ),
    "3a7c8185": (
        click("cell A1", window=_CALC),
        click('toolbar button "Sort Ascending"'),
        click('column header "A"', window=_CALC),
        Move(
            "gui_action",
            "pyautogui.keyDown('ctrl'); pyautogui.click(X_COORD, Y_COORD); pyautogui.keyUp('ctrl')",
            _CALC,
            'column header "E"',
        ),
        _CHART,
        click('"Line" in the list below "Choose a Chart Type"', window="Chart Type"),
        _FINISH,
    ),
    "42e0a640": (
        _ADD_SHEET,
        _cell("A1", "Total Revenue\tTotal Expenses\n"),
        _cell("A2", "=SUM($Sheet1.A2:A20)\n"),
        _cell("B2", "=SUM($Sheet1.B2:B20)\n"),
    ),
    "535364ea": (
        _ADD_SHEET,
        _SHEET1,
        *_pivot(_TO_G, "Product", "Revenue ($)", "$Sheet2.$A$1", first=True),
        _SHEET1,
        *_pivot(_TO_G, "Sales Channel", "Revenue ($)", "$Sheet2.$D$1", first=False),
        _SAVE,
    ),
    "8909d1cb": (
        click('toolbar button "AutoFilter"', window=_CALC),
        click("the drop-down arrow of cell E1"),
        click('check box "All"'),
        click('check box "E-mail Coupon"', "pyautogui.press('space')"),
        click('button "OK"'),
        _ADD_SHEET,
        _SHEET1,
        click('column header "A"', "pyautogui.hotkey('ctrl', 'c')", window=_CALC),
        click('sheet tab "Sheet2"', window=_CALC),
        click("cell A1", "pyautogui.hotkey('ctrl', 'v')", window=_CALC),
        _SHEET1,
        click('column header "G"', "pyautogui.hotkey('ctrl', 'c')", window=_CALC),
        click('sheet tab "Sheet2"', window=_CALC),
        click("cell B1", "pyautogui.hotkey('ctrl', 'v')", window=_CALC),
        _SAVE,
    ),
    "97dd78c1": (
        _cell("A12", "Total\n"),
        _cell("H1", "Total\n"),
        _filled("B12", "G12", "=SUM(B2:B11)"),
        _filled("H2", "H11", "=SUM(B2:G2)"),
        click("cell A10", window=_CALC),
        click('the drop-down arrow of the toolbar button "Background Color"'),
        _BLUE,
        click("cell A4", window=_CALC),
        click('the drop-down arrow of the toolbar button "Background Color"'),
        _RED,
        _SAVE,
    ),
    "b6e9778c": (
        _TO_G,
        _PIVOT,
        click('button "OK"', window="Select Source"),
        drag('"Product" in the list "Available Fields"', 'list "Row Fields"', window="Pivot"),
        drag('"Revenue" in the list "Available Fields"', 'list "Data Fields"'),
        click('button "OK"'),
        *PIVOT_PIE,
        _SAVE,
    ),
}
"""By the beginning of the task's name."""
