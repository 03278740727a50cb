"""A list of actions does what it says, although nothing in it waits for the application."""

from __future__ import annotations

import shutil

import pytest

from benchmarks.sequences import APPS, open_with, window
from hisa.actions import Click, Hotkey, Write
from hisa.environments.private_desktop import DesktopEnvironment
from hisa.screen.geometry import Point

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
