"""A screen that exists already: here of an X server that the test starts."""

from __future__ import annotations

import asyncio
import ctypes
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks.bare_display import bare_display, managed_display
from benchmarks.typed_texts import LANGUAGES, TextWindow, text_window
from hisa.actions import Click, Drag, Hotkey, Move, Press, Scroll, Sleep, Write
from hisa.errors import ActionRefused, EnvironmentFailed
from hisa.machine.patience import patience
from hisa.plugins.screen.helper_process import HelperProcess
from hisa.plugins.screen.screen_environment import DRIVER, ScreenEnvironment
from hisa.screen.geometry import Point, Size
from tests.environments.conformance import CommandConformance, Conformance

pytest.importorskip("mss", reason="hisa install screen")
pytestmark = [pytest.mark.desktop, pytest.mark.asyncio(loop_scope="module")]


@pytest.fixture
def folder(environment: ScreenEnvironment) -> Path:
    """The folder in which commands may write."""
    folder = environment.cage.folder
    assert isinstance(folder, Path)
    return folder


class TestScreen(Conformance, CommandConformance):
    documented = "your own screen"


@pytest.fixture
def window(display: str, tmp_path: Path) -> Iterator[TextWindow]:
    with text_window(display, tmp_path / "text") as window:
        yield window


def copy(display: str, text: str) -> None:
    """Copies a text, as a person does before the run."""
    line = ["xclip", "-display", display, "-selection", "clipboard", "-i"]
    subprocess.run(line, input=text.encode(), check=True, stderr=subprocess.DEVNULL)


def pasted(display: str) -> str:
    """What pasting would give now."""
    line = ["xclip", "-display", display, "-selection", "clipboard", "-o"]
    return subprocess.run(line, capture_output=True, check=True).stdout.decode()


LANGUAGES_HERE = ("Arabic", "Chinese", "English", "German", "Hindi", "Korean", "Vietnamese")


async def test_texts_of_every_language_arrive_and_the_clipboard_comes_back(
    environment: ScreenEnvironment, display: str, window: TextWindow
) -> None:
    await asyncio.to_thread(copy, display, "the person's own ✂")
    for language in LANGUAGES_HERE:
        text = f"{LANGUAGES[language]}\n\tend"
        await environment.act([Hotkey(("ctrl", "a")), Press("delete"), Write(text)])
        assert await asyncio.to_thread(window.await_text, text) == text, language
        assert await asyncio.to_thread(pasted, display) == "the person's own ✂"


