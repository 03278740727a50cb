"""How long after the comparison with its look an act happens: what nobody can see in between.

A small program on a private desktop notes when its button goes down. On HiSA's own guest the
machine compares and acts in one request; by the stock routes a picture is taken right before the
act. The presses after the first one of a call are compared with a look from right before each; the
gap of those is printed too, and how much longer a call takes for each than one that is made
blindly. Usage: ``python -m benchmarks.act_delay [-n N]``.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from benchmarks.machine import machine
from hisa.actions import Click, Move, parse, presses
from hisa.actions.unchanged_look import REACTION_SECONDS, require_unchanged
from hisa.environments.transport import connect
from hisa.events import Event
from hisa.grounder.elements_reader import ElementsReader
from hisa.hooks import Hooks, Run, Step
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.guard.acts.held_acts import HeldActs
from hisa.plugins.machines.guests.any_guest import connect_stock
from hisa.protocols import GroundedCall, Recorder, ScreenPrecondition, StateView, Task, ToolCall
from hisa.screen.geometry import BoundingBox, Point
from hisa.sequence import make_calls
from hisa.state.blind_acts import BlindActs
from hisa.tools.base import Tool
from hisa.tools.builtin import gui_action
from hisa.tools.registry import ToolRegistry

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


async def gaps(
    desktop: DesktopEnvironment, count: int, *, stock: bool, later: bool = False
) -> list[float]:
    """Milliseconds from the last comparison to each press, as the window saw it.

    Of HiSA's guest the whole request is counted, since it compares inside: an upper bound. A
    ``later`` press of a call finds the pointer where the part before it brought it.
    """
    await desktop.execute(f"rm -f {_PRESSES}")
    began: list[float] = []
    for number in range(count):
        at = PLACES[number % len(PLACES)]
        if later:
            await desktop.act([Move(at)])
            await asyncio.sleep(REACTION_SECONDS)
        observation = await desktop.observe()
        held = ScreenPrecondition(
            observation, (BoundingBox(at.x - 50, at.y - 50, at.x + 50, at.y + 50, "screen"),)
        )
        held = replace(held, follows=later)
        if stock:
            now = await desktop.observe()
            began.append(now.at)
            require_unchanged(held, now)
            await desktop.act([Click(at=at)])
        else:
            began.append(time.time())
            await desktop.act_where_unchanged([Click(at=at)], held)
        await asyncio.sleep(0.1)
    presses = (await desktop.read_file(_PRESSES)).decode().split()
    assert len(presses) == count, f"{len(presses)} presses of {count}"
    return [1000 * (float(pressed) - start) for pressed, start in zip(presses, began, strict=True)]


async def costs(desktop: DesktopEnvironment, count: int) -> list[float]:
    """Milliseconds that each later press of a call adds, over the same call made blindly."""
    source = "; ".join(f"pyautogui.click({at.x:g}, {at.y:g})" for at in PLACES[::2])
    actions = parse(source)
    registry, nothing = ToolRegistry([Tool(gui_action)]), cast(Recorder, _Nothing())
    guard = HeldActs(ElementsReader(desktop, emit=_Nothing().emit))
    ways = [
        Run(Task("clicks", source), desktop, registry, nothing, hooks)
        for hooks in (Hooks([guard]), Hooks([BlindActs(3.0)]))
    ]
    call = GroundedCall(ToolCall("", "gui_action", source), source, actions)
    added = []
    for _ in range(count):
        seconds = []
        for run in ways:
            observation = await desktop.observe(elements=True)
            started = time.monotonic()
            step = Step(1, run, observation, StateView(), grounded=call)
            outcome = await make_calls(step, settle=3.0)
            seconds.append(time.monotonic() - started)
            assert outcome.ok, outcome.error
        added.append(1000 * (seconds[0] - seconds[1]) / (len(presses(actions)) - 1))
    return added


class _Nothing:
    """A log that keeps nothing."""

    def emit(self, event: Event, /) -> None:
        pass


async def measure(count: int) -> None:
    for stock in (False, True):
        async with DesktopEnvironment(connect=connect_stock if stock else connect) as desktop:
            await desktop.write_file(_WINDOW, _PROGRAM.encode())
            await desktop.execute(f"setsid -f /usr/bin/python3 {_WINDOW} >/dev/null 2>&1")
            await asyncio.sleep(2.0)
            press_gaps = await gaps(desktop, count, stock=stock)
            later = await gaps(desktop, count, stock=stock, later=True)
            added = await costs(desktop, max(1, count // 5))
        way = "a picture before the act (stock routes)" if stock else "compared by HiSA's guest"
        print(f"{way}: {_spread(press_gaps)}")
        print(f"  a later press of a call: {_spread(later)}")
        print(f"  added by each later press, without a policy: {_spread(added)}")


def _spread(values: Sequence[float]) -> str:
    ordered = sorted(values)
    return (
        f"median {statistics.median(ordered):.1f} ms, "
        f"p90 {ordered[int(0.9 * (len(ordered) - 1))]:.1f} ms, most {ordered[-1]:.1f} ms, "
        f"n={len(ordered)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=100, help="acts a way (default: 100)")
    options = parser.parse_args()
    print(f"from comparison to press; {machine()}")
    asyncio.run(measure(options.n))


if __name__ == "__main__":
    main()
