"""Harmless lists of actions in Calc, Writer and Chromium: how many run whole, and do what they say.

    python -m benchmarks.app_sequences [--app calc|writer|web] [--tuning] [--only TEXT]

Each list is one reply of a scripted planner, found and guarded as every other. What is printed:
lists all of whose calls were made, those after which the application holds what was wanted, and why
the others were stopped. ``--tuning`` runs other lists, on which the guard was tuned. A click that opens
a window or a dialog is in no list: there the planner has to look.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.app_sequences import calc_lists, web_lists, writer_lists
from benchmarks.app_sequences.runs import AppList, KeptDesktop, ListOutcome, run_list
from benchmarks.machine import machine

GOAL = 0.95
"""Share of the lists that must run whole."""
Prepare = Callable[[KeptDesktop], Awaitable[None]]


@dataclass(frozen=True)
class App:
    """An application, how to open it, and its lists."""

    open: Prepare
    renew: Prepare
    reported: Sequence[AppList]
    tuned_on: Sequence[AppList]


APPS = {
    "calc": App(
        calc_lists.open_calc, calc_lists.renew_calc, calc_lists.REPORTED, calc_lists.TUNED_ON
    ),
    "writer": App(
        writer_lists.open_writer,
        writer_lists.renew_writer,
        writer_lists.REPORTED,
        writer_lists.TUNED_ON,
    ),
    "web": App(web_lists.open_page, web_lists.renew_page, web_lists.REPORTED, web_lists.TUNED_ON),
}


async def run_app(app: App, lists: Sequence[AppList], folder: Path) -> list[ListOutcome]:
    """Run an application's lists one after another on one desktop."""
    outcomes = []
    async with KeptDesktop() as desktop:
        await app.open(desktop)
        for app_list in lists:
            await app.renew(desktop)
            outcome = await run_list(desktop, app_list, folder)
            outcomes.append(outcome)
            if not outcome.whole or outcome.shown:
                print(f"    {outcome.name}: {outcome.made} of {outcome.of} calls {outcome.stopped}")
                if outcome.shown:
                    print(f"      held: {outcome.shown[-200:]!r}", flush=True)
    return outcomes


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--app", choices=sorted(APPS), action="append")
    parser.add_argument("--tuning", action="store_true")
    parser.add_argument("--only", default="", help="lists with this in their names")
    asked = parser.parse_args()
    print(machine())
    every: list[ListOutcome] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.app or sorted(APPS):
            app = APPS[name]
            lists = app.tuned_on if asked.tuning else app.reported
            chosen = [app_list for app_list in lists if asked.only in app_list.name]
            outcomes = await run_app(app, chosen, Path(folder))
            print(f"  {name}: {_counts(outcomes)}", flush=True)
            every += outcomes
    print(f"  together: {_counts(every)}")
    held = sum(outcome.whole for outcome in every) >= GOAL * len(every)
    print("held" if held else "NOT HELD")
    return 0 if held else 1


def _counts(outcomes: Sequence[ListOutcome]) -> str:
    whole = sum(outcome.whole for outcome in outcomes)
    right = sum(outcome.whole and not outcome.shown for outcome in outcomes)
    return f"{whole} of {len(outcomes)} whole, {right} of them with what was wanted"


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