def held_keys(display: str) -> list[int]:
    """The codes of the keys that are down, and of a button that is."""
    library = ctypes.CDLL("libX11.so.6")
    library.XOpenDisplay.restype = ctypes.c_void_p
    server = ctypes.c_void_p(library.XOpenDisplay(display.encode()))
    keys, mask = ctypes.create_string_buffer(32), ctypes.c_uint()
    library.XQueryKeymap(server, keys)
    library.XDefaultRootWindow.restype = ctypes.c_ulong
    root = ctypes.c_ulong(library.XDefaultRootWindow(server))
    other = [ctypes.byref(ctypes.c_ulong()) for _ in range(6)]
    library.XQueryPointer(server, root, *other, ctypes.byref(mask))
    library.XCloseDisplay(server)
    down = [code for code in range(256) if keys.raw[code // 8] >> code % 8 & 1]
    return down + [-1] * bool(mask.value & 0x1F00)


def await_released(display: str, seconds: float = 5.0) -> list[int]:
    """What is still down after some seconds."""
    end = time.monotonic() + patience(seconds)
    while held_keys(display) and time.monotonic() < end:
        time.sleep(0.02)
    return held_keys(display)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_keys_come_up_however_hisa_is_killed(
    environment: ScreenEnvironment, display: str, number: signal.Signals
) -> None:
    line = [sys.executable, "-m", "benchmarks.holding_keys", display]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # noqa: ASYNC220
    assert process.stdout is not None
    with process.stdout as output:
        assert await asyncio.to_thread(output.readline) == b"held\n"
    assert held_keys(display)
    process.send_signal(number)
    process.wait()
    assert await asyncio.to_thread(await_released, display) == []


@pytest.mark.skipif(shutil.which("xev") is None, reason="there is no xev")
async def test_clicks_drags_and_wheel_arrive_at_their_places(
    environment: ScreenEnvironment, display: str, tmp_path: Path
) -> None:
    log = tmp_path / "events"
    words = ["stdbuf", "-oL", "xev", "-geometry", "1200x650+0+0", "-event", "button"]
    with log.open("wb") as stream:
        xev = subprocess.Popen(words, stdout=stream, env={**os.environ, "DISPLAY": display})  # noqa: ASYNC220
    try:
        while not (await environment.observe(settle=1.0)).windows:
            pass
        await environment.act(
            [
                Click(Point(100, 200, "screen"), count=2),
                Click(Point(101, 201, "screen"), button="right"),
                Drag(Point(400, 300, "screen"), start=Point(300, 250, "screen")),
                Scroll(dy=-2, dx=1, at=Point(500, 400, "screen")),
            ]
        )
        expected = [
            *[("Press", 1, 100, 200), ("Release", 1, 100, 200)] * 2,
            ("Press", 3, 101, 201),
            ("Release", 3, 101, 201),
            ("Press", 1, 300, 250),
            ("Release", 1, 400, 300),
            *[("Press", 5, 500, 400), ("Release", 5, 500, 400)] * 2,
            ("Press", 7, 500, 400),
            ("Release", 7, 500, 400),
        ]
        events: list[tuple[str, int, int, int]] = []
        for _ in range(100):
            pattern = r"Button(Press|Release) event.*?root:\((\d+),(\d+)\).*?button (\d+)"
            matches = re.findall(pattern, log.read_text("utf-8"), re.DOTALL)
            events = [(kind, int(button), int(x), int(y)) for kind, x, y, button in matches]
            if len(events) >= len(expected):
                break
            await asyncio.sleep(0.05)
        assert events == expected
    finally:
        xev.terminate()
        xev.wait()


async def test_point_outside_the_screen_is_refused(environment: ScreenEnvironment) -> None:
    with pytest.raises(ActionRefused, match="outside the screen of 1280x720"):
        await environment.act([Click(Point(1280, 10, "screen"))])


@pytest.fixture
def other_display() -> Iterator[str]:
    """One that nothing else watches: a corner ends every run on a display."""
    with managed_display() as name:
        yield name


@pytest.mark.parametrize("way", ["corner", "keys"])
async def test_person_ends_the_run_at_once(other_display: str, way: str) -> None:
    display = other_display
    stopped, notes = asyncio.Event(), list[str]()
    async with ScreenEnvironment(display=display, note=notes.append, end_run=stopped.set) as screen:
        await screen.act([Move(Point(640, 360, "screen"))])
        acting = asyncio.create_task(screen.act([Sleep(30.0)]))
        await asyncio.sleep(0.2)
        corner = ["mousemove", "0", "719"]
        words = ["keydown", "Shift_L", "keydown", "Shift_R"] if way == "keys" else corner
        begun = time.monotonic()
        subprocess.run(["xdotool", *words], env={**os.environ, "DISPLAY": display}, check=True)  # noqa: ASYNC221
        await asyncio.wait_for(stopped.wait(), patience(5.0))
        assert time.monotonic() - begun < patience(0.5)
        with pytest.raises(ActionRefused, match="a person ended the run"):
            await acting
        with pytest.raises(ActionRefused, match="a person ended the run"):
            await screen.act([Move(Point(640, 360, "screen"))])
    words = ["keyup", "Shift_L", "keyup", "Shift_R", "mousemove", "640", "360"]
    subprocess.run(["xdotool", *words], env={**os.environ, "DISPLAY": display}, check=True)  # noqa: ASYNC221
    reason = "corner" if way == "corner" else "both Shift keys"
    assert [note for note in notes if note.startswith("a person ended the run") and reason in note]


async def test_black_screen_is_not_planned_on() -> None:
    with bare_display() as name, pytest.raises(EnvironmentFailed, match="all black"):
        async with ScreenEnvironment(display=name):
            pass


DOUBLED = """
import sys
import mss
from PIL import Image
from hisa.plugins.screen.driver import main

grab = mss.MSS.grab

def doubled(self, area):
    shot = grab(self, area)
    size = (shot.size.width * 2, shot.size.height * 2)
    picture = Image.frombytes("RGBA", tuple(shot.size), bytes(shot.raw))
    picture = picture.resize(size, Image.Resampling.NEAREST)
    return type(shot)(bytearray(picture.tobytes()), dict(area), size=mss.models.Size(*size))

mss.MSS.grab = doubled
sys.exit(main())
"""
"""A driver whose pictures have two pixels for each point, as on a Retina monitor."""


async def test_points_of_a_doubled_picture_are_measured(display: str) -> None:
    line = (sys.executable, "-c", DOUBLED)
    async with ScreenEnvironment(display=display, end_run=lambda: None, driver=line) as screen:
        look = await screen.observe()
        assert (look.screen, look.image) == (Size(2560, 1440), Size(1280, 720))
        await screen.act([Move(Point(900, 501, "screen"))])
        assert pointer_of(display) == (450, 250)
        assert (await screen.observe()).cursor == Point(900, 500, "screen")


def pointer_of(display: str) -> tuple[int, int]:
    """Where the pointer is, by another client."""
    line = ["xdotool", "getmouselocation", "--shell"]
    printed = subprocess.run(
        line, env={**os.environ, "DISPLAY": display}, check=True, capture_output=True, text=True
    ).stdout
    values = dict(part.split("=") for part in printed.split())
    return int(values["X"]), int(values["Y"])


async def test_second_monitor_has_pictures_and_points_of_its_own(display: str) -> None:
    for name, left in (("LEFT", 0), ("RIGHT", 640)):
        place = f"640/160x720/190+{left}+0"
        line = ["xrandr", "-display", display, "--setmonitor", name, place, "none"]
        subprocess.run(line, check=True)  # noqa: ASYNC221
    async with ScreenEnvironment(2, display=display, end_run=lambda: None) as screen:
        assert screen.name == "screen:2"
        assert (await screen.observe()).screen == Size(640, 720)
        await screen.act([Move(Point(100, 30, "screen"))])
        assert pointer_of(display) == (740, 30)
        assert (await screen.observe()).cursor == Point(100, 30, "screen")
        with pytest.raises(ActionRefused, match="outside the screen of 640x720"):
            await screen.act([Move(Point(641, 30, "screen"))])
    with pytest.raises(EnvironmentFailed, match="no monitor 7; there are 1: 640x720, 2: 640x720"):
        async with ScreenEnvironment(7, display=display, end_run=lambda: None):
            pass
    for name in ("LEFT", "RIGHT"):
        line = ["xrandr", "-display", display, "--delmonitor", name]
        subprocess.run(line, check=True)  # noqa: ASYNC221


@pytest.mark.parametrize("windows", [1, 2])
async def test_keys_never_go_to_the_terminal_of_the_run(
    display: str, tmp_path: Path, windows: int
) -> None:
    """A person who answers a question there has it in front again when the act begins."""
    line = (*DRIVER, "0", "terminal")
    with text_window(display, tmp_path / "terminal", title="Terminal") as terminal:
        driver = HelperProcess(line, display=display)
        await driver.start()
        await driver.ask("look", 0.0)
        with ExitStack() as stack:
            if windows == 2:
                window = stack.enter_context(text_window(display, tmp_path / "text"))
                await driver.ask("look", 0.0)
                words = ["xdotool", "search", "--name", "^Terminal$", "windowactivate", "--sync"]
                subprocess.run(words, env={**os.environ, "DISPLAY": display}, check=True)  # noqa: ASYNC221
                await driver.ask("act", (Write("for the window"),))
                assert await asyncio.to_thread(window.await_text, "for the window")
            else:
                with pytest.raises(ActionRefused, match="the terminal of this run is in front"):
                    await driver.ask("act", (Write("rm -rf"),))
        await driver.stop()
        assert terminal.read() == ""


def on(display: str, *words: str) -> None:
    """Runs a program of X on a display."""
    subprocess.run(words, env={**os.environ, "DISPLAY": display}, check=True)


async def test_layouts_and_caps_lock_change_no_character(
    environment: ScreenEnvironment, display: str, window: TextWindow
) -> None:
    text = "Zy/?<>@^`#{}|~ end"
    for words in (
        ("setxkbmap", "de"),
        ("setxkbmap", "us,ru"),
        ("setxkbmap", "us"),
        ("xdotool", "key", "Caps_Lock"),
    ):
        await asyncio.to_thread(on, display, *words)
        await environment.act([Hotkey(("ctrl", "a")), Press("delete"), Write(text)])
        assert await asyncio.to_thread(window.await_text, text) == text, words
    await asyncio.to_thread(on, display, "xdotool", "key", "Caps_Lock")


@pytest.mark.parametrize("kind", ["UTF8_STRING", "image/png"])
async def test_large_clipboards_of_any_kind_come_back(
    environment: ScreenEnvironment, display: str, window: TextWindow, kind: str
) -> None:
    data = random.Random(1).randbytes(700_000)
    if kind == "UTF8_STRING":
        data = data.hex().encode()
    line = ["xclip", "-display", display, "-selection", "clipboard", "-t", kind]
    subprocess.run([*line, "-i"], input=data, check=True, stderr=subprocess.DEVNULL)  # noqa: ASYNC221
    for text in ("größer", "größer und mehr"):
        await environment.act([Hotkey(("ctrl", "a")), Write(text)])
        assert await asyncio.to_thread(window.await_text, text) == text
        ran = await asyncio.to_thread(subprocess.run, [*line, "-o"], capture_output=True)
        assert ran.stdout == data


async def test_clipboard_outlives_the_run(display: str, tmp_path: Path) -> None:
    await asyncio.to_thread(copy, display, "kept")
    async with ScreenEnvironment(display=display, end_run=lambda: None) as screen:
        with text_window(display, tmp_path / "text") as window:
            await screen.act([Write("ä")])
            assert await asyncio.to_thread(window.await_text, "ä") == "ä"
    assert await asyncio.to_thread(pasted, display) == "kept"


@pytest.mark.skipif(shutil.which("xterm") is None, reason="there is no xterm")
async def test_terminal_gets_text_of_any_language(
    environment: ScreenEnvironment, display: str, tmp_path: Path
) -> None:
    file = tmp_path / "typed"
    variables = {**os.environ, "DISPLAY": display, "LC_ALL": "C.UTF-8"}
    words = ["xterm", "-u8", "-e", "sh", "-c", f"cat > {file}"]
    terminal = subprocess.Popen(words, env=variables, stderr=subprocess.DEVNULL)  # noqa: ASYNC220
    try:
        search = ["xdotool", "search", "--sync", "--onlyvisible", "--class", "xterm"]
        await asyncio.to_thread(on, display, *search, "windowactivate", "--sync")
        await environment.act([Write("Grüße, 漢字\n")])
        window = TextWindow(file)
        assert await asyncio.to_thread(window.await_text, "Grüße, 漢字\n") == "Grüße, 漢字\n"
    finally:
        terminal.terminate()
        terminal.wait()
