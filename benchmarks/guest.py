"""HiSA's guest against the stock way of doing the same, in one desktop, in one run.

An act: one click through ``/hisa/act`` against the same click as a PyAutoGUI program through
``/execute``. A look: one screenshot through ``/hisa/observe`` against a PyAutoGUI screenshot
through ``/execute``. Usage: ``python benchmarks/guest.py [--json] [-n N] [--size WxH]``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass

from hisa.actions import Click
from hisa.environments.transport import GuestClient, HisaTransport
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.desktop.runtime import DesktopRuntime, Handle
from hisa.plugins.machines.guests.osworld_client import OSWorldTransport
from hisa.protocols import FILE_LIMIT
from hisa.screen.geometry import Point, Size

CLICK = Click(Point(5, 5, "screen"))
SCREENSHOT = "import pyautogui; pyautogui.screenshot('/tmp/shot.png')"
ACT_GOAL, LOOK_GOAL, START_GOAL_SECONDS = 20.0, 5.0, 2.0


@dataclass(frozen=True)
class Row:
    """One comparison; times are medians in milliseconds."""

    what: str
    stock_ms: float
    hisa_ms: float
    ratio: float
    goal: float
    met: bool


async def median_ms(work: Callable[[], Awaitable[object]], times: int) -> float:
    """The median time of one call, after one that does not count."""
    await work()
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        await work()
        taken.append(1000 * (time.perf_counter() - started))
    return statistics.median(taken)


def compare(name: str, stock: float, own: float, goal: float) -> Row:
    ratio = stock / own
    return Row(name, round(stock, 2), round(own, 2), round(ratio, 1), goal, ratio >= goal)


async def measure(environment: DesktopEnvironment, times: int) -> list[Row]:
    handle = Handle.from_json(environment.handle)
    guest = GuestClient("guest", socket=handle.socket, token=handle.token)
    own, stock = HisaTransport(guest), OSWorldTransport(guest)

    async def png() -> None:
        body = {"format": "png"}
        await guest.request("POST", "/hisa/observe", json=body)

    async def far_click() -> None:
        # Clicks on one spot wait until they are no double click, so the place changes.
        spot = Point(5 + time.perf_counter_ns() % 600, 5 + time.perf_counter_ns() % 300, "screen")
        await own.act([Click(spot)])

    async def pyautogui_screenshot() -> None:
        await stock.execute(["python", "-c", SCREENSHOT], timeout=60, limit=1000)
        await stock.read_file("/tmp/shot.png", limit=FILE_LIMIT)

    async def look() -> None:
        await own.look(elements=False, settle=0)

    try:
        act = await median_ms(far_click, times)
        raw = await median_ms(look, times)
        encoded = await median_ms(png, times)
        stock_act = await median_ms(lambda: stock.act([CLICK]), max(5, times // 4))
        stock_look = await median_ms(pyautogui_screenshot, max(5, times // 4))
    finally:
        await guest.close()
    return [
        compare("click", stock_act, act, ACT_GOAL),
        compare("screenshot, raw", stock_look, raw, LOOK_GOAL),
        compare("screenshot, PNG", stock_look, encoded, LOOK_GOAL),
    ]


def start_seconds(size: Size, times: int) -> float:
    taken = []
    for _ in range(times):
        runtime = DesktopRuntime(size)
        started = time.perf_counter()
        runtime.start()
        taken.append(time.perf_counter() - started)
        runtime.stop()
    return statistics.median(taken)


async def run(size: Size, times: int) -> list[Row]:
    async with DesktopEnvironment(size) as environment:
        await environment.execute("mousepad >/dev/null 2>&1 &")
        await environment.observe(settle=5.0)
        return await measure(environment, times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-n", type=int, default=40, help="calls each")
    parser.add_argument("--size", default="1280x720")
    arguments = parser.parse_args()
    size = Size(*map(int, arguments.size.split("x")))
    rows = asyncio.run(run(size, arguments.n))
    start = start_seconds(size, max(3, arguments.n // 8))
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    date = time.strftime("%Y-%m-%d")
    met = all(row.met for row in rows) and start < START_GOAL_SECONDS
    if arguments.json:
        report = {
            "date": date,
            "machine": machine,
            "screen": arguments.size,
            "rows": [asdict(row) for row in rows],
            "start_seconds": round(start, 3),
            "start_goal_seconds": START_GOAL_SECONDS,
            "met": met,
        }
        print(json.dumps(report, indent=2))
        return 0 if met else 1
    print(f"guest, {arguments.size}, median of {arguments.n} ({date}; {machine})")
    print(f"{'':<18}{'stock ms':>10}{'hisa ms':>10}{'ratio':>8}{'goal':>7}")
    for row in rows:
        verdict = "met" if row.met else "NOT met"
        numbers = f"{row.stock_ms:>10.1f}{row.hisa_ms:>10.2f}{row.ratio:>7.0f}x{row.goal:>6.0f}x"
        print(f"{row.what:<18}{numbers}  {verdict}")
    verdict = "met" if start < START_GOAL_SECONDS else "NOT met"
    print(f"desktop start: {start:.2f} s (goal under {START_GOAL_SECONDS:g} s)  {verdict}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
