"""A page's file input in Chromium: found by what is drawn on it, and its answered dialog."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from hisa.actions import Click, Slot
from hisa.machine.patience import Deadline
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.protocols import GroundedCall, ToolCall
from hisa.screen.observation import Observation
from tests.state import test_verdicts as verdicts

pytestmark = [
    pytest.mark.desktop,
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium"),
]
PAGE = b"""<!doctype html><title>Upload</title>
<p><label>Photo <input type=file></label><p><input type=file multiple aria-label=Scans>
<p><button>Submit</button>"""
CHROMIUM = "setsid -f chromium --no-sandbox --test-type file:///tmp/page.html"

PICKER = b"""import gi
gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk
GLib.set_prgname("picker")
dialog = Gtk.FileChooserDialog(title="Pick one", action=Gtk.FileChooserAction.OPEN)
dialog.add_buttons("_Cancel", Gtk.ResponseType.CANCEL, "_Open", Gtk.ResponseType.OK)
dialog.set_default_response(Gtk.ResponseType.OK)
dialog.set_default_size(1200, 660)
dialog.run()
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desktop() -> AsyncIterator[DesktopEnvironment]:
    async with DesktopEnvironment() as environment:
        await environment.write_file("/tmp/page.html", PAGE)
        await environment.write_file("/home/user/photo.png", b"x")
        await environment.execute(f"{CHROMIUM} >/dev/null 2>&1")
        yield environment


async def look_when(
    desktop: DesktopEnvironment, holds: Callable[[Observation], bool]
) -> Observation:
    deadline = Deadline(60.0)
    look = await desktop.observe(elements=True, settle=1.0)
    while not holds(look):
        assert not deadline.passed, [window.title for window in look.windows]
        look = await desktop.observe(elements=True, settle=1.0)
    return look


def names(look: Observation) -> set[str]:
    return {element.name for element in look.elements or ()}


async def resolved(look: Observation, description: str) -> GroundedCall:
    call = ToolCall("", "gui_action", "", description, actions=(Click(at=Slot(1)),))
    return await ElementsGrounder(emit=lambda _: None).resolve(call, look)


@pytest.mark.parametrize(
    ("description", "name"),
    [
        ('the "Choose File" button', "Photo: No file chosen"),
        ("Choose File", "Photo: No file chosen"),
        ('the "Choose Files" button', "Scans: No file chosen"),
        ("the Submit button", "Submit"),
    ],
)
async def test_a_file_input_is_found_by_what_is_drawn_on_it(
    desktop: DesktopEnvironment, description: str, name: str
) -> None:
    look = await look_when(desktop, lambda look: "Submit" in names(look))
    (place,) = (await resolved(look, description)).places
    assert place.element is not None
    assert place.element.name == name
    box = look.convert_box(place.element.box, "image")
    assert box.contains(place.point)


async def test_a_file_dialog_of_another_program_is_no_application_that_is_gone(
    desktop: DesktopEnvironment,
) -> None:
    await look_when(desktop, lambda look: "Submit" in names(look))
    await desktop.write_file("/tmp/picker.py", PICKER)
    await desktop.execute("setsid -f python3 /tmp/picker.py >/dev/null 2>&1")
    result = await answered(desktop, "Pick one")
    assert "All windows" not in result


async def answered(desktop: DesktopEnvironment, title: str) -> str:
    """Type a file's name into a dialog; returns the step's line."""
    before = await look_when(
        desktop, lambda look: look.active is not None and look.active.title == title
    )
    call = verdicts.does("pyautogui.write('/home/user/photo.png\\n')", "Choose the photo.")
    await desktop.act(call.actions)
    after = await look_when(
        desktop, lambda look: title not in {window.title for window in look.windows}
    )
    event, _ = await verdicts.seen(call, before, after)
    return event.result
