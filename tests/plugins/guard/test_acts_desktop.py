"""What deletes, on a real GTK window and a real page, met in every way a place can be given."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.screen.observation import Element, Observation
from hisa.testing.scripted import tool_call
from tests.bench import click
from tests.environments.conformance import observe_until
from tests.plugins.guard.kept_desktop import PersistentDesktop
from tests.plugins.guard.test_acts_on_things import gui, refusals, run_replies
from tests.plugins.guard.test_runs import decisions

pytestmark = [pytest.mark.desktop, pytest.mark.asyncio(loop_scope="module")]

HOME = "/home/user"
GONE = f"{HOME}/gone"
GTK = """
import gi, sys
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk
def gone(*_): open("/home/user/gone", "a").write("gone ")
window = Gtk.Window(title="Users")
if sys.argv[1] == "ask":
    window = Gtk.MessageDialog(message_type="question", text="Delete this user?", title="Users")
    window.add_button("_Cancel", 0)
    window.add_button("_OK", 1)
    window.set_default_response(1)
    window.connect("response", lambda _, answer: answer == 1 and gone())
else:
    box = Gtk.Box(orientation="vertical", spacing=8, border_width=20)
    entry = Gtk.Entry()
    entry.get_accessible().set_name("Name")
    delete = Gtk.Button.new_with_mnemonic("_Delete user")
    delete.connect("clicked", gone)
    rename = Gtk.Button.new_with_mnemonic("_Rename")
    for each in (entry, rename, delete): box.add(each)
    window.add(box)
    window.show_all()
    if sys.argv[1] == "focus": delete.grab_focus()
window.connect("destroy", Gtk.main_quit)
window.show_all()
Gtk.main()
"""
PAGE = """<!doctype html><title>Users</title><style>* {font: 24px sans-serif}
#red {background: red; width: 40px; height: 40px}</style>
<p><input aria-label=Name> <button>Rename</button>
<button accesskey=d onclick="fetch('/gone', {method: 'POST'})">Delete user</button>
<p><button id=icon onclick="fetch('/gone', {method: 'POST'})"><svg width=30 height=30></svg>
</button><div id=red onclick="fetch('/gone', {method: 'POST'})"></div>
<p><button onclick="confirm('Delete this user?') && fetch('/gone', {method: 'POST'})">Other</button>
"""
SERVER = """
import http.server
class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(open("/home/user/page.html", "rb").read())
    def do_POST(self):
        open("/home/user/gone", "a").write("gone ")
        self.send_response(204)
        self.end_headers()
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", 8797), Site).serve_forever()
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desktop() -> AsyncIterator[DesktopEnvironment]:
    async with PersistentDesktop() as environment:
        await environment.write_file(f"{HOME}/users.py", GTK.encode())
        await environment.write_file(f"{HOME}/page.html", PAGE.encode())
        await environment.write_file(f"{HOME}/site.py", SERVER.encode())
        await environment.execute("setsid -f python3 ~/site.py >/dev/null 2>&1")
        yield environment


async def show(desktop: DesktopEnvironment, command: str, name: str) -> tuple[Observation, Element]:
    """The look at which a thing of that name has come up, and the thing."""
    await desktop.execute(f"rm -f {GONE}; setsid -f {command} >/dev/null 2>&1")
    observation = await observe_until(
        desktop, lambda observation: any(e.name == name for e in observation.elements or ())
    )
    return observation, next(e for e in observation.elements or () if e.name == name)


async def is_gone(desktop: DesktopEnvironment) -> bool:
    return (await desktop.execute(f"sleep 0.3; test -e {GONE}")).exit_code == 0


async def refuse_all(desktop: DesktopEnvironment, folder: Path, *replies: str) -> None:
    """A run in which each of these is refused for what it deletes, and nothing is deleted."""
    run = await run_replies(folder, desktop, *replies)
    verdicts = [(decision.what, decision.allowed, decision.rule) for decision in decisions(run)]
    # A tab presses nothing; if its effect does not show in time, it is decided with what follows.
    verdicts = [verdict for verdict in verdicts if not (verdict[1] and "'tab'" in verdict[0])]
    assert len(verdicts) == len(replies), (verdicts, refusals(run))
    assert not any(allowed for _, allowed, _ in verdicts), verdicts
    assert all("ask before deleting" in rule for *_, rule in verdicts), verdicts
    assert all("elete" in refusal for refusal in refusals(run))
    assert not await is_gone(desktop)


def needs_gtk() -> pytest.MarkDecorator:
    has_gtk = (
        shutil.which("/usr/bin/python3") and Path("/usr/lib/python3/dist-packages/gi").exists()
    )
    return pytest.mark.skipif(not has_gtk, reason="needs GTK for the system's Python")


