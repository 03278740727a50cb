"""What reading the elements costs, and whether it is whole.

A spreadsheet is looked at with its elements, first just after it was opened, on several fresh
desktops, and on the last of them again and again while other processes want the processor. Printed
are the times, until the first complete look and of the later ones, and, against the largest number
of elements, how many looks were empty or partial and how many of those said that they were complete
(the goal: none).

Usage: ``python -m benchmarks.look_times [-n N] [--starts N] [--load N] [--json]``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hisa.actions import Press, Write
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.screen.geometry import Size
from hisa.screen.observation import Observation

SIZE = Size(1280, 720)
CALC = "soffice --calc --norestore"
GOAL_SECONDS = 0.5


async def _open_calc(environment: DesktopEnvironment) -> None:
    """Starts LibreOffice Calc and waits for its window."""
    await environment.execute(f"{CALC} >/dev/null 2>&1 &")
    for _ in range(60):
        observation = await environment.observe(settle=1.0)
        if observation.active and "Calc" in observation.active.title:
            break
    else:
        raise RuntimeError("LibreOffice Calc has no window")
    await environment.observe(settle=20.0)


@contextmanager
def load(processes: int) -> Iterator[None]:
    """So many processes that want a processor each."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


async def _first(environment: DesktopEnvironment) -> tuple[float, list[Observation]]:
    """Opens the spreadsheet; returns the seconds until it was first seen whole, and the looks."""
    await _open_calc(environment)
    started = time.perf_counter()
    looks = [await environment.observe(elements=True)]
    while not looks[-1].complete:
        looks.append(await environment.observe(elements=True))
    return time.perf_counter() - started, looks


async def _looks(times: int, processes: int, starts: int) -> dict[str, Any]:
    firsts: list[float] = []
    all_looks: list[Observation] = []
    for _ in range(starts - 1):
        async with DesktopEnvironment(SIZE) as environment:
            first, observations = await _first(environment)
            firsts.append(first)
            all_looks += observations
    async with DesktopEnvironment(SIZE) as environment:
        first, observations = await _first(environment)
        firsts.append(first)
        all_looks += observations
        taken: list[float] = []
        with load(processes):
            for number in range(times):
                # Something changes at each look, as it does in a run.
                await environment.act([Write(str(number)), Press("enter")])
                started = time.perf_counter()
                all_looks.append(await environment.observe(elements=True))
                taken.append(time.perf_counter() - started)
    first, median = statistics.median(firsts), statistics.median(taken)
    counts = [len(observation.elements or ()) for observation in all_looks]
    known = max(counts)
    false = sum(
        observation.complete and n < known for observation, n in zip(all_looks, counts, strict=True)
    )
    return {
        "looks": times,
        "elements": known,
        "starts": starts,
        "first_median_seconds": round(first, 3),
        "first_longest_seconds": round(max(firsts), 3),
        "median_seconds": round(median, 3),
        "longest_seconds": round(max(taken), 3),
        "goal_seconds": GOAL_SECONDS,
        "empty": counts.count(0),
        "partial": sum(not observation.complete for observation in all_looks),
        "partial_said_to_be_complete": false,
        "met": not false and (processes > 0 or max(first, median) < GOAL_SECONDS),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=20, help="later looks")
    parser.add_argument("--starts", type=int, default=3, help="desktops with a first look")
    parser.add_argument("--load", type=int, default=0, help="processes that want a processor")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    report = asyncio.run(_looks(arguments.n, arguments.load, arguments.starts))
    report |= {"load_after": round(os.getloadavg()[0], 1)}
    if arguments.json:
        print(json.dumps(report, indent=2))
    else:
        print(", ".join(f"{key} {value}" for key, value in report.items()))
        print(f"goal: {'met' if report['met'] else 'NOT met'}")
    return 0 if report["met"] else 1


if __name__ == "__main__":
    sys.exit(main())
