"""Opens every application of a profile on a machine of it and prints what was seen.

Each has a private desktop of its own, or a clone of the virtual machine: its window is waited for,
its elements are counted, Unicode is typed and read again, and what was made is saved and read from
the file. Usage: ``python -m benchmarks.machine_apps [desktop:|vm:]PROFILE [--only TITLE…] [--json]
[--pictures FOLDER]``, after ``hisa machine build PROFILE`` or ``hisa vm build PROFILE``. Ends with
1 where something failed. Seconds are the wall's; an emulated machine is given more of them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.machine_apps.hand import Failed, Hand
from benchmarks.machine_apps.trials import TRIALS, Step, Trial
from benchmarks.vm import memory
from hisa.environments.screen import screen_of
from hisa.errors import HisaError, UsageError
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.desktop.runtime.state import Handle, usage
from hisa.plugins.machines.profiles.applications import Application, applications
from hisa.plugins.machines.profiles.recipe import recipe
from hisa.plugins.machines.qemu.runtime import template
from hisa.plugins.machines.vm_clone import VmEnvironment

EMULATED = 6.0
"""Times the patience that a machine without the help of the processor gets; chosen by hand."""


@dataclass(frozen=True)
class Kind:
    """A kind of machine."""

    name: str
    """``desktop`` or ``vm``."""
    profile: str
    slow: float
    """By how much more patience it takes."""

    @classmethod
    def of(cls, name: str) -> Kind:
        """The kind and profile that a name such as ``vm:osworld`` means.

        Raises:
            UsageError: no such kind or profile; the known ones are named.
            EnvironmentFailed: the virtual machine is not built, or does not come up.
        """
        kind, _, profile = name.rpartition(":")
        if kind not in ("", "desktop", "vm"):
            raise UsageError(f"{name!r}: want desktop:PROFILE or vm:PROFILE", fix="hisa machine ls")
        recipe(profile)
        emulated = kind == "vm" and template(profile, screen_of(profile)).shape.accel == "tcg"
        return cls(kind or "desktop", profile, EMULATED if emulated else 1.0)

    def open(self) -> VmEnvironment | DesktopEnvironment:
        """A fresh one."""
        if self.name == "vm":
            return VmEnvironment(self.profile)
        return DesktopEnvironment(profile=self.profile)


def held(machine: VmEnvironment | DesktopEnvironment) -> float:
    """Megabytes that it takes of this machine's memory."""
    if isinstance(machine, VmEnvironment):
        return memory(machine.runtime.machine.pid)[0]
    return usage(Handle.from_json(machine.handle)).memory / 1e6


async def tried(application: Application, kind: Kind, pictures: Path | None) -> dict[str, Any]:
    """What was seen of one application."""
    trial = TRIALS[application.title]
    row: dict[str, Any] = {"application": application.title, "failed": False}
    async with kind.open() as desktop:
        hand = Hand(desktop, kind.slow)
        before = len((await hand.look()).elements or ())
        try:
            if trial.prepare:
                await trial.prepare(hand)
            line = f"{application.command} {trial.argument}"
            row["window"], seconds = await hand.open(line, trial.window)
            row["seconds"] = round(seconds, 1)
            row["elements"] = len((await hand.look()).elements or ()) - before
        except (Failed, HisaError) as error:
            row |= {"window": f"FAILED: {error}", "failed": True}
        else:
            await attempt(row, trial, hand)
        if pictures:
            picture = (await desktop.observe()).screenshot.png
            await asyncio.to_thread((pictures / f"{application.title}.png").write_bytes, picture)
        row["memory_mb"] = round(held(desktop))
    if row.get("elements", 0) <= 0:
        row["failed"] = True
    print(f"{'FAILED' if row['failed'] else 'ok':6} {line_of(row)}", file=sys.stderr, flush=True)
    return row


def line_of(row: dict[str, Any]) -> str:
    """What was seen of one application, as a line of the table."""
    names = ("application", "window", "seconds", "elements", "typed", "saved", "memory_mb")
    cells = " | ".join(str(row.get(name, "")).replace("\n", " ") for name in names)
    return f"| {cells} |"


async def attempt(row: dict[str, Any], trial: Trial, hand: Hand) -> None:
    """Type and save, and put down what came of it."""
    steps: tuple[tuple[str, Step | str], ...] = (("typed", trial.types), ("saved", trial.saves))
    for name, step in steps:
        if isinstance(step, str):
            row[name] = step
            continue
        try:
            await step(hand)
            row[name] = "yes"
        except (Failed, HisaError) as error:
            row |= {name: f"FAILED: {error}", "failed": True}


async def starts(kind: Kind, times: int) -> dict[str, float]:
    """Seconds until a machine answers, and what it holds with nothing open."""
    taken, memories = [], []
    for _ in range(times):
        begun = time.perf_counter()
        async with kind.open() as desktop:
            taken.append(time.perf_counter() - begun)
            await desktop.observe(elements=True, settle=3.0)
            memories.append(held(desktop))
    return {
        "seconds": round(statistics.median(taken), 2),
        "worst_seconds": round(max(taken), 2),
        "memory_mb": round(statistics.median(memories)),
    }


async def measure(kind: Kind, options: argparse.Namespace) -> dict[str, Any]:
    """All of it.

    Raises:
        UsageError: an application that the profile does not have.
    """
    known = {app.title: app for app in applications(recipe(kind.profile))}
    for title in options.only:
        if title not in known:
            raise UsageError(f"no {title!r}: there are {', '.join(known)}", fix="hisa machine ls")
    wanted = [known[title] for title in options.only or known]
    return {
        "machine": f"{kind.name}:{kind.profile}",
        "emulated": kind.slow > 1.0,
        "host": machine(),
        "starts": options.starts,
        "start": await starts(kind, options.starts),
        "applications": [await tried(each, kind, options.pictures) for each in wanted],
    }


def show(found: dict[str, Any]) -> None:
    """Print the table."""
    start, emulated = found["start"], "; emulated" if found["emulated"] else ""
    print(f"{found['machine']} ({found['host']}{emulated})")
    print(
        f"  ready in {start['seconds']} s, at worst {start['worst_seconds']} s, "
        f"{start['memory_mb']} MB: {found['starts']} starts"
    )
    print("| application | window | after s | elements | Unicode typed | saved | MB |")
    print("|---|---|---|---|---|---|---|")
    for row in found["applications"]:
        print(line_of(row))
    failed = [row["application"] for row in found["applications"] if row["failed"]]
    print(f"failed: {', '.join(failed) or 'none'}, of {len(found['applications'])}")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("machine", help="desktop:PROFILE, vm:PROFILE, or PROFILE for a desktop")
    parser.add_argument("--only", nargs="+", default=[], help="titles of applications, in order")
    parser.add_argument("--starts", type=int, default=5, help="starts that are timed first")
    parser.add_argument("--pictures", type=Path, help="folder for the last screen of each")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
    try:
        kind = Kind.of(options.machine)
        found = asyncio.run(measure(kind, options))
    except HisaError as error:
        print(f"machine_apps: {error}", file=sys.stderr)
        return 3
    if options.json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        show(found)
    return 1 if any(row["failed"] for row in found["applications"]) else 0


if __name__ == "__main__":
    sys.exit(main())
