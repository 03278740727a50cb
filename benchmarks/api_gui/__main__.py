"""The GUI alone, and tools beside the GUI: steps and tokens of the same tasks, side by side.

    python -m benchmarks.api_gui [--task ID] [--data FOLDER] [--tries N] [--json]

The tasks are ten of Spider2-V's on spreadsheets, as published, and some of our own in Writer and in
the browser. Each is done three times by the same scripted planner, by the real loop on a private
desktop of its own: with gui_action alone; with tools of the application beside it, as if the
planner knew them all; and with these tools where each one is looked up by tool_help, once a run,
before a call where the prompt of the step does not have its signature. All are scored by the task's
own check. A step is one look and one reply: a click or a drag with the text that belongs
there, keys, or one call of a tool. Tokens are HiSA's estimate of what planner and state manager
read and wrote, pictures included.

ComputerRL (section 4.1) needs "at most 1/3" of the steps of the strongest agents. Ends with 1 where
that does not hold of the sum over the tasks, steps that look a tool up included, or a task is not
done all ways. Such a task is listed apart and not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

from benchmarks.api_gui.player import Move
from benchmarks.api_gui.task_list import DATA, Pair, pairs
from benchmarks.api_gui.trial import WAYS, Outcome, Way, kits_lacking, tried
from benchmarks.machine import machine
from hisa.errors import HisaError

_SHARE = 1 / 3
"""ComputerRL, section 4.1."""
_HEAD = (
    "| task | score: GUI, tools known, tools looked up | steps | ratios "
    "| calls: without signature, without names | actions | tokens in | tokens out | s "
    "| tutorial's steps |\n|---|---|---|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True)
class Row:
    """A task, and what came of it each way."""

    pair: Pair
    gui: Outcome
    api: Outcome
    found: Outcome

    @property
    def outcomes(self) -> tuple[Outcome, Outcome, Outcome]:
        """In the order of `WAYS`."""
        return self.gui, self.api, self.found

    @property
    def counts(self) -> bool:
        """Whether all ways did the task."""
        return all(outcome.score == 1 for outcome in self.outcomes)

    @property
    def line(self) -> str:
        """As a row of the table."""
        done = self.outcomes
        ratios = [f"{one.steps / self.gui.steps:.2f}" for one in done[1:]] if self.counts else []
        cells = (
            self.pair.name,
            ", ".join(map(_score, done)),
            ", ".join(str(one.steps) for one in done),
            ", ".join(ratios),
            f"{self.api.calls}: {self.api.untold}, {self.api.unnamed}",
            ", ".join(str(one.actions) for one in done),
            ", ".join(f"{one.tokens_in:,}" for one in done),
            ", ".join(f"{one.tokens_out:,}" for one in done),
            ", ".join(f"{one.seconds:.0f}" for one in done),
            f"{self.pair.tutorial or ''}",
        )
        return f"| {' | '.join(cells)} |"


def _score(outcome: Outcome) -> str:
    return "none" if outcome.score is None else f"{outcome.score:g}"


async def _done(pair: Pair, way: Way, moves: Sequence[Move], tries: int, folder: Path) -> Outcome:
    """The first try that scores 1, else the last."""
    outcome = Outcome(None, "not tried")
    for number in range(1, tries + 1):
        outcome = replace(await tried(pair.path, moves, way, folder), tries=number)
        if outcome.score == 1:
            break
        print(f"  {pair.name}, {way}: {outcome.detail[:400]}", file=sys.stderr, flush=True)
    return outcome


async def measured(listed: Sequence[Pair], tries: int, folder: Path) -> list[Row]:
    """Do each task all ways; prints a row a task."""
    print(_HEAD, flush=True)
    rows = []
    for pair in listed:
        done: Mapping[Way, Outcome] = {
            way: await _done(pair, way, pair.moves[way], tries, folder) for way in WAYS
        }
        rows.append(Row(pair, *(done[way] for way in WAYS)))
        print(rows[-1].line, flush=True)
    return rows


def concluded(rows: Sequence[Row]) -> bool:
    """Print the sums over the tasks that all ways did; returns whether the share holds.

    It is that of the steps with tools that are looked up: a planner has to find them.
    """
    counted = [row for row in rows if row.counts]
    for row in rows:
        if not row.counts:
            print(f"not counted: {row.pair.name}, since not all ways did it")
    runs = [outcome for row in rows for outcome in row.outcomes]
    first = sum(one.score == 1 and one.tries == 1 for one in runs)
    print(f"done at the first try: {first} of {len(runs)} runs")
    if not counted:
        return False
    calls, untold, unnamed, least = (
        sum(getattr(row.api, name) for row in counted)
        for name in ("calls", "untold", "unnamed", "tools_unnamed")
    )
    print(f"calls whose signature the prompt does not have: {untold} of {calls}, ", end="")
    print(f"with arguments that it does not even name: {unnamed}")
    looks = sum(row.found.lookups for row in counted)
    print(f"looks, a tool once a run: {looks}; {least} where names of arguments are enough")
    base, fewest = (sum(row.outcomes[at].steps for row in counted) for at in (0, 1))
    print(f"steps where names are enough: {fewest + least:,}, ratio {(fewest + least) / base:.2f}")
    for name in ("steps", "actions", "tokens_in", "tokens_out"):
        gui, api, found = (
            sum(getattr(row.outcomes[at], name) for row in counted) for at in range(len(WAYS))
        )
        known, looked_up = f"{api:,}, ratio {api / gui:.2f}", f"{found:,}, ratio {found / gui:.2f}"
        print(f"{name}: {gui:,} by the GUI; tools known: {known}; tools looked up: {looked_up}")
    for at, what in ((1, "known"), (2, "looked up")):
        ratios = [row.outcomes[at].steps / row.gui.steps for row in counted]
        few = sum(ratio <= _SHARE for ratio in ratios)
        print(
            f"ratio of a task, tools {what}: median {median(ratios):.2f}; "
            f"a third or less in {few} of {len(ratios)}"
        )
    share = sum(row.found.steps for row in counted) / sum(row.gui.steps for row in counted)
    held = share <= _SHARE and len(counted) == len(rows)
    told = "held" if held else "NOT HELD"
    print(f"at most a third of the steps at the same score, tools looked up: {told}")
    return held


def _told(row: Row) -> Mapping[str, object]:
    outcomes = zip(WAYS, map(_plain, row.outcomes), strict=True)
    return {"task": row.pair.name, **dict(outcomes)}


def _plain(outcome: Outcome) -> Mapping[str, object]:
    return {name: told for name, told in asdict(outcome).items() if name != "folder"}


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--task", action="append", help="the beginning of a task's name")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of Spider2-V's files")
    parser.add_argument("--tries", type=int, default=2, help="tries of each way (2)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    listed = [
        pair
        for pair in pairs(options.data)
        if not options.task or any(pair.name.startswith(name) for name in options.task)
    ]
    if not listed:
        parser.error(f"no such task; known: {', '.join(each.name for each in pairs(options.data))}")
    if lacking := kits_lacking():
        print(f"api_gui: no toolkit {', '.join(lacking)} installed", file=sys.stderr)
        return 3
    print(machine())
    try:
        with tempfile.TemporaryDirectory() as folder:
            rows = asyncio.run(measured(listed, options.tries, Path(folder)))
    except HisaError as error:
        print(f"api_gui: {error}", file=sys.stderr)
        return 3
    if options.json:
        print(json.dumps([_told(row) for row in rows]))
    return 0 if concluded(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
