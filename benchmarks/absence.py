"""Checks that something is absent, on real programs: where it is only hidden, and where it is gone.

    python -m benchmarks.absence [--only NAME]…

Prints how many of the checks pass although what they ask for is there (it has to be none), and how
many hold of those whose thing is gone. Chromium, GTK, Mousepad and LibreOffice run on one private
desktop.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import quote

from benchmarks.machine import machine
from hisa.actions import Hotkey, Press, Write
from hisa.machine.patience import Deadline
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.protocols import Scoring, Task
from hisa.tasks.scorer import TaskScorer

__all__ = ["GONE", "HIDDEN", "Case", "open_programs", "score_absence"]

_HOME = "/home/user"
_CHROMIUM = "chromium --no-sandbox --test-type --no-first-run --disable-gpu"
_PAGE = """<!doctype html><meta charset=utf-8><title>Trips</title>
<style>#v {height: 90px; overflow: auto} .over {position: fixed; inset: 0; background: #fff}</style>
<main id=m><h1>Trips</h1><table border=1><tbody id=t><tr id=porto><td>Porto</td><td>3</td></tr>
<tr><td>Faro</td><td>5</td></tr></tbody></table><p><button id=b>Pay</button>
<a id=a href=#>Terms</a> <label><input type=checkbox id=c checked>Gift</label></p>
<div id=v><p>Top</p><div style="height: 400px"></div><p id=low>Below</p></div>
<ul id=u><li>First</li><li id=second>Second</li></ul></main>
<dialog id=d><p>Sure?</p><button onclick="d.close()">No</button></dialog>
<div id=r role=dialog aria-label=Question style="display: none"><p>Cookies?</p></div>
<div id=x class=over style="display: none"><p>Nothing to see</p></div>
<div id=tabs style="display: none"><button role=tab aria-selected=true>One</button>
<button role=tab>Two</button></div>
<div style="height: 3000px"></div><p>Far away</p>
<script>setTimeout(() => eval(decodeURIComponent(location.search.slice(1))), 300)</script>"""
_ROWS = """
import sys, gi
gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk
window = Gtk.Window(title="Rows")
window.set_default_size(400, 300)
store = Gtk.ListStore(str)
for number in range(int(sys.argv[1])):
    store.append([f"Row {number}"])
view = Gtk.TreeView(model=store)
view.append_column(Gtk.TreeViewColumn("Name", Gtk.CellRendererText(), text=0))
scrolled, pages, button = Gtk.ScrolledWindow(), Gtk.Notebook(), Gtk.Button(label="Send")
scrolled.add(view)
pages.append_page(scrolled, Gtk.Label(label="One"))
pages.append_page(Gtk.Label(label="On the second page"), Gtk.Label(label="Two"))
box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
box.pack_start(pages, True, True, 0)
box.pack_start(button, False, False, 0)
window.add(box)
window.connect("destroy", Gtk.main_quit)
window.show_all()
if "less" in sys.argv:
    GLib.timeout_add(500, lambda: store.remove(store.get_iter(2)) and False)
    GLib.timeout_add(500, lambda: button.hide())
Gtk.main()
"""
_ASK = "setTimeout(() => {}('Really?'), 0)"
_CELL = "role: table cell, name: Porto"
_REMOVED = "porto.remove()"
Act = Callable[[DesktopEnvironment], Awaitable[object]]


@dataclass(frozen=True)
class Case:
    """A way in which something is hidden or gone, made by a page's script, a program and acts."""

    name: str
    element: str
    """What the check says is absent."""
    script: str | None = None
    program: str = ""
    then: Act | None = None


def _keys(*keys: str) -> Act:
    return lambda desktop: desktop.act([Hotkey(keys) if len(keys) > 1 else Press(keys[0])])


def _line(line: str) -> Act:
    return lambda desktop: desktop.execute(line)


async def _find_and_close(desktop: DesktopEnvironment) -> None:
    await desktop.act([Hotkey(("ctrl", "h"))])
    await desktop.observe(settle=4.0)
    await desktop.act([Press("esc")])


def _cover(name: str) -> str:
    return f"{name}.style.display = 'block'"


