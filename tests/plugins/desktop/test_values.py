"""The values of sliders, spin buttons, bars, dates and times: in lists, lines and checks."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from hisa.actions import Click, Press
from hisa.grounder.marks import Marks
from hisa.planner.view import element_lines
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.protocols import Task
from hisa.screen.observation import Observation
from hisa.state.changes import describe_changes
from hisa.state.roi import full_pair
from hisa.tasks.shown_element import ShownElement, why_not_shown
from tests.environments.conformance import find_only, observe_until
from tests.plugins.desktop.action_lists import GTK

pytestmark = pytest.mark.desktop

PAGE = """<!doctype html><meta charset=utf-8><title>Values</title><h1>Values</h1>
<p><label>Volume <input type=range value=20></label>
<p><label>Count <input type=number value=7></label>
<p><label>Day <input type=date value=2026-03-04></label>
<p><label>At <input type=time value=13:45></label>
<p><label>Load <progress value=35 max=100></progress></label>
<p><label>Wait <progress></progress></label>
<p><label>Disk <meter value=6 min=0 max=10></meter></label>
<p role=slider tabindex=0 aria-label=Heat aria-valuenow=3 aria-valuetext=warm>heat
<p role=spinbutton tabindex=0 aria-label=Guests aria-valuenow=4>guests
<p role=progressbar aria-label=Setup aria-valuenow=3 aria-valuetext="step 3 of 5">setup"""
OF_PAGE = {
    "Volume": "20",
    "Count": "7",
    "Load": "35",
    "Wait": "",
    "Disk": "6",
    "Heat": "warm",
    "Guests": "4",
    "Setup": "step 3 of 5",
}


def _value(look: Observation, name: str) -> str | None:
    matches = (e for e in look.elements or () if e.name == name and e.role != "static")
    return next((e.text for e in matches), None)


async def _turn_up(desktop: DesktopEnvironment, look: Observation, name: str) -> list[str]:
    """The lines of a step that presses Right on a slider, and that its value is checked by."""
    slider = find_only(look, "slider", name=name)
    await desktop.act([Click(slider.box.centre)])
    before = await desktop.observe(elements=True, settle=2.0)
    now = int(_value(before, name) or 0)
    await desktop.act([Press("right")])
    after = await observe_until(desktop, lambda look: _value(look, name) == str(now + 1))
    assert f'slider "{name}" text="{now + 1}"' in "\n".join(element_lines(after))
    assert f'"{name}" = "{now + 1}"' in Marks().build_list(Task("t", "Turn it up."), after)
    for value, holds in ((str(now + 1), True), (str(now), False)):
        check = ShownElement(role="slider", name=name, value=value)
        assert (not await why_not_shown(desktop, check)) == holds
    box = full_pair(before, after)
    lines = describe_changes(before, after, box.box if box else None) or ()
    assert any(f"Slider “{name}” now reads “{now + 1}”" in line for line in lines), lines
    return list(lines)


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium")
@pytest.mark.browser
async def test_page_has_the_values_of_its_controls() -> None:
    async with DesktopEnvironment() as desktop:
        await desktop.write_file("/tmp/values.html", PAGE.encode())
        await desktop.execute("chromium /tmp/values.html >/dev/null 2>&1 &")
        look = await observe_until(desktop, lambda look: _value(look, "Setup") is not None)
        assert {name: _value(look, name) for name in OF_PAGE} == OF_PAGE
        assert "2026" in find_only(look, "date editor", name="Day").text
        assert "45" in find_only(look, "date editor", name="At").text
        await _turn_up(desktop, look, "Volume")


_WINDOW = """
window, box = Gtk.Window(title="Values"), Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
scale = Gtk.Scale.new_with_range(Gtk.Orientation.HORIZONTAL, 0, 100, 1)
scale.set_value(20)
spin = Gtk.SpinButton.new_with_range(0, 10, 1)
spin.set_value(7)
bar, level = Gtk.ProgressBar(fraction=0.35), Gtk.LevelBar(value=0.6)
for name, part in (("Volume", scale), ("Count", spin), ("Load", bar), ("Disk", level)):
    part.get_accessible().set_name(name)
    box.add(part)
window.add(box)
window.set_default_size(400, 200)
window.show_all()
Gtk.main()
"""


@pytest.mark.skipif(
    subprocess.run(["/usr/bin/python3", "-c", GTK], capture_output=True).returncode != 0,
    reason="no GTK 3 for Python",
)
async def test_gtk_window_has_the_values_of_its_controls() -> None:
    values = {"Volume": "20", "Count": "7", "Load": "0.35", "Disk": "0.6"}
    async with DesktopEnvironment() as desktop:
        await desktop.write_file("~/values.py", f"{GTK}\n{_WINDOW}".encode())
        await desktop.execute("setsid -f /usr/bin/python3 ~/values.py >/dev/null 2>&1")
        look = await observe_until(desktop, lambda look: _value(look, "Disk") is not None)
        assert {name: _value(look, name) for name in values} == values
        await _turn_up(desktop, look, "Volume")
