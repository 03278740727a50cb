"""Thirteen demonstrations, what is done to them, and what is right then; written before any run.

Usage: none of its own; ``python -m benchmarks.replay_demonstrations`` plays them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from hisa.screen.geometry import Size

__all__ = ["DEMOS", "HELD", "OWN_CASES", "PERTURBATIONS", "Demo", "Perturbation", "Right"]

Right = Literal["go on", "halt", "either"]
"""``either``: halting is right, and so is the right end; any other end is wrong."""
Act = tuple[str, str] | str
"""A click on the thing of a role and name, or PyAutoGUI source."""
At = Literal["start", "keys", "click", "middle"]
"""When it comes: with the desktop; before a step of keys, of a click, or any in the middle."""

_HERE = Path(__file__).parent / "replay_pages"
EXAMPLES = Path(__file__).parents[1] / "examples"


@dataclass(frozen=True)
class Perturbation:
    """What is done to a desktop while a program is played on it."""

    name: str
    right: Right
    why: str
    at: At = "start"
    size: Size | None = None
    flags: str = ""
    """Options of Chromium, which has no settings of the desktop."""


PERTURBATIONS = (
    Perturbation("none", "go on", "as it was shown"),
    Perturbation("focus", "halt", "a window takes the keyboard and keeps it", "keys"),
    Perturbation("focus_back", "go on", "a window takes the keyboard for 8 s", "keys"),
    Perturbation("dialog", "halt", "a dialog of another program asks", "keys"),
    Perturbation("shield", "halt", "an invisible window takes every click", "click"),
    Perturbation("slow4", "go on", "the program in front does nothing for 4 s", "middle"),
    Perturbation("slow12", "go on", "the program in front does nothing for 12 s", "middle"),
    Perturbation("dark", "go on", "light on dark", flags="--force-dark-mode"),
    Perturbation("font", "go on", "letters of 14 points"),
    Perturbation("zoom", "go on", "zoom 125%", flags="--force-device-scale-factor=1.25"),
    Perturbation("resolution", "go on", "a screen of 1600x900", size=Size(1600, 900)),
    Perturbation("moved", "go on", "each window stands elsewhere and is smaller"),
)
"""Of every demonstration. ``shield`` is "either" where a program needs no clicks for its end."""

HELD = (
    Perturbation("front", "either", "another program's window covers the screen", "middle"),
    Perturbation("minimised", "either", "the window is minimised", "middle"),
    Perturbation("notice", "go on", "a note without keyboard shows in a corner for 10 s", "middle"),
    Perturbation("layout", "either", "the keyboard is a German one"),
    Perturbation("capslock", "either", "caps lock is on", "keys"),
)
"""Written down at the same time, and left alone until nothing was changed any more."""

OWN_CASES: Mapping[str, Sequence[Perturbation]] = {
    "files": (
        Perturbation("look_alike", "go on", "order-1024 (copy).txt and order-10240.txt stand by"),
        Perturbation("missing", "halt", "order-1042.txt stands in its place"),
        Perturbation("grown", "go on", "six more files stand before it"),
        Perturbation("sorted", "go on", "the newest file stands first"),
        Perturbation("empty", "halt", "the folder is empty"),
    ),
    "form": (
        Perturbation("look_alike", "go on", "a form of billing with the same fields stands above"),
        Perturbation("missing", "halt", "there is no field for the city"),
        Perturbation("grown", "go on", "three more fields stand above"),
        Perturbation("renamed", "halt", "Send is called Dispatch"),
        Perturbation("swapped", "go on", "Send and Discard stand the other way round"),
    ),
    "calc": (
        Perturbation("look_alike", "go on", "another order of cups stands below"),
        Perturbation("missing", "halt", "another order stands in its row"),
        Perturbation("grown", "either", "another order stands above, so that it is in row 4"),
        Perturbation("sorted", "either", "the orders stand by item, so that it is in row 4"),
        Perturbation("empty", "halt", "there are no orders"),
    ),
}  # fmt: skip
"""Changes of what a demonstration works on."""


@dataclass(frozen=True)
class Demo:
    """A task that is shown once: by the offline rules where it has no acts, else by a script.

    ``clicks`` says whether a click that meets nothing spoils the end. ``turn`` is what the one
    lasting change makes of one text; ``lines`` are what a log of it gets, in order. Where it has
    neither, its states are those of a play on an unchanged desktop.
    """

    name: str
    tree: Mapping[str, object] | Path
    acts: Sequence[Act] = ()
    clicks: bool = True
    turn: tuple[str, str] = ("", "")
    lines: Sequence[str] = ()
    own: Sequence[Perturbation] = field(default=())


def _examples() -> tuple[Demo, ...]:
    """Those that are shipped; a text area has the keyboard whether it is clicked or not."""
    return tuple(
        Demo(file.stem, file, clicks=file.stem in ("price_table", "shopping_list"))
        for file in sorted(EXAMPLES.glob("*.yaml"))
    )


_SHEET = """<?xml version="1.0" encoding="UTF-8"?><office:document \
xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" \
xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" \
xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" office:version="1.3" \
office:mimetype="application/vnd.oasis.opendocument.spreadsheet"><office:body>\
<office:spreadsheet><table:table table:name="Orders">%s</table:table></office:spreadsheet>\
</office:body></office:document>"""
_CELL = '<table:table-cell office:value-type="string"><text:p>%s</text:p></table:table-cell>'
_ORDERS = [
    ("1021", "tea", "open"), ("1024", "cups", "open"), ("1027", "bread", "open"),
    ("1031", "cake", "open"),
]  # fmt: skip