_ROW = f"python3 {_HOME}/rows.py"
_CALC = f"soffice --norestore --calc --infilter=CSV:44,34,76,1 {_HOME}/towns.csv"
_WRITER = f"soffice --norestore --writer {_HOME}/lines.txt"
_MINIMISE = _line("xdotool getactivewindow windowminimize")
_END = "scrollTo(0, 9999)"
HIDDEN = (
    Case("confirm", _CELL, _ASK.format("confirm")),
    Case("alert", _CELL, _ASK.format("alert")),
    Case("prompt", _CELL, _ASK.format("prompt")),
    Case("modal dialog", _CELL, "d.showModal()"),
    Case("heading behind a modal", "role: heading, name: Trips", "d.showModal()"),
    Case("dialog, the rest inert", _CELL, f"{_cover('r')}; m.inert = true"),
    Case("dialog, the rest aria-hidden", _CELL, f"{_cover('r')}; m.ariaHidden = 'true'"),
    Case("aria-modal dialog", _CELL, f"{_cover('r')}; r.ariaModal = 'true'; m.inert = true"),
    Case("opaque cover", _CELL, _cover("x")),
    Case("page scrolled", _CELL, _END),
    Case("below the fold", "role: static, name: Far away", "1"),
    Case("scrolled inside the page", "role: static, name: Below", "1"),
    Case("another tab", _CELL, "1", then=_keys("ctrl", "t")),
    Case("another page tab of the page", _CELL, f"{_cover('tabs')}; m.style.display = 'none'"),
    Case("minimised", _CELL, "1", then=_MINIMISE),
    Case("window in front", _CELL, "1", program=f"{_ROW} 3"),
    Case("stopped program", _CELL, _END, then=_line("pkill -STOP chromium")),
    Case("row of a list out of view", "role: table cell, name: Row 59", program=f"{_ROW} 60"),
    Case("second page of a notebook", "name: On the second page", program=f"{_ROW} 3"),
    Case("cell out of view", "role: table cell, value: Town 150", program=_CALC),
    Case("paragraph out of view", "role: paragraph, value: Line 150", program=_WRITER),
)
"""What is meant is there in each: no check that it is absent may pass."""
GONE = (
    Case("row", _CELL, _REMOVED),
    Case("row, the page scrolled", _CELL, f"{_REMOVED}; {_END}"),
    Case("row, under a cover", _CELL, f"{_REMOVED}; {_cover('x')}"),
    Case("row, a banner beside it", _CELL, f"{_REMOVED}; {_cover('r')}"),
    Case("row, after a question", _CELL, f"confirm('?'); {_REMOVED}", then=_keys("enter")),
    Case("row, after a modal", _CELL, f"d.showModal(); d.close(); {_REMOVED}"),
    Case("row, minimised", _CELL, _REMOVED, then=_MINIMISE),
    Case("row, a window in front", _CELL, _REMOVED, program=f"{_ROW} 3"),
    Case("row, display none", _CELL, "porto.style.display = 'none'"),
    Case("button", "role: push button, name: Pay", "b.remove()"),
    Case("link", "role: link, name: Terms", "a.remove()"),
    Case("tick", "role: check box, name: Gift, state: checked", "c.click()"),
    Case("text below", "role: static, name: Below", "low.remove()"),
    Case("entry", "role: list item, name: Second", "second.remove()"),
    Case("everything", "role: heading, name: Trips", "m.remove()"),
    Case("dialog of the page", "role: dialog", "d.showModal(); d.close()"),
    Case("row of a list", "role: table cell, name: Row 2", program=f"{_ROW} 6 less"),
    Case("button of a window", "role: push button, name: Send", program=f"{_ROW} 6 less"),
    Case("dialog of an editor", "role: dialog", program="mousepad", then=_find_and_close),
    Case("dialog of an office", "role: dialog", program=_CALC, then=_find_and_close),
    Case("window", "role: frame, name: Rows", "1"),
)
"""Nothing of the kind is there in each: at least 19 of 20 have to hold."""


async def open_programs(desktop: DesktopEnvironment) -> None:
    """Put the page and the files on the desktop, and start the browser."""
    await desktop.write_file(f"{_HOME}/trips.html", _PAGE.encode())
    await desktop.write_file(f"{_HOME}/rows.py", _ROWS.encode())
    for name, word in (("towns.csv", "Town"), ("lines.txt", "Line")):
        text = "\n".join(f"{word} {number}" for number in range(200))
        await desktop.write_file(f"{_HOME}/{name}", text.encode())
    await desktop.execute(f"setsid -f {_CHROMIUM} about:blank >/dev/null 2>&1")
    await _await_window(desktop, "Chromium")


async def _await_window(desktop: DesktopEnvironment, title: str) -> None:
    wait = Deadline(60.0)
    while not wait.passed:
        look = await desktop.observe(elements=True, settle=2.0)
        if look.active is not None and title in look.active.title:
            return
    raise RuntimeError(f"no window {title!r}")


async def score_absence(desktop: DesktopEnvironment, case: Case) -> Scoring:
    """Make a case, score the check that its element is absent, and undo the case."""
    if case.script is not None:
        address = f"file://{_HOME}/trips.html?{quote(case.script)}"
        await desktop.act([Hotkey(("ctrl", "l")), Write(address), Press("delete"), Press("enter")])
        await desktop.observe(settle=3.0)
    if case.program:
        title = {"python3": "Rows", "soffice": "LibreOffice"}.get(case.program.split()[0], "")
        await desktop.execute(f"setsid -f {case.program} >/dev/null 2>&1")
        await _await_window(desktop, title or "Mousepad")
        await desktop.observe(settle=8.0 if "soffice" in case.program else 3.0)
    if case.then is not None:
        await case.then(desktop)
        await desktop.observe(settle=3.0)
    text = {"absent": True} | dict(part.split(": ") for part in case.element.split(", "))
    task = Task("absence", "Remove it.", check={"all": [{"element": text}]})
    scoring = await TaskScorer().score(task, desktop, "succeeded")
    await desktop.execute("pkill -CONT chromium; pkill soffice; pkill -f rows.py; pkill mousepad")
    await desktop.execute("xdotool search --onlyvisible --class chromium windowactivate")
    await desktop.execute("wmctrl -a Chromium")
    await desktop.observe(settle=2.0)
    tab = case.name == "another tab"
    await desktop.act([Hotkey(("ctrl", "w")) if tab else Press("esc")])
    await desktop.observe(settle=2.0)
    return scoring


async def _run(names: list[str]) -> None:
    passed: dict[str, list[bool]] = {"hidden": [], "gone": []}
    async with DesktopEnvironment() as desktop:
        await open_programs(desktop)
        for kind, cases in (("hidden", HIDDEN), ("gone", GONE)):
            for case in cases:
                if names and case.name not in names:
                    continue
                scoring = await score_absence(desktop, case)
                passed[kind].append(scoring.value == 1.0)
                print(
                    f"{kind:<7} {case.name:<30} {scoring.value} {scoring.detail[:110]}", flush=True
                )
    print(f"absence ({machine()})")
    for kind, all_of in passed.items():
        print(f"  {kind}: {sum(all_of)} of {len(all_of)} checks pass")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", action="append", default=[], help="names of cases (all)")
    asyncio.run(_run(parser.parse_args().only))


if __name__ == "__main__":
    main()
