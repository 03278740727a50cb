"""Sequences on a real form: how much faster, and how many clicks meet something else.

    python -m benchmarks.form_sequences [--runs N] [--latency S] [--only speed|drift] [--seed S]

The form is a page in Chromium and, for speed, also a window of yad (apt-get install yad).

Speed: the form of eight fields, a drop-down, a check box and Save is filled in with single actions
and with sequences of up to five, each reply of each model taking ``--latency`` seconds.

Drift: N seeded runs in which the page changes by itself while it is filled in (a dialog, a box
over the form, everything 40 pixels down, a row that moves), with single actions, with sequences,
and with sequences without guards, which get eight looks: they find no way back. The page counts
what was clicked.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from benchmarks.form_sequences.runs import (
    PAINTED,
    AppForm,
    Change,
    Done,
    Mode,
    PageForm,
    changes,
)
from benchmarks.machine import machine

SINGLE = Mode("single actions", 1)
GUARDED = Mode("sequences of 5", 5)
BLIND = Mode("sequences of 5 without guards", 5, guards=False)


async def speed(form: PageForm | AppForm, latency: float, times: int, where: str) -> bool:
    """Compare time and planner's calls; returns whether the goals hold."""
    print(f"speed in {where}: {times} runs each, {latency:g} s a reply")
    took: dict[str, list[Done]] = {}
    for _ in range(times):
        for mode in (SINGLE, GUARDED):
            took.setdefault(mode.name, []).append(await form.run(mode, latency=latency))
    for name, runs in took.items():
        seconds = statistics.median(done.seconds for done in runs)
        calls = statistics.median(done.calls for done in runs)
        saved = sum(done.saved for done in runs)
        print(f"  {name}: {seconds:.1f} s, {calls:g} planner's calls, {saved} of {times} saved")
    one, five = (took[mode.name] for mode in (SINGLE, GUARDED))
    time_share = _median(five, "seconds") / _median(one, "seconds")
    call_share = _median(five, "calls") / _median(one, "calls")
    print(f"  sequences take {time_share:.2f} of the time and {call_share:.2f} of the calls (0.5)")
    return max(time_share, call_share) <= 0.5 and all(done.saved for done in (*one, *five))


def _median(runs: Iterable[Done], name: str) -> float:
    return statistics.median(float(getattr(done, name)) for done in runs)


async def drift(form: PageForm, seeds: range, modes: Iterable[Mode]) -> bool:
    """Count wrong clicks while the page changes; returns whether guarded runs had none."""
    print(f"drift: seeds {seeds.start} to {seeds.stop - 1}")
    clean = True
    for mode in modes:
        runs = []
        for seed in seeds:
            change = changes(seed)
            done = await form.run(mode, latency=0.0, change=change)
            runs.append(done)
            if done.wrong:
                told = f"{_told(change)}: {done.wrong} wrong, {done.unseen} of them unseen"
                print(f"    {mode.name}, seed {seed}: {told}")
                print("      " + " ".join(_clicks(done)))
        wrong, hit = sum(done.wrong for done in runs), sum(bool(done.wrong) for done in runs)
        unseen = sum(done.unseen for done in runs)
        print(
            f"  {mode.name}: {wrong} wrong clicks in {hit} of {len(runs)} runs ({unseen} of them "
            f"within {PAINTED:g} ms of the change, before it shows), "
            f"{sum(done.actions for done in runs)} actions, {sum(done.calls for done in runs)} "
            f"planner's calls, {sum(done.saved for done in runs)} saved, "
            f"changed in {sum(done.changed for done in runs)}"
        )
        stops = Counter(_kind(reason) for done in runs for reason in done.stops)
        for reason, count in stops.most_common(8):
            print(f"    stopped {count} times: {reason}")
        clean = clean and (mode is not GUARDED or wrong == unseen)
    return clean


def _clicks(done: Done) -> Iterable[str]:
    """Each click as what was meant or, where another thing was met, both, and how late."""
    for meant, clicked, since in zip(done.meant, done.clicked, done.since, strict=False):
        late = "" if since is None else f" {since:.0f} ms after"
        yield meant if meant == clicked else f"[{meant} -> {clicked}{late}]"


def _told(change: Change) -> str:
    return f"{change.kind} {change.delay} ms after {change.after}"


def _kind(reason: str) -> str:
    """A reason without its places and names."""
    return " ".join(word for word in reason.split() if not any(c in "“”(0123456789" for c in word))


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--latency", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=["speed", "drift"])
    parser.add_argument("--mode", choices=["single", "guarded", "blind"], action="append")
    asked = parser.parse_args()
    print(machine())
    named = {"single": SINGLE, "guarded": GUARDED, "blind": BLIND}
    modes = [named[name] for name in asked.mode or named]
    held = True
    with tempfile.TemporaryDirectory() as folder:
        if asked.only != "drift" and shutil.which("yad"):
            async with AppForm(Path(folder)) as app:
                held &= await speed(app, asked.latency, asked.times, "yad")
        elif asked.only != "drift":
            print("speed in yad: not measured, yad is not installed (apt-get install yad)")
        async with PageForm(Path(folder)) as form:
            if asked.only != "drift":
                held &= await speed(form, asked.latency, asked.times, "Chromium")
            if asked.only != "speed":
                seeds = range(asked.seed, asked.seed + asked.runs)
                held &= await drift(form, seeds, modes)
    print("held" if held else "NOT HELD")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
