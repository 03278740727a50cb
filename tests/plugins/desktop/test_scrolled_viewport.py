"""What a GTK 3 list shows is read however far it is scrolled."""

from __future__ import annotations

import asyncio
import subprocess

import pytest

from hisa.actions import Scroll
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.screen.geometry import Point

_GTK = "import gi; gi.require_version('Gtk', '3.0'); from gi.repository import Gtk"
_LIST = """
window = Gtk.Window(title="Orders")
window.set_default_size(600, 300)
pane, rows = Gtk.ScrolledWindow(), Gtk.ListBox()
for number in range(40):
    rows.add(Gtk.Button(label=f"Ship {number}"))
pane.add(rows)
window.add(pane)
window.show_all()
Gtk.main()
"""

pytestmark = [
    pytest.mark.desktop,
    pytest.mark.skipif(
        subprocess.run(["/usr/bin/python3", "-c", _GTK], capture_output=True).returncode != 0,
        reason="no GTK 3 for Python",
    ),
]


async def test_a_list_that_is_scrolled_by_more_than_its_height_is_still_read() -> None:
    async with DesktopEnvironment() as desktop:
        await desktop.reset()
        await desktop.write_file("~/list.py", f"{_GTK}\n{_LIST}".encode())
        await desktop.execute("setsid -f /usr/bin/python3 ~/list.py >/dev/null 2>&1")
        names: set[str] = set()
        for _ in range(60):
            look = await desktop.observe(elements=True, settle=0.5)
            if shown := {e.name for e in look.elements or () if e.name.startswith("Ship")}:
                names |= shown
                middle = Point(look.screen.width / 2, look.screen.height / 2, "screen")
                await desktop.act([Scroll(-3, at=middle)])
            if "Ship 39" in names:
                break
            await asyncio.sleep(0.2)
        assert "Ship 39" in names
        assert "Ship 0" in names
