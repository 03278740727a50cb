"""What a program does where the screen is not as it was: goes on where it may, halts elsewhere.

A page of orders is shown on private desktops. Orders are shipped once by a script, that run is
compiled and proved, and the program is played under changes of the page, the browser and the
screen. The right outcome of each is written down below. The page's own log tells what was clicked.
Usage: ``python -m benchmarks.replay_changes [-n N] [--only CASE] [--held]``.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from benchmarks.machine import machine
from benchmarks.replay_plays import (
    SERVER,
    model_calls,
    proved,
    seconds_of_plans,
    settings_in,
    shown_once,
)
from hisa.config import Settings
from hisa.events import Planned
from hisa.plugins.benchmarks.bench.stats import wilson
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.replay.playing import Played, play
from hisa.plugins.replay.program_records import Program
from hisa.runs.manifest import TaskRecord
from hisa.runs.read import Run, load_run
from hisa.screen.geometry import Size
from hisa.tasks.hisa_format import OWN

_HERE = Path(__file__).parent / "replay_pages"
_NOTE = "Leave it at the door"
_RIGHT = ("ask 1024", "ship 1024", f"save {_NOTE}")
"""All that the page may log of a program that goes on, in order; one that halts logs a part."""
_HARMLESS = frozenset({"focus", "shield", "banner"})
"""Lines of the log that say that nothing of the page was met."""


@dataclass(frozen=True)
class Change:
    """A change, and what is right under it: go on to a verified end, or halt with nothing wrong."""

    name: str
    right: Literal["go on", "halt"]
    why: str
    flags: str = "--start-maximized"
    size: Size | None = None


CHANGES = (
    Change("none", "go on", "as it was shown"),
    Change("look_alike", "go on", "another order of the same customer stands above"),
    Change("missing", "halt", "another order of the same customer stands in its place"),
    Change("grown", "go on", "six more orders stand above"),
    Change("sorted", "go on", "the orders stand by customer"),
    Change("empty", "halt", "there are no orders"),
    Change("focus", "halt", "a window takes the keyboard once the note is clicked"),
    Change("dialog", "halt", "a dialog asks, and its Save deletes"),
    Change("shield", "halt", "an invisible layer takes every click"),
    Change("renamed", "halt", "Ship is called Dispatch"),
    Change("swapped", "go on", "Ship and Cancel stand the other way round"),
    Change("pane", "go on", "forty more orders stand above, in a part that scrolls by itself"),
    Change("gone", "halt", "forty more stand above, and the order is not among them"),
    Change("slow4", "go on", "each answer takes 4 s"),
    Change("slow12", "go on", "each answer takes 12 s"),
    Change("dark", "go on", "light on dark"),
    Change("font", "go on", "letters of 21 pixels, not 15"),
    Change("zoom", "go on", "zoom 125%", "--start-maximized --force-device-scale-factor=1.25"),
    Change("resolution", "go on", "a screen of 1600x900", size=Size(1600, 900)),
    Change("moved", "go on", "a smaller window elsewhere",
           "--window-position=140,60 --window-size=1000,620"),
)  # fmt: skip
"""Written down before any of them was run; “pane” and “gone” later, with the turns of the wheel."""
HELD = (
    Change("twin", "halt", "the order stands there twice, the same in every word"),
    Change("married", "halt", "the customer of the order has another name"),
    Change("columns", "go on", "the columns stand in another order"),
    Change("banner", "halt", "a banner in sight covers the page"),
    Change("fold", "go on", "forty more orders stand above, so that one has to scroll"),
)
"""Written down at the same time, and left alone until nothing was changed any more."""

_THIEF = """
import os, time
from Xlib import X, display
shown = display.Display(); screen = shown.screen()
window = screen.root.create_window(900, 480, 300, 150, 0, X.CopyFromParent,
    background_pixel=screen.white_pixel, event_mask=X.KeyPressMask)
window.set_wm_name("Notice"); window.map(); shown.sync(); time.sleep(0.5)
window.set_input_focus(X.RevertToParent, X.CurrentTime); shown.flush()
while True:
    event = shown.next_event()
    if event.type == X.KeyPress:
        with open(os.path.expanduser("~/clicks.txt"), "a") as file:
            file.write("key to the notice\\n")
