"""What a look with elements at a page of 10,000 rows costs against one of 30, which all show.

Printed are the seconds of the first complete look, which waits until the browser tells the page,
the median of the later ones, with the page scrolled on before each, and the ratio of the medians.
Usage: ``python -m benchmarks.long_lists [-n N] [--rows N] [--json]``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
from typing import Any

from hisa.actions import Press
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.screen.observation import Observation

GOAL_RATIO, GOAL_SECONDS = 3.0, 2.0
FEW = 30


def page(rows: int) -> bytes:
    """A table with a button in each row."""
    body = "".join(f"<tr><td>Order {n}<td><button>Ship {n}</button>" for n in range(1, rows + 1))
    return f"<!doctype html><title>Orders</title><table>{body}</table>".encode()


def _shows_rows(seen: Observation) -> bool:
    return seen.complete and any(e.name.startswith("Ship ") for e in seen.elements or ())


async def looks(rows: int, times: int) -> tuple[float, float]:
    """Returns the seconds of the first complete look, and the median of those after it."""
    async with DesktopEnvironment() as desktop:
        await desktop.write_file("/tmp/orders.html", page(rows))
        await desktop.execute("chromium /tmp/orders.html >/dev/null 2>&1 &")
        seen = await desktop.observe()
        while not any("Orders" in window.title for window in seen.windows):
            seen = await desktop.observe(settle=1.0)
        taken: list[float] = []
        while len(taken) <= times:
            await desktop.act([Press("pagedown")])
            await desktop.observe(settle=1.0)
            started = time.perf_counter()
            seen = await desktop.observe(elements=True)
            if _shows_rows(seen):
                taken.append(time.perf_counter() - started)
        return taken[0], statistics.median(taken[1:])


async def report(rows: int, times: int) -> dict[str, Any]:
    few_first, few = await looks(FEW, times)
    first, many = await looks(rows, times)
    ratio = many / few
    return {
        "rows": rows,
        "first_seconds": round(first, 3),
        "median_seconds": round(many, 3),
        f"first_seconds_of_{FEW}": round(few_first, 3),
        f"median_seconds_of_{FEW}": round(few, 3),
        "ratio": round(ratio, 2),
        "met": ratio <= GOAL_RATIO and many < GOAL_SECONDS,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=10, help="looks at each page")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    told = asyncio.run(report(arguments.rows, arguments.n))
    told["load"] = round(os.getloadavg()[0], 1)
    if arguments.json:
        print(json.dumps(told, indent=2))
    else:
        print(", ".join(f"{key} {value}" for key, value in told.items()))
        print(f"goal: {'met' if told['met'] else 'NOT met'}")
    return 0 if told["met"] else 1


if __name__ == "__main__":
    sys.exit(main())