def sheet(case: str) -> str:
    """A flat OpenDocument table of orders."""
    orders = list(_ORDERS)
    if case == "look_alike":
        orders.append(("1042", "cups", "open"))
    if case == "missing":
        orders[1] = ("1042", "cups", "open")
    if case == "grown":
        orders.insert(0, ("1019", "salt", "open"))
    if case == "sorted":
        orders.sort(key=lambda order: order[1])
    if case == "empty":
        orders.clear()
    rows = [("order", "item", "state"), *orders]
    return _SHEET % "".join(
        f"<table:table-row>{''.join(_CELL % word for word in row)}</table:table-row>"
        for row in rows
    )


def folder(case: str) -> str:
    """A command that fills a folder of orders, the newest last."""
    names = ["order-1021", "order-1024", "order-1031"]
    if case == "look_alike":
        names += ["order-1024 (copy)", "order-10240"]
    if case == "missing":
        names[1] = "order-1042"
    if case == "grown":
        names = [*(f"order-100{n}" for n in range(6)), *names]
    if case == "empty":
        names.clear()
    made = " ".join(
        f"echo '{name}' > '{name}.txt'; touch -d '2026-01-0{n + 1}' '{name}.txt';"
        for n, name in enumerate(names)
    )
    sort = "mkdir -p ~/.config/pcmanfm/default; printf '[ui]\\nsort=mtime;descending;\\n' > "
    sort += "~/.config/pcmanfm/default/pcmanfm.conf; "
    return f"{sort if case == 'sorted' else ''}mkdir -p ~/Orders; cd ~/Orders; {made} true"


def form(case: str) -> str:
    """A page with a form; it logs what was sent."""
    return (_HERE / "delivery.html").read_text("utf-8").replace("{{CASE}}", case)


_OFFICE = "setsid -f soffice --norestore --nologo"
_QUIET = ">/dev/null 2>&1"
_PREFERENCES = "gsettings get org.xfce.mousepad.preferences.view show-line-numbers"
_FORM_LINES = ("send Ann Berg, Porto, express",)