"""


def tree_of(change: Change) -> dict[str, object]:
    """A task whose setup shows the page under a change, and whose check reads its log."""
    page = (_HERE / "orders.html").read_text("utf-8").replace("{{CASE}}", change.name)
    browser = (
        "chromium --no-sandbox --test-type --no-first-run --disable-gpu "
        f"--force-renderer-accessibility {change.flags} file://$HOME/orders.html"
    )
    return {
        "id": "ship-an-order",
        "domain": "browser",
        "instruction": f"Note “{_NOTE}”, ship order 1024 and save.",
        "setup": [
            {"write": {"path": "~/orders.html", "text": page}},
            {"write": {"path": "~/server.py", "text": SERVER}},
            {"write": {"path": "~/thief.py", "text": _THIEF}},
            {"write": {"path": "~/clicks.txt", "text": ""}},
            {"run": "setsid -f /usr/bin/python3 ~/server.py >/dev/null 2>&1"},
            {"run": f"setsid -f {browser} >/dev/null 2>&1"},
            {"wait_window": {"title": "Orders", "seconds": 40}},
        ],
        "check": [{"file": "~/clicks.txt", "equals": "\n".join(_RIGHT)}],
    }


_ACTS = (
    ("entry", "Note"), f"pyautogui.write({_NOTE!r})", ("push button", "Ship", "1024"),
    ("push button", "Ship now"), ("push button", "Save"),
)  # fmt: skip


@dataclass
class Seen:
    """What came of one change, over all its repeats."""

    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: int = 0
    halted: int = 0
    went_on: int = 0
    lines: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    calls: int = 0


async def repeat(change: Change, program: Program, place: Path, settings: Settings, n: int) -> Seen:
    """Play a program so many times under a change."""
    seen = Seen()
    task = TaskRecord.of(OWN.read(place / "task.yaml", tree_of(change)))
    program = program.model_copy(
        update={"task": task.model_dump(mode="json", exclude_defaults=True)}
    )
    for _ in range(n):
        async with DesktopEnvironment(change.size) as desktop:
            began = time.monotonic()
            played = await play(program, place, settings, environment=desktop)
            seen.whole.append(played.steps / (time.monotonic() - began))
            log = (await desktop.read_file("~/clicks.txt")).decode().splitlines()
        judge(change, played, [line for line in log if line not in _HARMLESS], seen)
    return seen


def judge(change: Change, played: Played, log: Sequence[str], seen: Seen) -> None:
    """Count what came of one play by the page's log."""
    run = load_run(played.folder)
    seen.outcomes[played.outcome] += 1
    seen.wrong += tuple(log) != _RIGHT[: len(log)]
    seen.went_on += change.right == "halt" and played.outcome in ("verified", "done unverified")
    seen.halted += change.right == "go on" and played.outcome != "verified"
    seen.calls += model_calls(run.events)
    seen.seconds += seconds_of_plans(run.events)
    seen.lines.append(f"{played.outcome}: {played.reason}; log: {', '.join(log)}")


async def measured(n: int, changes: Sequence[Change]) -> bool:
    with tempfile.TemporaryDirectory(prefix="hisa-replay-") as name:
        folder = Path(name)
        settings = settings_in(folder / "runs")
        task = OWN.read(folder / "task.yaml", tree_of(CHANGES[0]))
        made, seconds = await shown_once(settings, task, _ACTS)
        shown, place = load_run(made), folder / "ship"
        program = await proved(made, "ship", place, settings)
        print((place / "program.yaml").read_text("utf-8"), file=sys.stderr)
        results = []
        for change in changes:
            results.append((change, await repeat(change, program, place, settings, n)))
            print(f"{change.name}: {results[-1][1].lines}", file=sys.stderr, flush=True)
    _print_times(results, shown, seconds)
    return _table(results)


def _print_times(results: Sequence[tuple[Change, Seen]], shown: Run, seconds: float) -> None:
    """Seconds of a step's checks, and of a step in all beside the script's own."""
    checks = [s for _, seen in results for s in seen.seconds]
    print(
        f"from look to plan, s: median {statistics.median(checks):.3f}, most {max(checks):.3f}, "
        f"n={len(checks)}"
    )
    steps = sum(isinstance(event, Planned) for event in shown.events)
    whole = [s for change, seen in results if change.name == "none" for s in seen.whole]
    if whole:
        print(
            f"steps a second: {statistics.median(whole):.2f} played, {steps / seconds:.2f} by "
            "the script that showed it, each with setup and check"
        )


def _table(results: Sequence[tuple[Change, Seen]]) -> bool:
    wrong = went_on = runs = 0
    print(f"{'change':12} {'right':6} {'outcomes':52} wrong false-halts went-on calls")
    for change, seen in results:
        outcomes = ", ".join(f"{count} {name}" for name, count in seen.outcomes.items())
        print(
            f"{change.name:12} {change.right:6} {outcomes:52} {seen.wrong:5} {seen.halted:11} "
            f"{seen.went_on:7} {seen.calls:5}"
        )
        for line in seen.lines:
            print(f"    {line}")
        wrong, went_on = wrong + seen.wrong, went_on + seen.went_on
        runs += seen.outcomes.total()
    for words, count in (("silent wrong acts", wrong), ("wrong goings-on", went_on)):
        print(f"{words}: {count} of {runs}, at most {wilson(count, runs)[1]:.1%} (Wilson, 95%)")
    return not wrong and not went_on


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=2, help="plays of each change (default: 2)")
    parser.add_argument("--only", action="append", help="a change by its name; may be repeated")
    parser.add_argument("--held", action="store_true", help="the changes that were left alone")
    asked = parser.parse_args()
    changes = [
        c for c in (HELD if asked.held else CHANGES) if not asked.only or c.name in asked.only
    ]
    print(f"programs on a page that changed; {machine()}", flush=True)
    sys.exit(0 if asyncio.run(measured(asked.n, changes)) else 1)


if __name__ == "__main__":
    main()
