"""Lists of actions without pauses of their own, on real applications, and what came of each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from hisa.actions import Action, Click, Hotkey, Press, Write
from hisa.machine.patience import Deadline
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.screen.geometry import Point

PAGE = """<title>start</title><body style="margin:0"><form onsubmit="document.title=
a.value+'/'+b.value;a.value=b.value='';a.focus();return false">
<input id=a style="display:block;height:60px;width:600px">
<input id=b style="display:block;height:60px;width:600px"><button>Go</button></form>"""
_SPACE = "urn:oasis:names:tc:opendocument:xmlns"
SHEET = f"""<?xml version="1.0" encoding="UTF-8"?>
<office:document xmlns:office="{_SPACE}:office:1.0" xmlns:table="{_SPACE}:table:1.0"
office:version="1.3" office:mimetype="application/vnd.oasis.opendocument.spreadsheet"><office:body>
<office:spreadsheet><table:table table:name="A"><table:table-row><table:table-cell/>
</table:table-row></table:table></office:spreadsheet></office:body></office:document>"""
GTK = "import gi; gi.require_version('Gtk', '3.0'); from gi.repository import Gtk"
CHROMIUM = "chromium --no-sandbox --test-type --no-first-run --disable-gpu --kiosk"

Try = Callable[[DesktopEnvironment, int], Awaitable[str]]
"""Does one list; returns what went wrong, or nothing."""


def at(x: float, y: float) -> Point:
    return Point(x, y, "screen")


async def window(environment: DesktopEnvironment, part: str, seconds: float = 30.0) -> str:
    """The title of the window in front once it contains ``part``; else the last one."""
    title, deadline = "", Deadline(seconds)
    while not deadline.passed:
        look = await environment.observe(settle=0.2)
        title = look.active.title if look.active else ""
        if part in title:
            return title
    return title


async def open_with(environment: DesktopEnvironment, line: str, title: str) -> None:
    await environment.execute(f"setsid {line} >/dev/null 2>&1 &")
    if title not in (shown := await window(environment, title, 90.0)):
        raise RuntimeError(f"{line}: no window {title!r} in front, but {shown!r}")
    await environment.observe(settle=10.0)


async def save_as(environment: DesktopEnvironment, number: int) -> str:
    """Type a text, open the dialog, type a name and press Enter."""
    name, text = f"n{number}.txt", f"text {number}"
    actions: list[Action] = [
        Hotkey(("ctrl", "a")),
        Write(text),
        Hotkey(("ctrl", "shift", "s")),
        Hotkey(("ctrl", "a")),
        Write(f"/home/user/{name}"),
        Press("enter"),
    ]
    await environment.act(actions)
    shown = await window(environment, name, 10.0)
    try:
        saved = (await environment.read_file(f"/home/user/{name}")).decode()
    except FileNotFoundError:
        await environment.act([Press("escape")])
        return f"no file; in front is {shown!r}"
    return "" if saved.strip() == text else f"the file says {saved!r}"


async def fill_cells(environment: DesktopEnvironment, number: int) -> str:
    """Go to a cell by the name box, fill two cells, save."""
    row = number + 1
    actions: list[Action] = [
        Hotkey(("ctrl", "shift", "t")),
        Write(f"B{row}"),
        Press("enter"),
        Write(f"left{number}"),
        Press("tab"),
        Write(f"right{number}"),
        Press("enter"),
        Hotkey(("ctrl", "s")),
    ]
    await environment.act(actions)
    text, deadline = "", Deadline(10.0)
    while not deadline.passed:
        await environment.observe(settle=1.0)
        data = await environment.read_file("/home/user/sheet.fods")
        text = data.decode("utf-8", "replace")
        if f">left{number}<" in text and f">right{number}<" in text:
            left, right = text.find(f">left{number}<"), text.find(f">right{number}<")
            return "" if left < right else "the cells are in the wrong order"
    return "not in the saved file"


async def fill_form(environment: DesktopEnvironment, number: int) -> str:
    """Click a field, type, click the next, type, Enter."""
    first, second = f"ab{number}", f"cd{number}"
    actions: list[Action] = [
        Click(at(300, 30)),
        Write(first),
        Click(at(300, 90)),
        Write(second),
        Press("enter"),
    ]
    await environment.act(actions)
    expected = f"{first}/{second}"
    shown = await window(environment, expected, 5.0)
    return "" if expected in shown else f"the title says {shown!r}"


async def _gtk(environment: DesktopEnvironment) -> Try:
    await open_with(environment, "mousepad /home/user/first.txt", "Mousepad")
    return save_as


async def _office(environment: DesktopEnvironment) -> Try:
    await environment.write_file("/home/user/sheet.fods", SHEET.encode())
    await open_with(environment, "soffice --calc /home/user/sheet.fods", "Calc")
    return fill_cells


async def _web(environment: DesktopEnvironment) -> Try:
    await environment.write_file("/home/user/form.html", PAGE.encode())
    line = f"{CHROMIUM} --user-data-dir=/home/user/c file:///home/user/form.html"
    await open_with(environment, line, "start")
    return fill_form


APPS = {"gtk": _gtk, "office": _office, "web": _web}
