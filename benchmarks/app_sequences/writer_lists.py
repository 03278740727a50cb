"""Lists for a text in Writer: clicks in its tool bars, boxes and menus, and keys after."""

from __future__ import annotations

import io

import docx

from benchmarks.app_sequences.runs import Act, AppList, KeptDesktop, click, fill_screen, keys
from benchmarks.sequences import open_with
from hisa.actions import Hotkey, Press
from hisa.grounder.reading import ElementsReader

__all__ = ["REPORTED", "TUNED_ON", "open_writer", "renew_writer"]

LINES = ("Alpha one", "Beta two", "Gamma three", "Delta four")
STYLE, FONT_NAME, FONT_SIZE = "80, 104", "352, 104", "514, 104"
"""Fields without a name in LibreOffice's tree, at their places in a window of 1280 by 720."""
END = keys("pyautogui.press('end')")


async def open_writer(desktop: KeptDesktop) -> None:
    """Open a text of some lines and a table, which fills the screen."""
    text, buffer = docx.Document(), io.BytesIO()
    for line in LINES:
        text.add_paragraph(line)
    table = text.add_table(2, 2)
    table.cell(0, 0).text = "inner"
    text.add_paragraph("Last line")
    text.save(buffer)
    await desktop.write_file("/home/user/lists.docx", buffer.getvalue())
    await open_with(
        desktop, "soffice --writer --norestore --nologo /home/user/lists.docx", "lists.docx"
    )
    await fill_screen(desktop)


async def renew_writer(desktop: KeptDesktop) -> None:
    """Take back what a list did, and go to the beginning."""
    await desktop.act([*[Press("esc")] * 3])
    await desktop.act([*[Hotkey(("ctrl", "z"))] * 8, Hotkey(("ctrl", "home"))])
    await desktop.observe(settle=2.0)


async def shown(desktop: KeptDesktop) -> str:
    """Returns the texts on the screen, as assistive technology reads them."""
    look = await ElementsReader(desktop, emit=lambda _: None).read()
    return "\n".join(element.text for element in look.elements or () if element.text)


def at(place: str, then: str = "") -> Act:
    """Returns a click at a place, with what the same call does next."""
    return keys("; ".join(part for part in (f"pyautogui.click({place})", then) if part))


def write(text: str) -> Act:
    """Returns a call that types a text."""
    return keys(f"pyautogui.write('{text}')")


def line(text: str, then: str = "") -> Act:
    """Returns a click on a paragraph."""
    return click(f'paragraph "{text}"', then)


def marked(button: str, text: str) -> AppList:
    """Returns the list that goes to the end of a line, presses a button, and types."""
    acts = [line(LINES[1]), END, click(button), write(text)]
    return AppList(f"{button}, then text", acts, (f"{LINES[1]}{text}",), shown)


REPORTED = (
    marked('toggle button "Bold"', " strong"),
    marked('toggle button "Strikethrough"', " gone"),
    marked('push button "Underline"', " lined"),
    marked('toggle button "Center"', " middle"),
    marked('toggle button "Justified"', " even"),
    marked('push button "Ordered List"', " first"),
    marked('toggle button "Superscript"', "2"),
    marked('push button "Font Color"', " red"),
    marked('toggle button "Formatting Marks"', " marks"),
    marked('push button "No List"', " plain"),
    AppList(
        "page break, then text",
        [line(LINES[2]), END, click('push button "Page Break"'), write("overleaf")],
        ("overleaf",),
        shown,
    ),
    AppList(
        "footnote, then its text",
        [line(LINES[0]), END, click('push button "Footnote"'), write("see below")],
        ("See below",),
        shown,
    ),
    AppList(
        "style, then text",
        [
            line(LINES[2]),
            END,
            at(STYLE, "pyautogui.hotkey('ctrl', 'a')"),
            keys("pyautogui.write('Heading 2'); pyautogui.press('enter')"),
            write(" titled"),
        ],
        (" titled",),
        shown,
    ),
    AppList(
        "font size, then text",
        [
            line(LINES[3]),
            END,
            at(FONT_SIZE, "pyautogui.hotkey('ctrl', 'a')"),
            keys("pyautogui.write('20'); pyautogui.press('enter')"),
            write(" large"),
        ],
        (" large",),
        shown,
    ),
    AppList(
        "cell of a table, then the next by Tab",
        [line("inner"), END, write(" most"), keys("pyautogui.press('tab')"), write("beside")],
        ("Inner most", "beside"),
        shown,
    ),
    AppList(
        "word chosen by a double click, button, then text",
        [
            Act("pyautogui.doubleClick(X_COORD, Y_COORD)", f'paragraph "{LINES[3]}"'),
            click('toggle button "Italic"'),
            END,
            write(" leaning"),
        ],
        (" leaning",),
        shown,
    ),
    AppList(
        "menu left again, then text",
        [line(LINES[0]), END, click('menu "Format"'), keys("pyautogui.press('esc')"), write(" x")],
        (f"{LINES[0]} x",),
        shown,
    ),
    AppList(
        "undo by its button, then text",
        [
            line(LINES[0], "pyautogui.press('end'); pyautogui.write(' bad')"),
            click('push button "Undo"'),
            END,
            write(" good"),
        ],
        (" good",),
        shown,
    ),
    AppList(
        "two lines typed one below the other",
        [
            line(LINES[3]),
            keys("pyautogui.press('end'); pyautogui.press('enter')"),
            write("one"),
            keys("pyautogui.press('enter')"),
            write("two"),
        ],
        ("one", "two"),
        shown,
    ),
    AppList(
        "several buttons, then text",
        [
            line(LINES[2]),
            END,
            click('toggle button "Bold"'),
            click('push button "Character Highlighting Color"'),
            write(" bright"),
        ],
        (" bright",),
        shown,
    ),
)
TUNED_ON = (
    marked('toggle button "Italic"', " slanted"),
    marked('toggle button "Subscript"', "3"),
    marked('toggle button "Right"', " aside"),
    marked('push button "Unordered List"', " point"),
    marked('push button "Increase"', " wide"),
    AppList(
        "endnote, then its text",
        [line(LINES[1]), END, click('push button "Endnote"'), write("at the end")],
        ("t the end",),
        shown,
    ),
    AppList(
        "font name, then text",
        [
            line(LINES[3]),
            END,
            at(FONT_NAME, "pyautogui.hotkey('ctrl', 'a')"),
            keys("pyautogui.write('Liberation Mono'); pyautogui.press('enter')"),
            write(" typed"),
        ],
        (" typed",),
        shown,
    ),
    AppList(
        "line typed into, then the next clicked and typed into",
        [
            line(LINES[0]),
            END,
            write(" more"),
            line(LINES[2], "pyautogui.press('end')"),
            write(" less"),
        ],
        (" more", " less"),
        shown,
    ),
)
