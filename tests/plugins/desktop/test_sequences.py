"""A list of actions does what it says, although nothing in it waits for the application."""

from __future__ import annotations

import shutil

import pytest

from hisa.actions import Click, Drag, Hotkey, Move, Press, Write
from hisa.environments.transport import connect
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.machines.guests.any_guest import connect_stock
from hisa.screen.geometry import Point
from hisa.screen.observation import Observation
from tests.environments.conformance import observe_until
from tests.plugins.desktop.action_lists import APPS, CHROMIUM, open_with, window

pytestmark = [pytest.mark.desktop, pytest.mark.asyncio(loop_scope="module")]


@pytest.mark.parametrize(("app", "program"), [("gtk", "mousepad"), ("web", "chromium")])
async def test_list_without_pauses_is_executed_in_full(
    app: str, program: str, desktop: DesktopEnvironment
) -> None:
    """Typed, confirmed and saved in one go, as models write it; read back from the machine."""
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    do = await APPS[app](desktop)
    assert [await do(desktop, number) for number in range(2)] == ["", ""]


async def test_focused_field_gets_the_keys_after_a_click(
    desktop: DesktopEnvironment,
) -> None:
    """Click, Ctrl+A, text and Ctrl+S as one list, twice."""
    if shutil.which("mousepad") is None:
        pytest.skip("needs mousepad")
    await desktop.write_file("/home/user/a.txt", b"one two")
    await open_with(desktop, "mousepad /home/user/a.txt", "a.txt")
    text = Point(400, 300, "screen")
    for number in range(2):
        line = f"number {number}"
        await desktop.act([Click(text), Hotkey(("ctrl", "a")), Write(line), Hotkey(("ctrl", "s"))])
        await window(desktop, "a.txt")
        await desktop.observe(settle=5.0)
        assert (await desktop.read_file("/home/user/a.txt")).decode().strip() == line


async def test_lists_in_a_spreadsheet_fill_the_cells_that_they_say() -> None:
    """By the name box, saved; then tabs and line ends with nothing between them, at once."""
    if shutil.which("soffice") is None:
        pytest.skip("needs soffice")
    async with DesktopEnvironment() as desktop:
        do = await APPS["office"](desktop)
        assert [await do(desktop, number) for number in range(2)] == ["", ""]
        await desktop.act([Hotkey(("ctrl", "a")), Press("delete"), Hotkey(("ctrl", "home"))])
        await desktop.act([Write("a\t\tb\n\tc\n\n\td\t5\n\t\t=1+1\n")])
        look = await observe_until(desktop, lambda look: "C5" in _cells(look))
    assert _cells(look) == {"A1": "a", "C1": "b", "B2": "c", "B4": "d", "C4": "5", "C5": "2"}


def _cells(look: Observation) -> dict[str, str]:
    cells = (e for e in look.elements or () if e.role == "table cell")
    return {e.name: e.text for e in cells if e.text.strip()}


SLOW = """
import time
from Xlib import X
from Xlib.display import Display
from Xlib.protocol import event
display = Display()
root = display.screen().root
window = root.create_window(0, 0, 400, 300, 0, X.CopyFromParent, event_mask=X.ButtonPressMask
                            | X.ButtonReleaseMask)
ping = display.intern_atom("_NET_WM_PING")
window.set_wm_protocols([ping])
window.set_wm_name("taken 0")
window.map()
taken = 0
while True:
    display.sync()
    time.sleep(0.04)
    batch = [display.next_event() for _ in range(display.pending_events())]
    kinds = [each.type for each in batch]
    if X.ButtonPress in kinds and X.ButtonRelease not in kinds:
        taken += 1
        window.set_wm_name(f"taken {taken}")
    for each in batch:
        if each.type == X.ClientMessage and each.data[1][0] == ping:
            answer = event.ClientMessage(window=root, client_type=each.client_type, data=each.data)
            root.send_event(answer, event_mask=X.SubstructureNotifyMask)
"""
"""Takes no notice of a press that it reads together with its release."""


async def test_a_press_is_held_until_a_slow_window_has_read_it(
    desktop: DesktopEnvironment,
) -> None:
    """LibreOffice's new-sheet button is such a window on a busy machine."""
    await desktop.write_file("/home/user/slow.py", SLOW.encode())
    await open_with(desktop, "python3 /home/user/slow.py", "taken 0")
    active = (await desktop.observe()).active
    assert active is not None
    assert active.box is not None
    for number in range(4):
        await desktop.act([Click(active.box.centre), Move(Point(5 + number, 5, "screen"))])
    assert "taken 4" in await window(desktop, "taken 4", 5.0)


SORTED = """<title>order</title><style>body,ul{margin:0;padding:0}li{height:40px}</style><ul id=l>
<li draggable=true>A<li draggable=true>B<li draggable=true>C<li draggable=true>D</ul><script>
let held; const told = () => document.title = "order " + [...l.children].map(
  row => row.textContent.trim()).join("")
l.ondragstart = e => { held = e.target; e.dataTransfer.setData("text/plain", "x") }
l.ondragover = e => {
  e.preventDefault(); const row = e.target.closest("li"), box = row.getBoundingClientRect()
  if (row != held) l.insertBefore(held, e.clientY < box.top + 20 ? row : row.nextSibling) }
l.ondragend = told; told()</script>"""


@pytest.mark.parametrize("stock", [False, True])
async def test_a_row_that_is_dragged_onto_another_takes_its_place(stock: bool) -> None:
    if shutil.which("chromium") is None:
        pytest.skip("needs chromium")
    async with DesktopEnvironment(connect=connect_stock if stock else connect) as desktop:
        await desktop.write_file("/home/user/sorted.html", SORTED.encode())
        line = f"{CHROMIUM} --user-data-dir=/home/user/c file:///home/user/sorted.html"
        await open_with(desktop, line, "order ABCD")
        onto_second = Drag(Point(100, 60, "screen"), start=Point(100, 140, "screen"))
        await desktop.act([onto_second])
        assert "order ADBC" in await window(desktop, "order ADBC", 5.0)