SIX = (
    Demo("calc", {
        "id": "ship-in-a-sheet", "domain": "calc",
        "instruction": "Say of order 1024 that it is shipped, and save.",
        "setup": [{"run": f"{_OFFICE} --calc ~/stock.fods {_QUIET}"},
                  {"wait_window": {"title": "stock.fods", "seconds": 60}}],
        "check": [{"command": "python3 ~/.bench/state.py", "contains": "1024,cups,shipped"}],
    }, (("table cell", "C3"), "pyautogui.write('shipped')", "pyautogui.press('enter')",
        "pyautogui.hotkey('ctrl', 's')"),
        turn=("1024,cups,open", "1024,cups,shipped"), own=OWN_CASES["calc"]),
    Demo("writer", {
        "id": "write-a-letter", "domain": "writer",
        "instruction": "Write a letter, and save it as ~/Documents/letter.odt.",
        "setup": [{"run": f"mkdir -p ~/Documents; {_OFFICE} --writer {_QUIET}"},
                  {"wait_window": {"title": "Writer", "seconds": 60}}],
        "check": [{"command": "python3 ~/.bench/state.py", "contains": "Dear Ann, all is sent."}],
    }, ("pyautogui.write('Dear Ann, all is sent.')", "pyautogui.hotkey('ctrl', 's')",
        "pyautogui.hotkey('ctrl', 'a')", "pyautogui.write('/home/user/Documents/letter.odt')",
        "pyautogui.press('enter')"), clicks=False),
    Demo("files", {
        "id": "name-an-order", "domain": "file_manager",
        "instruction": "Rename order-1024.txt to paid-1024.txt.",
        "setup": [{"run": f"setsid -f pcmanfm ~/Orders {_QUIET}"},
                  {"wait_window": {"title": "Orders", "seconds": 40}}],
        "check": [{"file": "~/Orders/paid-1024.txt", "equals": "order-1024"}],
    }, (("icon", "order-1024.txt"), "pyautogui.press('f2')", "pyautogui.hotkey('ctrl', 'a')",
        "pyautogui.write('paid-1024.txt')", "pyautogui.press('enter')"),
        turn=("order-1024.txt: order-1024\n", "paid-1024.txt: order-1024\n"),
        own=OWN_CASES["files"]),
    Demo("form", {
        "id": "send-a-form", "domain": "browser",
        "instruction": "Have it delivered to Ann Berg in Porto by express.",
        "setup": [],
        "check": [{"file": "~/clicks.txt", "equals": "\n".join(_FORM_LINES)}],
    }, (("entry", "Name"), "pyautogui.write('Ann Berg')", ("entry", "City"),
        "pyautogui.write('Porto')", ("radio button", "Express"), ("push button", "Send")),
        lines=_FORM_LINES, own=OWN_CASES["form"]),
    Demo("settings", {
        "id": "number-the-lines", "domain": "text_editor",
        "instruction": "Let the text editor show line numbers.",
        "setup": [{"run": f"setsid -f mousepad {_QUIET}"},
                  {"wait_window": {"title": "Mousepad", "seconds": 40}}],
        "check": [{"command": _PREFERENCES, "equals": "true"}],
    }, (("menu", "Edit"), ("menu item", "Preferences..."), ("check box", "Show line numbers"),
        "pyautogui.press('escape')")),
    Demo("terminal", {
        "id": "list-the-orders", "domain": "terminal",
        "instruction": "Write the names of the orders to ~/Documents/orders.txt.",
        "setup": [{"run": f"mkdir -p ~/Documents; {folder('none')}; setsid -f pcmanfm ~/Orders "
                          f"{_QUIET}"},
                  {"wait_window": {"title": "Orders", "seconds": 40}},
                  {"run": f"cd; setsid -f xterm {_QUIET}"},
                  {"wait_window": {"title": "xterm", "seconds": 40}}],
        "check": [{"file": "~/Documents/orders.txt", "contains": "order-1024.txt"}],
    }, ("pyautogui.write('ls Orders > Documents/orders.txt')", "pyautogui.press('enter')"),
        clicks=False),
)  # fmt: skip
"""The desktop has no application of settings: the preferences of Mousepad stand for one. Its one
terminal tells no elements, so that a file manager behind it gives the log some."""

DEMOS = (*_examples(), *SIX)


def setup_of(demo: Demo, case: Perturbation) -> list[dict[str, object]]:
    """What a desktop gets before a demonstration's own setup: the files it works on."""
    if demo.name == "calc":
        return [{"write": {"path": "~/stock.fods", "text": sheet(case.name)}}]
    if demo.name == "files":
        return [{"run": folder(case.name)}]
    if demo.name == "form":
        flags = f"--start-maximized {case.flags}"
        browser = (
            "chromium --no-sandbox --test-type --no-first-run --disable-gpu "
            f"--force-renderer-accessibility {flags} file://$HOME/.bench/delivery.html"
        )
        return [
            {"write": {"path": "~/.bench/delivery.html", "text": form(case.name)}},
            {"write": {"path": "~/clicks.txt", "text": ""}},
            {"run": "setsid -f /usr/bin/python3 ~/.bench/server.py >/dev/null 2>&1"},
            {"run": f"setsid -f {browser} >/dev/null 2>&1"},
            {"wait_window": {"title": "Delivery", "seconds": 60}},
        ]
    return []
