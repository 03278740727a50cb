"""A virtual machine: a clone of the ready desktop against a cold boot, forks, memory, one look.

Cold boot and clone are measured in one run, to the same point: the first look with elements that
the guest answers. Usage: ``python -m benchmarks.vm [--json] [-n N] [--profile NAME]``, after
``hisa vm build NAME``. Seconds are the wall's, so other work on the machine is in them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from hisa.environments.screen import screen_of
from hisa.errors import HisaError
from hisa.plugins.machines.qemu.build import Image
from hisa.plugins.machines.qemu.machine import Machine
from hisa.plugins.machines.qemu.runtime import template
from hisa.plugins.machines.qemu.template import Template, create_overlay
from hisa.plugins.machines.vm_clone import VmEnvironment

BOOT_SECONDS = 300.0
IDLE_SECONDS = 5.0


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await work()
    return time.perf_counter() - started


def cold_boot(source: Template) -> float:
    """Seconds from nothing to the first look, as it would be without a frozen desktop."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        started = time.perf_counter()
        create_overlay(Image(Path(source.shape.image)).disk, folder / "disk.qcow2")
        for file in ("token", "guest.tar"):
            shutil.copyfile(source.folder / file, folder / file)
        (folder / "ram.img").touch()
        booted = Machine(source.shape, folder)
        try:
            booted.launch(folder / "ram.img", shared=False)
            booted.await_guest(BOOT_SECONDS)
            look = {"elements": True, "settle": 0.0, "format": "png"}
            booted.request("POST", "/hisa/observe", look, seconds=BOOT_SECONDS)
            return time.perf_counter() - started
        finally:
            booted.kill()


async def resets(profile: str, times: int) -> dict[str, float]:
    """Seconds from the end of one task to the first look of the next."""
    taken = []
    async with VmEnvironment(profile) as vm:
        for _ in range(times):
            await vm.execute("true")  # an untouched clone is not thrown away
            taken.append(await timed(lambda: fresh_look(vm)))
    return {"median": statistics.median(taken), "max": max(taken)}


async def fresh_look(vm: VmEnvironment) -> None:
    await vm.reset()
    await vm.observe(elements=True)


async def forks(profile: str, count: int) -> float:
    """Seconds until so many clones, started at once, have all answered a look."""
    async with AsyncExitStack() as stack:

        async def one() -> None:
            vm = await stack.enter_async_context(VmEnvironment(profile))
            await vm.observe(elements=True)

        return await timed(lambda: asyncio.gather(*(one() for _ in range(count))))


async def at_rest(profile: str, times: int) -> dict[str, float]:
    """Memory of an idle clone in MB, and seconds of one look and of one command."""
    async with VmEnvironment(profile) as vm:
        await asyncio.sleep(IDLE_SECONDS)
        resident, own = memory(vm.runtime.machine.pid)
        await vm.observe()
        look = [await timed(vm.observe) for _ in range(times)]
        command = [await timed(lambda: vm.execute("true")) for _ in range(times)]
    return {
        "resident_mb": resident,
        "own_mb": own,
        "look_seconds": statistics.median(look),
        "command_seconds": statistics.median(command),
    }


def memory(process: int) -> tuple[float, float]:
    """What a process holds in memory, and what of it no other process could share."""
    rows = dict(
        line.split(":", 1)
        for line in Path(f"/proc/{process}/smaps_rollup").read_text("ascii").splitlines()[1:]
    )
    resident, own = (int(rows[name].split()[0]) / 1024 for name in ("Rss", "Anonymous"))
    return resident, own


async def measure(profile: str, times: int) -> dict[str, Any]:
    source = await asyncio.to_thread(template, profile, screen_of(profile))
    cold = await asyncio.to_thread(cold_boot, source)
    reset = await resets(profile, times)
    return {
        "profile": profile,
        "machine": machine(),
        "qemu": source.shape.qemu,
        "accel": source.shape.accel,
        "load": round(os.getloadavg()[0], 2),
        "cold_boot_seconds": cold,
        "reset_seconds": reset,
        "ratio": cold / reset["median"],
        "forks_seconds": {count: await forks(profile, count) for count in (2, 4)},
        **await at_rest(profile, times),
    }


def show(found: dict[str, Any]) -> None:
    reset, forked = found["reset_seconds"], found["forks_seconds"]
    print(f"vm:{found['profile']}, {found['accel']} ({found['machine']}; load {found['load']})")
    print(f"  cold boot to the first look    {found['cold_boot_seconds']:6.1f} s")
    print(
        f"  reset to the first look        {reset['median']:6.2f} s, at most {reset['max']:.2f} s"
    )
    print(f"  cold boot against reset        {found['ratio']:6.0f}x")
    for count, seconds in forked.items():
        print(f"  {count} forks side by side           {seconds:6.1f} s")
    print(f"  idle clone, resident           {found['resident_mb']:6.0f} MB")
    print(f"  of it its own                  {found['own_mb']:6.0f} MB")
    print(f"  one screenshot                 {1000 * found['look_seconds']:6.0f} ms")
    print(f"  one command                    {1000 * found['command_seconds']:6.0f} ms")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-n", type=int, default=10, help="resets, looks and commands")
    parser.add_argument("--profile", default="minimal")
    options = parser.parse_args()
    try:
        found = asyncio.run(measure(options.profile, options.n))
    except HisaError as error:
        print(f"vm: {error}", file=sys.stderr)
        return 3
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        show(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
