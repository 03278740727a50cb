"""Our own tasks in Writer and in the browser, by the GUI alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.api_gui.player import Move, click, keys

__all__ = ["OWN_BY_GUI"]

_WRITER = "LibreOffice Writer"
_FORM = "Registration"


def _field(label: str, text: str) -> Move:
    return click(f'text field "{label}"', f"pyautogui.write({text!r})", window=_FORM)


def _bookmarked(title: str) -> tuple[Move, ...]:
    """Bookmark the page in front."""
    return keys("ctrl", "d", window=title), click('button "Done"')


def _address(page: str) -> Move:
    """Open another page of the site."""
    typed = f"pyautogui.write('127.0.0.1:8765/shops/{page}\\n')"
    return Move("gui_action", f"pyautogui.hotkey('ctrl', 'l'); {typed}")


OWN_BY_GUI: Mapping[str, Sequence[Move]] = {
    "letter": (
        keys("ctrl", "h", window=_WRITER),
        Move("gui_action", "pyautogui.write('Northwind')", "Find"),
        click('text field "Replace:"', "pyautogui.write('Contoso')", window="Find"),
        click('button "Replace All"', window="Find"),
        click('button "Close"', window="Find"),
        keys("ctrl", "home", window=_WRITER),
        keys("ctrl", "1", window=_WRITER),
        click('menu "Insert"', window=_WRITER),
        click('menu "Header and Footer"'),
        click('menu "Footer"'),
        click('menu item "Default Page Style"'),
        click('menu "Insert"', window=_WRITER),
        click('menu item "Page Number"'),
        keys("ctrl", "s", window=_WRITER),
    ),
    "price_list": (
        keys("ctrl", "end", window=_WRITER),
        keys("ctrl", "f12", window=_WRITER),
        click(
            'spin button "Rows:"', "pyautogui.write('4')", window="Insert Table", kind="doubleClick"
        ),
        click('button "Insert"', window="Insert Table"),
        Move(
            "gui_action",
            "pyautogui.write('Item\\tPrice\\ttea\\t3\\tcake\\t4\\trice\\t2')",
            _WRITER,
        ),
        click('menu "Format"', window=_WRITER),
        click('menu item "Page Style..."'),
        click('page tab "Page"', window="Page Style"),
        click('radio button "Landscape"', window="Page Style"),
        click('button "OK"', window="Page Style"),
        keys("ctrl", "s", window=_WRITER),
    ),
    "registration": (
        _field("First name", "Ada"),
        _field("Last name", "Byron"),
        _field("E-mail", "ada@example.org"),
        _field("Phone", "555 0123"),
        _field("Company", "Analytical Engines"),
        _field("City", "London"),
        click('"Country" list', "pyautogui.write('Portugal'); pyautogui.press('enter')"),
        click('check box "Vegetarian"'),
        click('button "Register"'),
    ),
    "bookmarks": (
        *_bookmarked("Tea"),
        _address("rice"),
        *_bookmarked("Rice"),
        _address("cake"),
        *_bookmarked("Cake"),
    ),
}
"""By the name of the task's file."""
