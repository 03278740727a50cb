"""How long after the comparison with its look an act happens: what nobody can see in between.

A small program on a private desktop notes when its button goes down. On HiSA's own guest the
machine compares and acts in one request; by the stock routes a picture is taken right before the
act. Usage: ``python -m benchmarks.held_acts [-n N]``.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time

from benchmarks.machine import machine
from hisa.actions import Click
from hisa.actions.unchanged_look import require_unchanged
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.protocols import Held
from hisa.screen.geometry import BoundingBox, Point

PLACES = [Point(x, y, "screen") for x in (100, 300, 500) for y in (100, 200, 300)]
"""Far apart, since a second click at one place waits until it is no double click."""
_WINDOW = "/tmp/window.py"
_PRESSES = "/tmp/presses"
_PROGRAM = f"""
import time
from Xlib import X, display
shown = display.Display(); root = shown.screen().root
window = root.create_window(0, 0, 600, 400, 0, X.CopyFromParent,
    override_redirect=True, event_mask=X.ButtonPressMask)
window.map(); shown.flush()
while True:
    event = shown.next_event()
    if event.type == X.ButtonPress:
        with open({_PRESSES!r}, "a") as file:
            file.write(f"{{time.time()}}\\n")
"""


async def gaps(desktop: DesktopEnvironment, count: int, *, stock: bool) -> list[float]:
    """Milliseconds from the last comparison to each press, as the window saw it.

    Of HiSA's guest the whole request is counted, since it compares inside: an upper bound.
    """
    await desktop.execute(f"rm -f {_PRESSES}")
    began: list[float] = []
    for number in range(count):
        at = PLACES[number % len(PLACES)]
        look = await desktop.observe()
        held = Held(look, (BoundingBox(at.x - 50, at.y - 50, at.x + 50, at.y + 50, "screen"),))
        if stock:
            now = await desktop.observe()
            began.append(now.at)
            require_unchanged(held, now)
            await desktop.act([Click(at=at)])
        else:
            began.append(time.time())
            await desktop.act_where_unchanged([Click(at=at)], held)
        await asyncio.sleep(0.1)
    told = (await desktop.read_file(_PRESSES)).decode().split()
    assert len(told) == count, f"{len(told)} presses of {count}"
    return [1000 * (float(pressed) - start) for pressed, start in zip(told, began, strict=True)]


async def measured(count: int) -> None:
    for stock in (False, True):
        async with DesktopEnvironment(stock=stock) as desktop:
            await desktop.write_file(_WINDOW, _PROGRAM.encode())
            await desktop.execute(f"setsid -f /usr/bin/python3 {_WINDOW} >/dev/null 2>&1")
            await asyncio.sleep(2.0)
            found = sorted(await gaps(desktop, count, stock=stock))
        way = "a picture before the act (stock routes)" if stock else "compared by HiSA's guest"
        print(
            f"{way}: median {statistics.median(found):.1f} ms, "
            f"p90 {found[int(0.9 * (count - 1))]:.1f} ms, most {found[-1]:.1f} ms, n={count}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=100, help="acts a way (default: 100)")
    asked = parser.parse_args()
    print(f"from comparison to press; {machine()}")
    asyncio.run(measured(asked.n))


if __name__ == "__main__":
    main()