@needs_gtk()
@pytest.mark.parametrize("focus", ["elsewhere", "focus"])
async def test_a_button_of_gtk(focus: str, desktop: DesktopEnvironment, tmp_path: Path) -> None:
    observation, element = await show(
        desktop, f"/usr/bin/python3 ~/users.py {focus}", "Delete user"
    )
    x, y = observation.convert_box(element.box, "image").centre.to_pixels()
    replies = [
        click("the button Delete user"),
        gui(f"pyautogui.click({x}, {y})"),
        gui(f"pyautogui.moveTo({x}, {y}); pyautogui.mouseDown(); pyautogui.mouseUp()"),
        gui("pyautogui.hotkey('alt', 'd')"),
    ]
    if focus == "focus":
        replies += [gui("pyautogui.press('enter')"), gui("pyautogui.press('space')")]
    else:
        keys = "pyautogui.press('tab'); pyautogui.press('tab'); pyautogui.press('space')"
        replies.append(gui(keys))
    await refuse_all(desktop, tmp_path, *replies)
    run = await run_replies(tmp_path, desktop, click("the field Name", "pyautogui.write('Ada')"))
    assert [decision.verdict for decision in decisions(run)] == ["allow"], "a field is harmless"
    await desktop.execute("kill $(pgrep -f users.py)")


@needs_gtk()
async def test_a_plain_yes_of_a_dialog_of_gtk(desktop: DesktopEnvironment, tmp_path: Path) -> None:
    observation, element = await show(desktop, "/usr/bin/python3 ~/users.py ask", "OK")
    x, y = observation.convert_box(element.box, "image").centre.to_pixels()
    await refuse_all(
        desktop,
        tmp_path,
        gui(f"pyautogui.click({x}, {y})"),
        gui("pyautogui.press('enter')"),
        gui("pyautogui.press('space')"),
        gui("pyautogui.hotkey('alt', 'o')"),
    )
    run = await run_replies(tmp_path, desktop, gui("pyautogui.press('esc')"))
    assert [decision.verdict for decision in decisions(run)] == ["allow"]
    await desktop.execute("kill $(pgrep -f users.py)")


@pytest.mark.browser
@pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium")
async def test_a_button_of_a_page(desktop: DesktopEnvironment, tmp_path: Path) -> None:
    port = "--remote-debugging-port=9222 --remote-allow-origins=*"
    site = "http://127.0.0.1:8797/"
    observation, element = await show(desktop, f"chromium {port} {site}", "Delete user")
    x, y = observation.convert_box(element.box, "image").centre.to_pixels()
    await refuse_all(
        desktop,
        tmp_path,
        click("button Delete user"),
        gui(f"pyautogui.click({x}, {y})"),
        gui("pyautogui.hotkey('alt', 'd')"),
        tool_call("browser_click", {"target": "Delete user"}),
        tool_call("browser_click", {"target": "css=button[accesskey=d]"}),
    )
    observation, icon = await show(desktop, "true", "Delete user")
    icon = next(e for e in observation.elements or () if (e.role, e.name) == ("push button", ""))
    ix, iy = observation.convert_box(icon.box, "image").centre.to_pixels()
    red = f"pyautogui.click({ix}, {iy + 60})"
    replies = [
        gui(f"pyautogui.click({ix}, {iy})"),
        gui(red),
        tool_call("browser_click", {"target": "css=#icon"}),
        tool_call("browser_click", {"target": "Rename"}),
        tool_call("browser_click", {"target": "Name"}),
    ]
    run = await run_replies(tmp_path, desktop, *replies)
    assert [decision.allowed for decision in decisions(run)] == [False, False, False, True, True]
    assert not await is_gone(desktop)
    # the focus stands in the field beside "Rename": two steps on it is on "Delete user"
    await desktop.execute("sleep 0.2")
    run = await run_replies(
        tmp_path,
        desktop,
        gui("pyautogui.press('tab')"),
        gui("pyautogui.press('tab')"),
    )
    assert [decision.verdict for decision in decisions(run)] == ["allow", "allow"]
    await refuse_all(
        desktop,
        tmp_path,
        gui("pyautogui.press('enter')"),
        gui("pyautogui.press('space')"),
    )


@pytest.mark.browser
@pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium")
async def test_a_pages_own_question(desktop: DesktopEnvironment, tmp_path: Path) -> None:
    observation, element = await show(desktop, "chromium http://127.0.0.1:8797/", "Other")
    x, y = observation.convert_box(element.box, "image").centre.to_pixels()
    run = await run_replies(tmp_path, desktop, gui(f"pyautogui.click({x}, {y})"))
    assert [decision.verdict for decision in decisions(run)] == ["allow"]
    observation, element = await show(desktop, "true", "OK")
    x, y = observation.convert_box(element.box, "image").centre.to_pixels()
    await refuse_all(
        desktop,
        tmp_path,
        gui("pyautogui.press('enter')"),
        gui("pyautogui.press('space')"),
        gui(f"pyautogui.click({x}, {y})"),
        click('push button "OK"'),
    )
    run = await run_replies(tmp_path, desktop, click('push button "Cancel"'))
    assert [decision.verdict for decision in decisions(run)] == ["allow"]
    await desktop.execute("kill $(pgrep -x chromium)")
