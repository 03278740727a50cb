"""What a private desktop of each profile costs beside the default one: seconds to start, memory.

Started in turn, so that other work on the machine meets all of them alike. Ready is when the guest
inside answers. Memory is PSS of all its processes with nothing open: what several share, desktops
too, is divided among them. Usage: ``python -m benchmarks.desktops [--json] [-n N] [PROFILE…]``,
after ``hisa machine build PROFILE``; profiles that are not built are left out. Ends with 1 where a
median is not below the goal. Seconds are the wall's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from hisa.errors import HisaError
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.machines.profiles.recipe import PROFILES, recipe
from hisa.plugins.machines.tree import find_tree

GOAL_SECONDS = 1.0
SHARED = 3
"""Desktops of one profile that are up at once when their memory is read."""


async def started(profile: str) -> float:
    """Seconds until a desktop answers."""
    begun = time.perf_counter()
    async with DesktopEnvironment(profile=profile):
        return time.perf_counter() - begun


async def measure_sizes(profile: str) -> dict[str, float]:
    """Megabytes of one desktop, and of each of several at once; and its processes."""
    desktops = [DesktopEnvironment(profile=profile) for _ in range(SHARED)]
    try:
        sizes: list[list[tuple[float, int]]] = []
        for desktop in desktops:
            await desktop.__aenter__()
            await desktop.observe(elements=True, settle=5.0)
            sizes.append(
                [
                    await asyncio.to_thread(memory, running.handle["pid"])
                    for running in desktops[: len(sizes) + 1]
                ]
            )
    finally:
        for desktop in desktops:
            await desktop.__aexit__()
    alone, together = sizes[0][0], sizes[-1]
    mean_size = statistics.mean(size for size, _ in together)
    return {"memory_mb": alone[0], "memory_mb_of_several": mean_size, "processes": alone[1]}


def memory(ancestor: int) -> tuple[float, int]:
    """PSS in megabytes of a process and all that came from it, and their number."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text("utf-8").rpartition(")")[2].split()[1])
        except OSError:
            continue
        parents.setdefault(parent, []).append(int(folder.name))
    pids, queue = [], [ancestor]
    while queue:
        pids.append(queue.pop())
        queue += parents.get(pids[-1], [])
    return sum(map(pss, pids)), len(pids)


def pss(process: int) -> float:
    """A process's share of the memory that it maps, in megabytes."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text("ascii")
    except OSError:
        return 0.0
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) / 1e3


async def measure(profiles: list[str], times: int) -> dict[str, Any]:
    """All of it; the first start of each, which reads its files from the disk, is apart."""
    load = round(os.getloadavg()[0], 1)
    first = {profile: await started(profile) for profile in profiles}
    taken: dict[str, list[float]] = {profile: [] for profile in profiles}
    for _ in range(times):
        for profile in profiles:
            taken[profile].append(await started(profile))
    rows = {
        profile or "default": {
            "first": first[profile],
            "median": statistics.median(taken[profile]),
            "worst": max(taken[profile]),
            **await measure_sizes(profile),
        }
        for profile in profiles
    }
    return {"host": machine(), "load": load, "times": times, "desktops": rows}


def show(results: dict[str, Any]) -> None:
    """Print the table."""
    print(f"{results['host']}; load {results['load']}; {results['times']} starts of each")
    print(
        f"| desktop | first start | ready, median | worst | MB | MB, each of {SHARED} | processes |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, row in results["desktops"].items():
        seconds = " | ".join(f"{row[key]:.2f} s" for key in ("first", "median", "worst"))
        sizes = f"{row['memory_mb']:.0f} | {row['memory_mb_of_several']:.0f}"
        print(f"| {name} | {seconds} | {sizes} | {row['processes']} |")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("profiles", nargs="*", help="all that are built, where none is named")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-n", type=int, default=10, help="starts of each")
    options = parser.parse_args()
    try:
        names = [name for name in options.profiles or PROFILES if find_tree(recipe(name))]
        results = asyncio.run(measure(["", *names], options.n))
    except HisaError as error:
        print(f"desktops: {error}", file=sys.stderr)
        return 3
    print(json.dumps(results, indent=2)) if options.json else show(results)
    return int(any(row["median"] >= GOAL_SECONDS for row in results["desktops"].values()))


if __name__ == "__main__":
    sys.exit(main())
