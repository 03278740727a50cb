"""Holds keys and a button on a display until it is killed.

``python -m benchmarks.holding_keys :N`` prints a line once the keys are down.
"""

from __future__ import annotations

import asyncio
import sys

from hisa.actions import Hotkey, KeyDown, MouseDown, Move, Sleep
from hisa.plugins.screen.helper_process import HelperProcess
from hisa.plugins.screen.screen_environment import DRIVER
from hisa.screen.geometry import Point


async def hold(display: str) -> None:
    """Press and hold, and go on pressing."""
    driver = HelperProcess((*DRIVER, "0"), display=display)
    await driver.start()
    await driver.ask("look", 0.0)
    places = [Point(400, 300, "screen"), Point(500, 350, "screen")]
    await driver.ask("act", (MouseDown(places[0]), KeyDown("ctrl"), KeyDown("alt")))
    print("held", flush=True)
    while True:
        again = (Move(places[1]), Hotkey(("win", "shift", "f8")), Sleep(0.05), Move(places[0]))
        await driver.ask("act", again)


if __name__ == "__main__":
    asyncio.run(hold(sys.argv[1]))
