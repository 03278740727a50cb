"""A list of actions does what it says, although nothing in it waits for the application."""

from __future__ import annotations

import shutil

import pytest

from benchmarks.sequences import APPS, open_with, window
from hisa.actions import Click, Hotkey, Write
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.screen.geometry import Point
from hisa.screen.observation import Observation
from tests.environments.conformance import seen_when

pytestmark = pytest.mark.desktop


@pytest.mark.parametrize(
    ("app", "program", "lists"),
    [("gtk", "mousepad", 4), ("office", "soffice", 3), ("web", "chromium", 2)],
)
async def test_a_list_without_pauses_does_what_it_says(app: str, program: str, lists: int) -> None:
    """Typed, confirmed and saved in one go, as models write it; read back from the machine."""
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    async with DesktopEnvironment() as desktop:
        do = await APPS[app](desktop)
        wrong = [await do(desktop, number) for number in range(lists)]
    assert wrong == [""] * lists


async def test_what_a_click_put_the_focus_on_gets_the_keys_that_follow() -> None:
    """Click, Ctrl+A, text and Ctrl+S as one list, four times."""
    if shutil.which("mousepad") is None:
        pytest.skip("needs mousepad")
    async with DesktopEnvironment() as desktop:
        await desktop.write_file("/home/user/a.txt", b"one two")
        await open_with(desktop, "mousepad /home/user/a.txt", "a.txt")
        text = Point(400, 300, "screen")
        for number in range(4):
            said = f"number {number}"
            await desktop.act(
                [Click(text), Hotkey(("ctrl", "a")), Write(said), Hotkey(("ctrl", "s"))]
            )
            await window(desktop, "a.txt")
            await desktop.observe(settle=5.0)
            assert (await desktop.read_file("/home/user/a.txt")).decode().strip() == said


async def test_cells_that_are_passed_over_stay_empty() -> None:
    """Tabs and line ends with nothing between them, at once, as models fill a sheet."""
    if shutil.which("soffice") is None:
        pytest.skip("needs soffice")
    async with DesktopEnvironment() as desktop:
        await open_with(desktop, "soffice --calc --norestore", "Calc")
        await desktop.act([Write("a\t\tb\n\tc\n\n\td\t5\n\t\t=1+1\n")])
        seen = await seen_when(desktop, lambda seen: "C5" in _cells(seen))
    assert _cells(seen) == {"A1": "a", "C1": "b", "B2": "c", "B4": "d", "C4": "5", "C5": "2"}


def _cells(seen: Observation) -> dict[str, str]:
    cells = (e for e in seen.elements or () if e.role == "table cell")
    return {e.name: e.text for e in cells if e.text.strip()}
