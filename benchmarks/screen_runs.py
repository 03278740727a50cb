"""Measures a person's own screen on a display of its own: texts, killed runs, and stops.

    python -m benchmarks.screen_runs texts --count 200
    python -m benchmarks.screen_runs kills --count 50
    python -m benchmarks.screen_runs stops --count 20

``texts`` types random parts of sentences of 25 languages into a window, reads them back, and
compares the clipboard with what was copied before. ``kills`` ends runs that hold keys by SIGTERM,
and looks which are still down. ``stops`` times how long a pushed corner or both Shift keys take.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks.bare_display import managed_display
from benchmarks.typed_texts import TextWindow, draw_text, text_window
from hisa.actions import Hotkey, Move, Press, Sleep, Write
from hisa.errors import ActionRefused
from hisa.plugins.screen.screen_environment import ScreenEnvironment
from hisa.screen.geometry import Point


def copy(display: str, text: str) -> None:
    """Copy a text, as a person does."""
    line = ["xclip", "-display", display, "-selection", "clipboard", "-i"]
    subprocess.run(line, input=text.encode(), check=True, stderr=subprocess.DEVNULL)


def pasted(display: str) -> str:
    """Returns what pasting would give now."""
    line = ["xclip", "-display", display, "-selection", "clipboard", "-o"]
    return subprocess.run(line, capture_output=True, check=False).stdout.decode()


async def measure_texts(display: str, count: int, chance: random.Random) -> None:
    """Type texts, and print how many were lost or changed."""
    lost, restored = [], 0
    with tempfile.TemporaryDirectory() as folder:
        async with ScreenEnvironment(display=display, end_run=lambda: None) as screen:
            with text_window(display, Path(folder, "text")) as window:
                for number in range(count):
                    own = f"own {number} ✂"
                    await asyncio.to_thread(copy, display, own)
                    language, text = draw_text(chance)
                    if not await arrives(screen, window, text):
                        lost.append(f"{language}: {text!r} became {window.read()!r}")
                    restored += await asyncio.to_thread(pasted, display) == own
            print(f"texts: {count - len(lost)} of {count} arrived, {restored} clipboards came back")
            print("\n".join(lost))


async def arrives(screen: ScreenEnvironment, window: TextWindow, text: str) -> bool:
    """Replace the window's text, and read it back."""
    await screen.act([Hotkey(("ctrl", "a")), Press("delete"), Write(text)])
    return await asyncio.to_thread(window.await_text, text) == text


@contextmanager
def probe(display: str) -> Iterator[Any]:
    """A second connection to the display."""
    from Xlib.display import Display

    server = Display(display)
    try:
        yield server
    finally:
        server.close()


def held(server: Any) -> bool:
    """Whether a key or a button is down."""
    return any(server.query_keymap()) or bool(server.screen().root.query_pointer().mask & 0x1F00)


def measure_kills(display: str, count: int, chance: random.Random) -> None:
    """Kill runs that hold keys, and print after how long all were up."""
    times = []
    with probe(display) as server:
        for _ in range(count):
            line = [sys.executable, "-m", "benchmarks.holding_keys", display]
            with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
                assert run.stdout is not None
                run.stdout.readline()
                time.sleep(chance.random() * 0.3)
                begun = time.monotonic()
                run.send_signal(signal.SIGTERM)
                while held(server) and time.monotonic() < begun + 10:
                    time.sleep(0.005)
                if not held(server):
                    times.append(time.monotonic() - begun)
    longest = f", the slowest after {max(times):.2f} s" if times else ""
    print(f"kills: all keys up in {len(times)} of {count}{longest}")


async def measure_stops(display: str, count: int, chance: random.Random) -> None:
    """Stop acts by a corner and by both Shift keys, and print the times."""
    variables = {**os.environ, "DISPLAY": display}
    times = []
    for number in range(count):
        keys = ["Shift_L", "Shift_R"]
        way = (
            ["mousemove", "1279", "719"] if number % 2 else ["keydown", keys[0], "keydown", keys[1]]
        )
        stopped = asyncio.Event()
        async with ScreenEnvironment(display=display, end_run=stopped.set) as screen:
            await screen.act([Move(Point(640, 360, "screen"))])
            acting = asyncio.create_task(screen.act([Sleep(30.0)] if chance.random() < 0.5 else []))
            await asyncio.sleep(0.1)
            begun = time.monotonic()
            subprocess.run(["xdotool", *way], env=variables, check=True)  # noqa: ASYNC221
            await stopped.wait()
            times.append(time.monotonic() - begun)
            with suppress(ActionRefused):
                await acting
        subprocess.run(  # noqa: ASYNC221
            ["xdotool", "keyup", keys[0], "keyup", keys[1], "mousemove", "640", "360"],
            env=variables,
            check=True,
        )
    slow = sum(seconds > 0.5 for seconds in times)
    print(f"stops: {count}, the slowest after {max(times):.2f} s, {slow} over half a second")


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("measure", choices=["texts", "kills", "stops"])
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    os.environ.setdefault("XAUTHORITY", os.devnull)
    chance = random.Random(arguments.seed)
    with managed_display() as display:
        if arguments.measure == "kills":
            measure_kills(display, arguments.count, chance)
        elif arguments.measure == "texts":
            asyncio.run(measure_texts(display, arguments.count, chance))
        else:
            asyncio.run(measure_stops(display, arguments.count, chance))


if __name__ == "__main__":
    main()
