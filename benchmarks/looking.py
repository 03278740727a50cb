"""What reading the elements costs, whether it is whole, and whether LibreOffice lives through it.

``looks``: a spreadsheet is looked at with its elements, first just after it was opened, on several
fresh desktops, and on the last of them again and again while other processes want the processor.
Printed are the times, until the first complete look and of the later ones, and, against the largest
number of elements, how many looks were empty or partial and how many of those said that they were
complete (the goal: none).

``crash``: sessions in which the elements are read at every look: number formats set in Format
Cells (``--script format``), and a chart made and saved (``--script chart``).

Usage: ``python -m benchmarks.looking {looks,crash} [-n N] [--starts N] [--load N] [--json]``.
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
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hisa.actions import Action, Click, Hotkey, Press, Write
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.screen.geometry import Size
from hisa.screen.observation import Element, Observation

SIZE = Size(1280, 720)
CALC = "soffice --calc --norestore"
CODES = ("0.00", "#,##0.00", "0.0%", "0000", "0.000")
GOAL_SECONDS = 0.5
DIALOGS = 6


class Crashed(Exception):
    """LibreOffice has ended."""


class Office:
    """LibreOffice Calc on a private desktop, looked at with its elements each time."""

    def __init__(self, environment: DesktopEnvironment) -> None:
        self.environment = environment
        self.looks = 0

    async def start(self, command: str) -> None:
        """Start it and wait for its window."""
        await self.environment.execute(f"{command} >/dev/null 2>&1 &")
        await self.until(lambda seen: "Calc" in _title(seen), elements=False)
        await self.environment.observe(settle=20.0)

    async def look(self, *, elements: bool = True) -> Observation:
        """Look, and raise `Crashed` where it no longer runs."""
        self.looks += elements
        seen = await self.environment.observe(elements=elements, settle=1.0)
        running = await self.environment.execute("pgrep -x soffice.bin")
        if running.exit_code != 0:
            raise Crashed(f"after {self.looks} looks with elements")
        return seen

    async def until(
        self, holds: Callable[[Observation], object], *, elements: bool = True
    ) -> Observation:
        """Look until that holds."""
        for _ in range(40):
            try:
                seen = await self.look(elements=elements)
            except Crashed:
                if elements:
                    raise
                await asyncio.sleep(0.5)
                continue
            if holds(seen):
                return seen
        raise RuntimeError(f"not reached; the active window is {_title(seen)!r}")

    async def act(self, *actions: Action) -> Observation:
        """Act, and look."""
        await self.environment.act(actions)
        return await self.look()

    async def press_button(self, seen: Observation, name: str) -> Observation:
        """Click a button as soon as there is one of that name."""
        button = _named(seen, "push button", name)
        if button is None:
            seen = await self.until(lambda look: _named(look, "push button", name))
            button = _named(seen, "push button", name)
        assert button is not None
        return await self.act(Click(button.box.centre))


def _title(seen: Observation) -> str:
    return seen.active.title if seen.active else ""


def _named(seen: Observation, role: str, name: str) -> Element | None:
    found = (e for e in seen.elements or () if e.role == role and e.name == name)
    return next(found, None)


async def format_session(office: Office, dialogs: int = DIALOGS) -> None:
    """Types a number and sets its format code, several times."""
    await office.start(CALC)
    for number in range(dialogs):
        await office.act(Write("12.5"), Press("enter"), Press("up"))
        await office.act(Hotkey(("ctrl", "1")))
        await office.until(lambda seen: "Format Cells" in _title(seen))
        await office.act(Hotkey(("alt", "f")))
        seen = await office.act(Hotkey(("ctrl", "a")), Write(CODES[number % len(CODES)]))
        await office.press_button(seen, "OK")
        await office.until(lambda seen: "Format Cells" not in _title(seen))


async def chart_session(office: Office, charts: int = 2) -> None:
    """Makes charts of two columns and saves the file after each."""
    rows = "\n".join(f"{month},{10 + 7 * month % 5}" for month in range(1, 8))
    await office.environment.write_file("/tmp/data.csv", f"month,sold\n{rows}\n".encode())
    # A profile of its own: a headless run leaves a window of one pixel in the settings.
    profile = "-env:UserInstallation=file:///tmp/converting"
    convert = f"cd /tmp && soffice {profile} --headless --convert-to xlsx data.csv"
    await office.environment.execute(convert, timeout=120.0)
    await office.start("soffice --norestore /tmp/data.xlsx")
    for _ in range(charts):
        await office.act(Hotkey(("ctrl", "home")))
        await office.act(Hotkey(("ctrl", "shift", "end")))
        seen = await office.look()
        seen = await office.press_button(seen, "Chart")
        await office.press_button(seen, "Finish")
        await office.act(Press("esc"), Press("esc"), Press("esc"))  # leave the chart
        before = (await office.environment.execute("stat -c %Y%s /tmp/data.xlsx")).output
        await asyncio.sleep(1.1)
        await office.act(Hotkey(("ctrl", "s")))
        for _ in range(20):
            await office.look()
            if (await office.environment.execute("stat -c %Y%s /tmp/data.xlsx")).output != before:
                break
        else:
            raise RuntimeError("the file was not saved")
        await office.look()


SCRIPTS: dict[str, Callable[[Office], Awaitable[None]]] = {
    "format": format_session,
    "chart": chart_session,
}


async def session(script: str) -> tuple[str, int]:
    """Runs one session; returns how it ended and the number of looks with elements."""
    async with DesktopEnvironment(SIZE) as environment:
        office = Office(environment)
        try:
            await SCRIPTS[script](office)
        except Crashed as error:
            return f"crashed {error}", office.looks
        except RuntimeError as error:
            return f"not done: {error}", office.looks
        return "ok", office.looks


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


def crash(script: str, times: int) -> dict[str, Any]:
    endings = []
    looks = 0
    for number in range(times):
        ending, looked = asyncio.run(session(script))
        looks += looked
        endings.append(ending)
        print(f"{script} session {number + 1}: {ending}, {looked} looks", flush=True)
    return {
        "script": script,
        "sessions": times,
        "crashed": sum(ending.startswith("crashed") for ending in endings),
        "not_done": sum(ending.startswith("not done") for ending in endings),
        "looks": looks,
        "met": all(ending == "ok" for ending in endings),
    }


async def _first(environment: DesktopEnvironment) -> tuple[float, list[Observation]]:
    """Opens the spreadsheet; returns the seconds until it was first seen whole, and the looks."""
    await Office(environment).start(CALC)
    started = time.perf_counter()
    seen = [await environment.observe(elements=True)]
    while not seen[-1].complete:
        seen.append(await environment.observe(elements=True))
    return time.perf_counter() - started, seen


async def _looks(times: int, processes: int, starts: int) -> dict[str, Any]:
    firsts: list[float] = []
    seen: list[Observation] = []
    for _ in range(starts - 1):
        async with DesktopEnvironment(SIZE) as environment:
            first, looks = await _first(environment)
            firsts.append(first)
            seen += looks
    async with DesktopEnvironment(SIZE) as environment:
        first, looks = await _first(environment)
        firsts.append(first)
        seen += looks
        taken: list[float] = []
        with load(processes):
            for number in range(times):
                # Something changes at each look, as it does in a run.
                await environment.act([Write(str(number)), Press("enter")])
                started = time.perf_counter()
                seen.append(await environment.observe(elements=True))
                taken.append(time.perf_counter() - started)
    first, median = statistics.median(firsts), statistics.median(taken)
    counts = [len(look.elements or ()) for look in seen]
    known = max(counts)
    false = sum(look.complete and n < known for look, n in zip(seen, counts, strict=True))
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
        "partial": sum(not look.complete for look in seen),
        "partial_said_to_be_complete": false,
        "met": not false and (processes > 0 or max(first, median) < GOAL_SECONDS),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["looks", "crash"])
    parser.add_argument("-n", type=int, default=20, help="looks or sessions")
    parser.add_argument("--starts", type=int, default=3, help="desktops with a first look")
    parser.add_argument("--load", type=int, default=0, help="processes that want a processor")
    parser.add_argument("--script", choices=sorted(SCRIPTS), default="format")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    before = os.getloadavg()[0]
    if arguments.what == "looks":
        report = asyncio.run(_looks(arguments.n, arguments.load, arguments.starts))
    else:
        with load(arguments.load):
            report = crash(arguments.script, arguments.n)
    report |= {"load_before": round(before, 1), "load_after": round(os.getloadavg()[0], 1)}
    if arguments.json:
        print(json.dumps(report, indent=2))
    else:
        print(", ".join(f"{key} {value}" for key, value in report.items()))
        print(f"goal: {'met' if report['met'] else 'NOT met'}")
    return 0 if report["met"] else 1


if __name__ == "__main__":
    sys.exit(main())
