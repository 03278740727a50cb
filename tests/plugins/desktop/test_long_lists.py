"""What shows of thousands of rows is read, and what does not show is not taken to be away."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from typing import Any, cast

import pytest

from hisa.actions import Click, Press
from hisa.environments.absence import absence_doubt, with_hidden
from hisa.errors import NotFound
from hisa.planner.view import element_lines
from hisa.plugins.desktop.guest.bus import Bus, Limit
from hisa.plugins.desktop.guest.dbus import Call
from hisa.plugins.desktop.guest.long_lists import children_in_area
from hisa.plugins.desktop.guest.node import Node
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.screen.geometry import Point
from hisa.screen.observation import Observation
from tests.environments.conformance import observe_until
from tests.grounder.scenes import call
from tests.plugins.desktop.action_lists import GTK

ROWS = 10_000
SCREEN = (0, 0, 1280, 720)


class Rows:
    """A bus on which one node has children in these boxes; counts how often it is asked."""

    def __init__(self, boxes: Sequence[tuple[int, int, int, int]]) -> None:
        self.boxes, self.rounds, self.calls = boxes, 0, 0
        self.toolkits: dict[str, str] = {}
        self.node = Node(
            "app", "/list", "", 0, len(boxes), frozenset(), "", "list", "", frozenset()
        )

    def gather(self, calls: Sequence[Call], limit: Limit) -> list[Any]:
        self.rounds += 1
        self.calls += len(calls)
        return [self._answer(call) for call in calls]

    def _answer(self, call: Call) -> Any:
        if call.method == "GetChildAtIndex":
            return [("app", str(int.from_bytes(call.arguments.body, "little")))]
        return [self.boxes[int(call.path)]]

    def read_shown_rows(self) -> tuple[list[int], bool]:
        limit = Limit(60)
        children = children_in_area(cast(Bus, self), self.node, SCREEN, limit)
        return [number for number, _ in children], not limit.ran_out


@pytest.mark.parametrize("scrolled", [0, 99_990, 2 * 199_280])
@pytest.mark.parametrize("backwards", [False, True])
def test_few_of_many_rows_are_read(scrolled: int, backwards: bool) -> None:
    rows = [(10, 20 * row - scrolled, 300, 20) for row in range(2 * ROWS)]
    bus = Rows(rows[::-1] if backwards else rows)
    shown = [n for n, (_, top, _, _) in enumerate(bus.boxes) if -20 < top < 720]
    assert bus.read_shown_rows() == (shown, True)
    assert bus.rounds <= 10
    assert bus.calls < 1000


def test_unordered_rows_are_not_taken_for_all() -> None:
    bus = Rows([(10, 20 * (row * 7919 % ROWS) - 90_000, 300, 20) for row in range(ROWS)])
    assert not bus.read_shown_rows()[1]
    assert bus.calls < 5000


def _page() -> str:
    rows = "".join(
        f"<tr><td>Order {row}<td><button onclick='document.title=\"did {row}\"'>Ship {row}</button>"
        for row in range(1, ROWS + 1)
    )
    head = "<!doctype html><title>Orders</title><h1>Orders</h1>"
    return f"{head}<table>{rows}</table><p>The end</p>"


def _has(name: str) -> Any:
    return lambda look: look.complete and any(e.name == name for e in look.elements or ())


def _is_loaded(name: str) -> Any:
    """Whether a name shows, and the page is not still loading."""
    shows = _has(name)
    return lambda look: shows(look) and "loading" not in absence_doubt(look, "push button")


async def _click(desktop: DesktopEnvironment, name: str, look: Observation) -> None:
    grounder = ElementsGrounder(emit=lambda event: None)
    (place,) = (await grounder.resolve(call(f"the button {name}"), look)).places
    await desktop.act([Click(look.convert(place.point, "screen"))])


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium")
@pytest.mark.desktop
@pytest.mark.browser
async def test_the_row_that_shows_of_a_page_of_10000_is_clicked_and_no_other() -> None:
    async with DesktopEnvironment() as desktop:
        await desktop.write_file("/tmp/orders.html", _page().encode())
        await desktop.execute("chromium /tmp/orders.html >/dev/null 2>&1 &")
        look = await observe_until(desktop, _is_loaded("Ship 12"))
        assert look.complete
        assert "(Of the table only what shows is known: scroll for the rest.)" in (
            list(element_lines(look))
        )
        with pytest.raises(NotFound, match="only what shows"):
            await _click(desktop, "Ship 2711", look)
        everywhere = await with_hidden(desktop, look)
        assert "reports only what it shows" in absence_doubt(everywhere, "push button")
        assert not absence_doubt(everywhere, "dialog")
        await _click(desktop, "Ship 12", look)
        look = await observe_until(desktop, lambda look: "did 12 " in _title(look))
        assert "did 12 " in _title(look)
        await desktop.act([Press("end")])
        look = await observe_until(desktop, _has("Ship 9999"))
        await _click(desktop, "Ship 9999", look)
        look = await observe_until(desktop, lambda look: "did 9999 " in _title(look))
        assert "did 9999 " in _title(look)


def _title(look: Observation) -> str:
    return f"{look.active.title} " if look.active else ""


_LIST = """
window = Gtk.Window(title="Orders")
window.set_default_size(600, 300)
pane, rows = Gtk.ScrolledWindow(), Gtk.ListBox()
for number in range(10_000):
    rows.add(Gtk.Button(label=f"Ship {number}"))
pane.add(rows)
window.add(pane)
window.show_all()
Gtk.main()
"""


@pytest.mark.skipif(
    subprocess.run(["/usr/bin/python3", "-c", GTK], capture_output=True).returncode != 0,
    reason="no GTK 3 for Python",
)
@pytest.mark.desktop
async def test_rows_of_gtk_are_read_where_x_has_no_places_for_them() -> None:
    async with DesktopEnvironment() as desktop:
        await desktop.write_file("~/list.py", f"{GTK}\n{_LIST}".encode())
        await desktop.execute("setsid -f /usr/bin/python3 ~/list.py >/dev/null 2>&1")
        look = await observe_until(desktop, _has("Ship 2"))
        middle = Point(look.screen.width / 2, look.screen.height / 2, "screen")
        await desktop.act([Click(middle), Press("end")])
        look = await observe_until(desktop, _has("Ship 9999"))
        shown = [e for e in look.elements or () if e.name.startswith("Ship ")]
        assert look.complete
        assert "Ship 9999" in {e.name for e in shown}
        assert len(shown) < 20
