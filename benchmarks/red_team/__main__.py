"""Acts that meet something else than was meant, and acts stopped for nothing: timed variants.

    python -m benchmarks.red_team [--only harmful|harmless] [-n N] [--seed S] [--jobs 1|2]
                                  [--records FOLDER] [--resume] [--kind KIND] [--way WAY]
                                  [--without-elements]

Real: the desktop, Chromium, programs of GTK 3, the agent's loop with all its parts, and for a
computer-use model the Responses API over a socket. Scripted: the planner, which acts on what the
picture or the list shows that it gets, after a time that the seed draws; and the state model.

Harmful: while the planner thinks, just before the act, or while a look waits for a quiet screen,
something else comes to lie at the target's place, or takes the keys. The page and the windows log
which control had the event. In some variants nothing changes and the planner goes for what a
person has to be asked about, with nobody to ask.

Harmless: a caret, a clock, a video and the like, with the same planner: whatever is stopped or
asked about there is a false alarm.

Tune on even seeds, report odd ones. Each record is one line in FOLDER/records.jsonl; --resume goes
on where a run of the same arguments was cut off.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from benchmarks.red_team.report import goals_hold, heading, list_report_lines
from benchmarks.red_team.stage import Record, Stage
from benchmarks.red_team.variants import Side, Variant, draw_variants

_FRESH = 60
"""Variants after which a stage is built anew: a browser grows."""


async def play(
    variants: Sequence[Variant], file: Path, *, jobs: int, scratch: Path, elements: bool
) -> None:
    """Play the variants on so many stages; each record is written as soon as it is there.

    One whose stage broke is played once more, on a fresh one.
    """
    queue = list(reversed(variants))
    total, finished, started = len(variants), 0, time.monotonic()
    again: set[str] = set()

    async def worker(number: int) -> None:
        nonlocal finished
        while queue:
            async with Stage(scratch / str(number), elements=elements) as stage:
                for _ in range(_FRESH):
                    if not queue:
                        return
                    variant = queue.pop()
                    record = await stage.run(variant)
                    if record.verdict == "broken" and variant.id not in again:
                        again.add(variant.id)
                        queue.append(variant)  # on a fresh stage
                        break
                    with file.open("a") as out:
                        out.write(record.line + "\n")
                    finished += 1
                    _progress(record, finished, total, started)
                    if record.verdict == "broken":
                        break

    await asyncio.gather(*(worker(number) for number in range(jobs)))


def _progress(record: Record, finished: int, total: int, started: float) -> None:
    v = record.variant
    spent = time.monotonic() - started
    print(
        f"{finished:>4} of {total} {spent:6.0f} s  {v['kind']:<13} {v['way']:<9} {v['phase']:<8} "
        f"{record.verdict}"
        + (" PAST" if record.past else "")
        + (f" stopped {record.stopped}" if record.stopped and v["side"] == "harmless" else "")
        + (f" {record.error[:120]}" if record.error else ""),
        file=sys.stderr,
        flush=True,
    )


def read_records(file: Path) -> list[Record]:
    """The records of a folder; those of broken variants are played again."""
    if not file.exists():
        return []
    records = [Record(**json.loads(line)) for line in file.read_text("utf-8").splitlines()]
    return [record for record in records if record.verdict != "broken"]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=get_args(Side))
    parser.add_argument("-n", type=int, default=200, help="variants of each side (200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, choices=[1, 2], default=1, help="desktops at once (1)")
    parser.add_argument("--records", type=Path, help="folder for the records (a new one)")
    parser.add_argument("--resume", action="store_true", help="go on with what FOLDER holds")
    parser.add_argument("--kind", action="append", help="only variants of this kind")
    parser.add_argument("--way", action="append", help="only variants of this way")
    parser.add_argument(
        "--without-elements", action="store_true", help="as on a machine without accessibility"
    )
    options = parser.parse_args()
    if options.resume and options.records is None:
        parser.error("--resume needs --records FOLDER")
    folder = options.records or Path(tempfile.mkdtemp(prefix="red-team-"))
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "records.jsonl"
    if file.exists() and not options.resume:
        parser.error(f"{file} is there: give --resume or another folder")
    sides: Sequence[Side] = [options.only] if options.only else get_args(Side)
    variants = [
        variant
        for side in sides
        for variant in draw_variants(side, options.n, options.seed)
        if (not options.kind or variant.kind in options.kind)
        and (not options.way or variant.way in options.way)
    ]
    records = {record.variant["id"]: record for record in read_records(file)}
    left = [variant for variant in variants if variant.id not in records]
    way = ", without elements" * options.without_elements
    print(f"{heading(options.seed)}{way}\nrecords: {file}", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        elements = not options.without_elements
        asyncio.run(play(left, file, jobs=options.jobs, scratch=Path(scratch), elements=elements))
    records = {record.variant["id"]: record for record in read_records(file)}
    played = [records[variant.id] for variant in variants if variant.id in records]
    for line in list_report_lines(played):
        print(line)
    lost = len(variants) - len(played)
    if lost:
        print(f"not played (the stage broke; --resume tries again): {lost}")
    held = goals_hold(played) and not lost
    print("\nheld" if held else "\nNOT HELD")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
