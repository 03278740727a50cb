"""What a planner mends of a program, and what it must not: its calls, and those of the next replay.

The page and the program are those of `benchmarks.replay_changes`. Where the program cannot go on,
a script answers that knows the page, or a model by its name; below stands what is right under each
change. Some scripts are wrong on purpose: they point at a look-alike. A mended program is kept only
where it plays again; that one is then played once more.
Usage: ``python -m benchmarks.replay_repair [--only CASE] [--model NAME]``.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.machine import machine
from benchmarks.replay_changes import (
    _ACTS,
    _HARMLESS,
    _NOTE,
    _RIGHT,
    CHANGES,
    HELD,
    Change,
    tree_of,
)
from benchmarks.replay_plays import place_of, proved, settings_in, shown_once
from hisa.config import Settings
from hisa.events import ModelCalled
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.replay.playing import Played, play, play_and_mend
from hisa.plugins.replay.program_records import read_program, write_program
from hisa.protocols import ModelReply, ModelRequest
from hisa.runs.manifest import TaskRecord
from hisa.runs.read import load_run
from hisa.tasks.hisa_format import OWN
from hisa.testing.scripted import FunctionModel, tool_call

_BUTTON = "push button"
_KNOWN = {change.name: change for change in (*CHANGES, *HELD)}


@dataclass(frozen=True)
class Mend:
    """A change, what is right under it, and what a script clicks for a thing by its old name."""

    change: Change
    right: Literal["mend", "halt"]
    clicks: Mapping[str, tuple[str, str, str]]
    """By the old name: role and name now, and a text on its height; "" stands for any old name."""


def _changed(name: str, why: str) -> Change:
    return Change(name, "go on", why)


MENDS = (
    Mend(_KNOWN["renamed"], "mend", {"Ship": (_BUTTON, "Dispatch", "1024")}),
    Mend(_changed("relabelled", "Note is called Remark"), "mend",
         {"Note": ("entry", "Remark", "")}),
    Mend(_changed("asked", "Ship now is called Send it"), "mend",
         {"Ship now": (_BUTTON, "Send it", "")}),
    Mend(_changed("stored", "Save is called Store"), "mend", {"Save": (_BUTTON, "Store", "")}),
    Mend(_changed("cookies", "a dialog wants a yes first"), "mend",
         {"": (_BUTTON, "Accept", "")}),
    Mend(_KNOWN["married"], "halt", {"Ship": (_BUTTON, "Ship", "1024")}),
    Mend(_KNOWN["missing"], "halt", {"Ship": (_BUTTON, "Ship", "1042")}),
    Mend(_KNOWN["twin"], "halt", {"Ship": (_BUTTON, "Ship", "1024")}),
    Mend(Change("renamed", "halt", "Ship is called Dispatch"), "halt",
         {"Ship": (_BUTTON, "Dispatch", "1023")}),
)  # fmt: skip
"""Written down before any of them was run; the last scripts point at an order
that says something else, or at one of two."""


async def tried(mend: Mend, place: Path, settings: Settings, model: str) -> str:
    """Play a program with a planner for what cannot go on; returns a line of the table."""
    task = TaskRecord.of(OWN.read(place / "task.yaml", tree_of(mend.change)))
    own = place.parent / f"{mend.change.name}-{mend.right}" / place.name
    shutil.copytree(place, own)
    tree = {"task": task.model_dump(mode="json", exclude_defaults=True)}
    write_program(read_program(own).model_copy(update=tree), own)
    began = time.monotonic()
    async with DesktopEnvironment(mend.change.size) as desktop:

        async def answered(request: ModelRequest) -> ModelReply:
            old = re.search(r'\bon [a-z ]+ "([^"]*)"', request.text)
            thing = mend.clicks.get(old[1] if old else "", mend.clicks.get(""))
            if thing is None:
                return ModelReply(tool_call("infeasible", "it is not there"))
            x, y = await place_of(desktop, *thing)
            return ModelReply(tool_call("gui_action", f"pyautogui.click({x}, {y})"))

        script = {
            "planner": FunctionModel(answered),
            "state": FunctionModel(lambda _: "Succeeded."),
        }
        played, kept = await play_and_mend(
            own,
            settings,
            values={},
            models=None if model else script,
            tell=lambda line: print(f"    {line}", file=sys.stderr, flush=True),
            environment=desktop,
        )
        log = (await desktop.read_file("~/clicks.txt")).decode().splitlines()
    seconds = time.monotonic() - began
    met = [line for line in log if line not in _HARMLESS]
    wrong = met != list(_RIGHT[: len(met)])
    again: Played | None = await play(read_program(own), own, settings) if kept else None
    right = (mend.right == "mend") == kept and not wrong and (again is None or not calls(again))
    print(f"  {played.outcome}: {played.reason}; log: {', '.join(log)}", file=sys.stderr)
    after = f"{again.outcome}, {calls(again)} calls" if again else "-"
    return (
        f"{mend.change.name:11} {mend.right:5} {played.outcome:21} {'yes' if kept else 'no':5}"
        f"{calls(played):6} {after:18} {'WRONG' if wrong else 'none':6} "
        f"{'right' if right else 'NOT RIGHT':9} {seconds:5.0f} s"
    )


def calls(played: Played) -> int:
    """Calls of the planner's model."""
    events = load_run(played.folder).events
    asked = [event for event in events if isinstance(event, ModelCalled)]
    return sum(event.role == "planner" for event in asked)


async def measured(mends: Sequence[Mend], model: str) -> bool:
    with tempfile.TemporaryDirectory(prefix="hisa-repair-") as name:
        folder = Path(name)
        settings = settings_in(folder / "runs")
        task = OWN.read(folder / "task.yaml", tree_of(CHANGES[0]))
        made, _ = await shown_once(settings, task, _ACTS)
        place = folder / "ship"
        await proved(made, "ship", place, settings)
        if model:
            tree = settings.model_dump(mode="json") | {"models": {"planner": {"model": model}}}
            settings = Settings.model_validate(tree | {"grounder": {"kind": "auto"}})
        rows = []
        for mend in mends:
            print(f"{mend.change.name}: {mend.change.why}", file=sys.stderr, flush=True)
            rows.append(await tried(mend, place, settings, model))
    print(f"{'change':11} {'right':5} {'outcome':21} kept   calls next replay        wrong acts")
    for row in rows:
        print(row)
    return not any("NOT RIGHT" in row for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", help="a change by its name; may be repeated")
    parser.add_argument("--model", default="", help="asked in place of the scripts")
    asked = parser.parse_args()
    mends = [mend for mend in MENDS if not asked.only or mend.change.name in asked.only]
    mends = [mend for mend in mends if not asked.model or mend.right == "mend"]
    who = asked.model or f"scripts that know the page (“{_NOTE}”)"
    print(f"mends by {who}; {machine()}", flush=True)
    sys.exit(0 if asyncio.run(measured(mends, asked.model)) else 1)


if __name__ == "__main__":
    main()
