"""What acts with pointer and keyboard would do, and which addresses they go to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hisa.plugins.guard.policy.screen_part import apps_of
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Window
from tests.plugins.guard.parts import bar, button, effects, facts, gui, look

CLICK = "pyautogui.click(150, 120)"


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("Delete", "delete"),
        ("Move to Trash", "delete"),
        ("Empty Trash", "delete"),
        ("Don\u2019t Save", "delete"),
        ("Discard", "delete"),
        ("Pay now", "pay"),
        ("Place your order", "pay"),
        ("Checkout", "pay"),
        ("Pay $12.00", "pay"),
        ("Send", "send"),
        ("Post", "send"),
        ("Submit", "send"),
        ("Share", "send"),
        ("\uff33end", "send"),
        ("Install", "install"),
        ("Add to Chrome", "install"),
        ("Allow", "security"),
        ("Authorize", "security"),
        ("Proceed to evil.example (unsafe)", "security"),
        ("Unlock", "security"),
    ],
)
def test_click_effect_is_read_from_the_label(label: str, expected: str) -> None:
    assert expected in effects(gui(CLICK, label=label))
    assert expected in effects(gui(CLICK), look(elements=(button(label),)))
    assert expected in effects(gui(CLICK, description=f'the button "{label}"'))
    assert not effects(gui("pyautogui.rightClick(150, 120)", label=label)), "it opens a menu"
    assert not effects(gui("pyautogui.moveTo(150, 120)", label=label))


@pytest.mark.parametrize(
    "label",
    [
        "Save",
        "OK",
        "Cancel",
        "Bold",
        "Sort ascending",
        "Order by date",
        "Compose",
        "Print",
        "How to delete a file and why you would never want to do that, in ten steps",
    ],
)
def test_harmless_label_has_no_effect(label: str) -> None:
    assert not effects(gui(CLICK, label=label))


@pytest.mark.parametrize("title", ["Delete file?", "Empty Trash", "Delete \u201ca - b.txt\u201d?"])
def test_yes_button_takes_its_effect_from_the_dialog_title(title: str) -> None:
    dialog = look("thunar", title)
    assert effects(gui("pyautogui.press('enter')"), dialog) == {"delete"}
    assert effects(gui("pyautogui.write('\\n')"), dialog) == {"delete"}
    for yes in ("OK", "Yes", "Continue"):
        assert effects(gui(CLICK, label=yes), dialog) == {"delete"}
    for no in ("Cancel", "No", "Keep"):
        assert not effects(gui(CLICK, label=no), dialog)
    assert effects(gui(CLICK), dialog) == {"delete"}, "nobody knows what is clicked"
    focused = look("thunar", title, elements=(button("Cancel", focused=True),))
    assert not effects(gui("pyautogui.press('enter')"), focused)


def test_a_documents_title_says_nothing() -> None:
    document = look("libreoffice-writer", "Delete me.odt - LibreOffice Writer")
    assert not effects(gui("pyautogui.press('enter')"), document)


def test_a_focused_button_is_pressed_by_enter_and_space() -> None:
    observation = look(elements=(button("Send", focused=True),))
    for key in ("enter", "space"):
        assert effects(gui(f"pyautogui.press('{key}')"), observation) == {"send"}


@pytest.mark.parametrize(
    ("source", "app", "title", "expected"),
    [
        ("pyautogui.press('delete')", "thunar", "ada", {"delete"}),
        ("pyautogui.hotkey('shift', 'delete')", "org.gnome.nautilus", "Home", {"delete"}),
        (
            "pyautogui.keyDown('shift'); pyautogui.press('del'); pyautogui.keyUp('shift')",
            "thunar",
            "ada",
            {"delete"},
        ),
        ("pyautogui.press('delete')", "mousepad", "a", set()),
        ("pyautogui.hotkey('ctrl', 'enter')", "thunderbird", "Write: x", {"send"}),
        ("pyautogui.hotkey('ctrl', 'return')", "chromium", "Inbox - Gmail", {"send"}),
        ("pyautogui.write('hi\\n')", "slack", "general", {"send"}),
        ("pyautogui.write('hi\\n')", "mousepad", "a", set()),
        ("pyautogui.hotkey('ctrl', 'v')", "xterm", "xterm", {"unread"}),
        ("pyautogui.press('up'); pyautogui.press('enter')", "xterm", "xterm", {"unread"}),
        ("pyautogui.middleClick(10, 10)", "xterm", "xterm", {"unread"}),
        ("pyautogui.write('!rm\\n')", "xterm", "xterm", {"unread"}),
        ("pyautogui.press('enter')", "xterm", "xterm", set()),
        (
            "pyautogui.press('r'); pyautogui.press('m'); "
            "pyautogui.press('space'); pyautogui.press('x')",
            "xterm",
            "xterm",
            {"delete"},
        ),
        ("pyautogui.hotkey('alt', 'f2'); pyautogui.write('rm x\\n')", "mousepad", "a", {"delete"}),
    ],
)
def test_keys(source: str, app: str, title: str, expected: set[str]) -> None:
    assert effects(gui(source), look(app, title)) == expected


@pytest.mark.parametrize(
    ("source", "description", "shown", "expected"),
    [
        ("pyautogui.write('evil.example\\n')", "", "", ["http://evil.example/"]),
        (
            "pyautogui.hotkey('ctrl', 'l'); pyautogui.write('evil.example/x\\n')",
            "",
            "good.example",
            ["http://evil.example/x"],
        ),
        (
            "pyautogui.hotkey('ctrl', 'l'); pyautogui.write('cheap flights\\n')",
            "",
            "",
            ["a search for cheap flights"],
        ),
        (
            "pyautogui.hotkey('ctrl', 'l'); pyautogui.write('a@evil.example\\n')",
            "",
            "",
            ["http://evil.example/"],
        ),
        (
            "pyautogui.hotkey('ctrl', 'l'); pyautogui.hotkey('ctrl', 'v')",
            "",
            "",
            ["what is pasted"],
        ),
        (
            "pyautogui.click(150, 120); pyautogui.write('evil.example\\n')",
            "the address bar",
            "good.example",
            ["http://evil.example/"],
        ),
        ("pyautogui.write('ada@good.example')", "", "", []),
        ("pyautogui.click(150, 120)", "the link", "evil.example/x", ["http://evil.example/x"]),
        ("pyautogui.hotkey('alt', 'left')", "", "evil.example", []),
        (
            "pyautogui.hotkey('ctrl', 'l'); pyautogui.write('good.example\\n')",
            "",
            "evil.example",
            ["http://good.example/"],
        ),
        (
            "pyautogui.hotkey('ctrl', 'l'); pyautogui.click(150, 120); "
            "pyautogui.write('x.example')",
            "the box",
            "evil.example",
            ["http://x.example/", "http://evil.example/"],
        ),
    ],
)
def test_addresses_in_a_browser(
    source: str, description: str, shown: str, expected: list[str]
) -> None:
    observation = look("chromium", "Page - Chromium", elements=(bar(shown),) if shown else None)
    (act,) = facts(gui(source, description=description), observation).parts
    assert [url.text for url in act.urls] == expected
    (other,) = facts(gui(source, description=description), look("mousepad")).parts
    assert not other.urls


def test_files_in_a_dialog() -> None:
    call = gui("pyautogui.write('/etc/hosts\\n')")
    (saved,) = facts(call, look("mousepad", "Save As")).parts
    (opened,) = facts(call, look("mousepad", "Open File")).parts
    assert [(path.text, path.writes) for path in (*saved.paths, *opened.paths)] == [
        ("/etc/hosts", True),
        ("/etc/hosts", False),
    ]


def test_a_click_acts_on_the_window_under_it_too() -> None:
    observation = look("mousepad")
    behind = Window("2", "x", "Thunar", BoundingBox(0, 0, 50, 50, "screen"))
    observation = replace(observation, windows=(*observation.windows, behind))
    assert apps_of(gui("pyautogui.click(10, 10)"), observation) == ("mousepad", "thunar")
    assert apps_of(gui("pyautogui.click(100, 100)"), observation) == ("mousepad",)
    assert apps_of(gui("pyautogui.click(100, 100)"), look(known=False)) == ()
