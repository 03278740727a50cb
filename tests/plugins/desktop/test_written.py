"""A step that changes no pixel, checked against the files of a real desktop."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from hisa.actions import Hotkey, Press, Write
from hisa.agent import Agent
from hisa.config import load
from hisa.environments.transport import connect
from hisa.events import Abstracted
from hisa.planner.planner import GlobalPlanner
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.machines.guests.any_guest import connect_stock
from hisa.protocols import Environment, Task
from hisa.runs.log import RunLog
from hisa.runs.run_reader import load_run
from hisa.screen.observation import Observation
from hisa.state.written_files import WrittenFiles, WrittenPaths
from hisa.testing.scripted import ScriptedModel
from tests.bench import finish, say
from tests.environments.conformance import observe_until
from tests.plugins.desktop.test_looking import needs_calc

pytestmark = pytest.mark.desktop

OFFLINE = {"model": "offline"}
WITH_EYES = {"model": "gpt-4o", "base_url": "http://127.0.0.1:9/v1"}
SAVE = say("gui_action", "pyautogui.hotkey('ctrl', 's')")
SHEET = b"""<?xml version="1.0" encoding="UTF-8"?>
<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" office:version="1.2"
 office:mimetype="application/vnd.oasis.opendocument.spreadsheet"><office:body>
<office:spreadsheet><table:table table:name="Sheet1"><table:table-row><table:table-cell/>
</table:table-row></table:table></office:spreadsheet></office:body></office:document>"""


@pytest.fixture
async def desktop() -> AsyncIterator[DesktopEnvironment]:
    async with DesktopEnvironment() as desktop:
        yield desktop


async def results(folder: Path, machine: Environment, *replies: str) -> list[str]:
    """What a run on the desktop as it is says of its steps, on the parts that a user gets."""
    overrides = {"patterns": {"enabled": False}, "models": {"planner": WITH_EYES, "state": OFFLINE}}
    settings = load(environ={}, overrides=overrides)
    task = Task("save", "Save it.")
    with RunLog.create(folder, task) as log:
        async with Agent(settings=settings, environment=machine).open(task, log) as loop:
            model = ScriptedModel([*replies, finish()])
            loop.stale = math.inf
            loop.planner = GlobalPlanner(model, loop.tools, emit=log.emit)
            log.step = 1  # what was opened stays open
            result = await loop.perform(task)
            assert result.status == "succeeded"
    return [e.result for e in load_run(log.folder).events if isinstance(e, Abstracted)]


def _shows(title: str) -> Callable[[Observation], bool]:
    return lambda look: look.active is not None and title in look.active.title


async def test_a_save_in_a_window_without_a_title(
    desktop: DesktopEnvironment, tmp_path: Path
) -> None:
    """The star in the title is all that a save changes on the screen, and here is no title."""
    await desktop.write_file("/home/user/Documents/note.txt", b"one\n")
    await desktop.execute("mousepad ~/Documents/note.txt >/dev/null 2>&1 &")
    await observe_until(desktop, _shows("note.txt"))
    await desktop.act([Write("two"), Press("f11")])
    await observe_until(desktop, lambda look: True)
    outcomes = await results(tmp_path, desktop, SAVE, SAVE)
    assert outcomes[0] == "Succeeded. The file ~/Documents/note.txt was written."
    assert outcomes[1].startswith("No visible change. No file in the home folder was written.")
    assert b"two" in await desktop.read_file("/home/user/Documents/note.txt")


@needs_calc
async def test_a_save_of_a_spreadsheet_that_fills_the_screen(
    desktop: DesktopEnvironment, tmp_path: Path
) -> None:
    await desktop.write_file("/home/user/sums.fods", SHEET)
    await desktop.execute("soffice --norestore ~/sums.fods >/dev/null 2>&1 &")
    await observe_until(desktop, _shows("sums.fods"))
    await desktop.act([Write("12"), Press("enter")])
    await desktop.act([Hotkey(("ctrl", "shift", "j"))])
    await observe_until(desktop, lambda look: True)
    outcomes = await results(tmp_path, desktop, SAVE, say("gui_action", "pyautogui.press('shift')"))
    assert outcomes[0] == "Succeeded. The file ~/sums.fods was written."
    assert outcomes[1].startswith("No visible change. No file in the home folder was written.")


@pytest.mark.parametrize("stock", [False, True], ids=["own guest", "stock routes"])
async def test_written_files_are_listed_by_any_guest_with_a_shell(stock: bool) -> None:
    async with DesktopEnvironment(connect=connect_stock if stock else connect) as desktop:
        files = WrittenFiles(desktop)
        assert await files.since(time.time()) == WrittenPaths((), complete=True)
        began = time.time()
        for name in ("a.txt", ".hidden", ".cache/b", "Documents/-c \n 'd'.txt"):
            await desktop.write_file(f"/home/user/{name}", b"x")
        names = ("~/Documents/-c \n 'd'.txt", "~/a.txt")
        assert await files.since(began) == WrittenPaths(names, complete=True)
        # The search looks back further than asked for.
        await desktop.execute("touch -d '20 seconds ago' ~/a.txt ~/Documents/*")
        assert (await files.since(time.time())).paths == ()


async def test_too_many_files_are_not_listed(
    desktop: DesktopEnvironment,
) -> None:
    files = WrittenFiles(desktop)
    await desktop.execute("mkdir ~/many && cd ~/many && seq 9000 | xargs touch -d '1 hour ago'")
    result = await files.since(time.time())
    assert (result.paths, result.complete) == ((), False)
