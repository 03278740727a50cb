"""Text and shortcuts arrive whatever the layout, read back from the programs that got them."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.bare_display import bare_display
from hisa.actions import Hotkey, KeyDown, MouseDown, MouseUp, Press, Write
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.screen.observation import Observation
from tests.environments.conformance import observe_until
from tests.plugins.desktop.action_lists import CHROMIUM, open_with
from tests.plugins.desktop.guest_display import GuestDisplay

pytestmark = [pytest.mark.desktop, pytest.mark.asyncio(loop_scope="module")]

FIRST_LETTERS = "āαбաאبअঅਅઅஅఅಅഅකกກཀა가አᎠあア一😀"
EVERY_SCRIPT = "".join(chr(ord(first) + number) for first in FIRST_LETTERS for number in range(2))
PRESSED = re.compile(r"KeyPress event.*?state (\w+), keycode \d+ \(keysym (\w+)", re.DOTALL)
LINE = "a:b/c#d @[]{}|~ yz ^` Привет, Мир! é"
PAGE = "<title>start</title><textarea autofocus style='width:900px;height:300px'></textarea>"
needs_programs = pytest.mark.skipif(
    not all(map(shutil.which, ("chromium", "mousepad", "xterm"))),
    reason="needs chromium, mousepad and xterm",
)
needs_xev = pytest.mark.skipif(
    not all(map(shutil.which, ("xev", "setxkbmap"))), reason="needs xev and setxkbmap"
)


async def open_page(desktop: DesktopEnvironment) -> None:
    await desktop.write_file("/home/user/page.html", PAGE.encode())
    line = f"{CHROMIUM} --user-data-dir=/home/user/c file:///home/user/page.html"
    await open_with(desktop, line, "start")


def read_typed_text(observation: Observation) -> str:
    fields = [e for e in observation.elements or () if {"focused", "editable"} <= e.states]
    return fields[0].text if fields else ""


async def write_in_page(desktop: DesktopEnvironment, text: str) -> str:
    """Write it over what the page's field holds; returns what that holds then."""
    await desktop.act([Hotkey(("ctrl", "a")), Press("delete"), Write(text)])
    return read_typed_text(
        await observe_until(desktop, lambda observation: read_typed_text(observation) == text)
    )


@needs_programs
async def test_characters_of_every_script_arrive_in_a_page_an_editor_and_a_terminal(
    desktop: DesktopEnvironment,
) -> None:
    assert len(set(EVERY_SCRIPT)) >= 50, "more than there are free keys"
    await open_page(desktop)
    for text in ("Sørgård Åsa", EVERY_SCRIPT):
        assert await write_in_page(desktop, text) == text
    await desktop.write_file("/home/user/note.txt", b"")
    await open_with(desktop, "mousepad /home/user/note.txt", "note.txt")
    await desktop.act([Write(EVERY_SCRIPT), Hotkey(("ctrl", "s"))])
    await desktop.observe(settle=5.0)
    assert (await desktop.read_file("/home/user/note.txt")).decode().strip() == EVERY_SCRIPT
    await open_with(desktop, "xterm -T typed -e sh -c 'cat > ~/typed.txt'", "typed")
    await desktop.act([Write(f"{EVERY_SCRIPT}\n"), Hotkey(("ctrl", "d"))])
    await desktop.observe(settle=5.0)
    assert (await desktop.read_file("/home/user/typed.txt")).decode() == f"{EVERY_SCRIPT}\n"


@needs_programs
async def test_text_and_shortcuts_reach_a_page_under_any_layout(
    desktop: DesktopEnvironment,
) -> None:
    await open_page(desktop)
    for layout in ("de", "ru", "us -variant intl", "us"):
        await desktop.execute(f"setxkbmap {layout}")
        assert await write_in_page(desktop, LINE) == LINE


def x11() -> ctypes.CDLL:
    return ctypes.CDLL("libX11.so.6")


def connect(display: str) -> ctypes.c_void_p:
    library = x11()
    library.XOpenDisplay.restype = ctypes.c_void_p
    return ctypes.c_void_p(library.XOpenDisplay(display.encode()))


@pytest.fixture
def display() -> Iterator[str]:
    with bare_display() as name:
        connection = connect(name)  # a server whose last client goes begins anew
        yield name
        x11().XCloseDisplay(connection)


def set_layout(display: str, layout: str) -> None:
    around = {**os.environ, "DISPLAY": display}
    subprocess.run(["setxkbmap", layout], env=around, check=True)


def lock_group(display: str, group: int) -> None:
    """What a person does who switches the layout."""
    connection = connect(display)
    x11().XkbLockGroup(connection, 0x100, group)
    x11().XCloseDisplay(connection)


@needs_xev
async def test_keys_follow_the_group_in_force_on_a_display_of_ones_own(
    display: str, tmp_path: Path
) -> None:
    around, log = {**os.environ, "DISPLAY": display}, tmp_path / "keys"
    async with GuestDisplay(display) as screen:
        with log.open("wb") as stream:
            words = ["xev", "-geometry", "1280x720+0+0", "-event", "keyboard"]
            xev = subprocess.Popen(words, stdout=stream, env=around)  # noqa: ASYNC220 - at once
        try:
            await screen.observe(settle=3.0)
            for layout, group in (("us,ru", 1), ("us,ru", 0), ("de", 0), ("us,ru,gr,de", 3)):
                set_layout(display, layout)
                lock_group(display, group)
                start = log.stat().st_size
                await screen.act([Write("a:b/c#d"), Hotkey(("ctrl", "a"))])
                await screen.observe(settle=1.0)
                keys = PRESSED.findall(log.read_text("utf-8")[start:])
                pairs = [(int(state, 16), int(sym, 16)) for state, sym in keys]
                letters = [(state, chr(sym)) for state, sym in pairs if sym < 0x100]
                assert "".join(letter for _, letter in letters) == "a:b/c#da", (layout, group)
                assert letters[-1][0] & 0x4
                lock_group(display, group)
        finally:
            xev.terminate()
            xev.wait()


def keys_down(display: str) -> bool:
    connection, keys = connect(display), (ctypes.c_char * 32)()
    x11().XQueryKeymap(connection, keys)
    x11().XCloseDisplay(connection)
    return any(keys.raw)


async def test_a_key_that_a_run_left_down_is_released_at_its_end(display: str) -> None:
    async with GuestDisplay(display) as screen:
        await screen.act([KeyDown("shift"), MouseDown()])
        assert set((await screen.observe()).held) == {"shift", "left mouse button"}
        await screen.act([MouseUp()])
        assert (await screen.observe()).held == ("shift",)
        assert keys_down(display)
        await screen.conclude("max_steps", "")
        assert (await screen.observe()).held == ()
        assert not keys_down(display)


async def test_a_key_that_a_stopped_run_left_down_is_released(display: str) -> None:
    """A run that was stopped, or failed, is not concluded."""
    async with GuestDisplay(display) as screen:
        await screen.act([KeyDown("ctrl"), MouseDown()])
        assert keys_down(display)
    assert not keys_down(display)


async def test_borrowed_keycodes_are_returned(display: str) -> None:
    async with GuestDisplay(display) as screen:
        await screen.act([Write("漢")])
        assert is_keycode_borrowed(display)
    assert not is_keycode_borrowed(display)


def is_keycode_borrowed(display: str) -> bool:
    listed = subprocess.run(
        ["xmodmap", "-display", display, "-pke"], capture_output=True, text=True
    )
    return "U6F22" in listed.stdout
