"""Programs of thirteen demonstrations, played on fresh desktops, undisturbed and disturbed.

Each is made by one real run (the offline rules, or a script), compiled, proved and kept in DIR.
What is right under each perturbation stands in ``demonstrations.py``. What came of a play is told
by the desktop: its files, the page's log, and what reached windows that are not the program's.
FILE gets each play at once; what it has is not played again.
Usage: ``python -m benchmarks.replay_demonstrations [-n N] [--only DEMO] [--perturb NAME]
[--held] [--programs DIR] [--json FILE] [--tables]``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
import tempfile
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

import hisa
from benchmarks.demonstrations import (
    DEMOS,
    HELD,
    PERTURBATIONS,
    Demo,
    Perturbation,
    Right,
    setup_of,
)
from benchmarks.machine import machine
from benchmarks.replay_plays import (
    SERVER,
    acting_seconds,
    model_calls,
    proved,
    seconds_of_plans,
    settings_in,
    shown_once,
)
from benchmarks.replay_tables import print_tables
from hisa.actions import Action, Sleep
from hisa.config import Settings
from hisa.errors import EnvironmentFailed, OperatorError
from hisa.events import Planned
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.replay.playing import play, settings_for
from hisa.plugins.replay.program_records import Program, ProgramStep, read_program
from hisa.protocols import Held, ModelReply, ModelRequest, Task
from hisa.runs.manifest import TaskRecord
from hisa.runs.read import load_run
from hisa.screen.observation import Observation
from hisa.tasks.hisa_format import OWN
from hisa.tasks.taskfile import load_task
from hisa.testing.scripted import FunctionModel, tool_call

_PAGES = Path(__file__).parent / "replay_pages"
_STATE = "/usr/bin/python3 ~/.bench/state.py"
_LONGEST = 400.0
"""Seconds of a play; a program waits 20 s for each thing at most."""
_HARMLESS = ("click on the shield", "stopped ")
"""What nothing of anybody's was done by."""


class DisturbedDesktop(DesktopEnvironment):
    """A private desktop that is disturbed before the look after so many acts.

    ``states`` are what lasted of it after each act, where ``watched``; the first one is that before
    any act.
    """

    def __init__(self, case: Perturbation, after: int, *, watched: bool = False) -> None:
        super().__init__(case.size)
        self._case, self._after, self._watched = case, after, watched
        self._acts = 0
        self._disturbed = False
        self.states: list[str] = []

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        """See `DesktopEnvironment`; the disturbance comes first."""
        if elements and not self.states:
            await self._note_state()
        if elements and not self._disturbed and self._acts >= self._after:
            self._disturbed = True
            if self._case.at != "start":
                await self._disturb()
        return await super().observe(elements=elements, settle=settle)

    async def act(self, actions: Sequence[Action], /) -> None:
        """See `DesktopEnvironment`."""
        await super().act(actions)
        await self._count(actions)

    async def act_where_unchanged(self, actions: Sequence[Action], held: Held, /) -> None:
        """See `DesktopEnvironment`."""
        await super().act_where_unchanged(actions, held)
        await self._count(actions)

    async def _count(self, actions: Sequence[Action]) -> None:
        if all(isinstance(action, Sleep) for action in actions):
            return
        self._acts += 1
        if self._watched:
            await asyncio.sleep(0.7)
            await self._note_state()

    async def _disturb(self) -> None:
        command = f"rm -f ~/.bench/ready; setsid -f {disturbing(self._case)}"
        await self.execute(
            f"{command}; for n in $(seq 60); do test -e ~/.bench/ready && break; "
            "sleep 0.1; done; test -e ~/.bench/ready || echo never >> "
            "~/.bench/events.txt"
        )

    async def _note_state(self) -> None:
        state = await self.state()
        if not self.states or self.states[-1] != state:
            self.states.append(state)

    async def state(self) -> str:
        """What lasts of what was done, as text."""
        return (await self.execute(_STATE)).output.strip()

    async def met(self) -> list[str]:
        """What reached windows that are not the program's."""
        return (await self.execute("cat ~/.bench/events.txt")).output.splitlines()


def disturbing(case: Perturbation) -> str:
    return f"/usr/bin/python3 ~/.bench/disturb.py {case.name} >/dev/null 2>&1"


# ---------------------------------------------------------------- tasks and places of a disturbance


def task_of(demo: Demo, case: Perturbation) -> Task:
    """The task of a demonstration on a desktop with what disturbs it."""
    if isinstance(demo.tree, Path):
        task = load_task(demo.tree)
    else:
        task = OWN.read(Path("task.yaml"), demo.tree)
    texts = {name: (_PAGES / name).read_text("utf-8") for name in ("disturb.py", "state.py")}
    texts |= {"server.py": SERVER, "events.txt": ""}
    setup: list[Mapping[str, object]] = [
        {"write": {"path": f"~/.bench/{name}", "text": text}} for name, text in texts.items()
    ]
    everywhere = case in (*PERTURBATIONS, *HELD)
    if case.at == "start" and everywhere and case.name not in ("none", "resolution"):
        setup.append({"run": f"setsid -f {disturbing(case)}; sleep 1"})
    setup += setup_of(demo, case)
    tree = TaskRecord.of(task).model_dump(mode="json", exclude_defaults=True)
    return TaskRecord.model_validate(tree | {"setup": [*setup, *task.setup]}).task()


def place_of(case: Perturbation, program: Program) -> int | None:
    """How many acts come before a disturbance; None: the program has no step for it."""
    acts = [step for step in program.steps if step.tool == "gui_action"]
    if case.at == "start":
        return 0
    fits = [at for at, step in enumerate(acts) if _is_for(case, step)]
    half = len(acts) // 2
    later = [at for at in fits if at >= half]
    return later[0] if later else fits[-1] if fits else None


def _is_for(case: Perturbation, step: ProgramStep) -> bool:
    return {"keys": not step.targets, "click": bool(step.targets)}.get(case.at, True)


def right_of(demo: Demo, case: Perturbation) -> Right:
    """The right outcome, by the table."""
    return "either" if case.name == "shield" and not demo.clicks else case.right


def stages_of(demo: Demo, start: str, shown: Sequence[str]) -> list[str]:
    """What may last of an unfinished play, in order; the right end is the last."""
    if demo.turn[0]:
        return [start, "\n".join(sorted(start.replace(*demo.turn).splitlines()))]
    if demo.lines:
        place = "clicks.txt: "
        heads = ["\n".join(demo.lines[:n]) for n in range(len(demo.lines) + 1)]
        return [start.replace(place, place + head, 1) for head in heads]
    return list(shown)


def is_alike(one: str, other: str) -> bool:
    """Whether two states have the same lines; a change may stand elsewhere in the list."""
    lines = [sorted(line.strip() for line in text.splitlines()) for text in (one, other)]
    return lines[0] == lines[1]


# ---------------------------------------------------------------- making


async def made(demo: Demo, folder: Path, settings: Settings) -> tuple[Program, dict[str, Any]]:
    """The program of a demonstration, made once and kept, with what is known of its making."""
    place, note = folder / demo.name, folder / demo.name / "made.json"
    if note.exists():
        return read_program(place), json.loads(note.read_text("utf-8"))
    task = task_of(demo, PERTURBATIONS[0])
    if demo.acts:
        run, _ = await shown_once(settings, task, demo.acts)
    else:
        result = await hisa.run(task, settings=settings)
        run = result.folder
        if not result.success:
            raise SystemExit(f"{demo.name}: the rules did not do it: {result.message}; {run}")
    program = await proved(run, demo.name, place, settings)
    async with DisturbedDesktop(PERTURBATIONS[0], 0, watched=True) as desktop:
        played = await play(program, place, settings, environment=desktop)
        if played.outcome != "verified":
            raise SystemExit(f"{demo.name}: {played.outcome}: {played.reason}; {played.folder}")
        states = [*desktop.states, await desktop.state()]
    events = load_run(run).events
    seconds, steps = acting_seconds(events), sum(isinstance(event, Planned) for event in events)
    known = {"seconds": seconds, "steps": steps, "states": list(dict.fromkeys(states))}
    note.write_text(json.dumps(known, ensure_ascii=False, indent=1), "utf-8")
    return program, known


# ---------------------------------------------------------------- playing


async def played_once(
    demo: Demo,
    case: Perturbation,
    program: Program,
    place: Path,
    known: Mapping[str, Any],
    settings: Settings,
) -> dict[str, Any]:
    """What came of one play on a fresh desktop."""
    after = place_of(case, program)
    assert after is not None, "asked for before"
    task = TaskRecord.of(task_of(demo, case)).model_dump(mode="json", exclude_defaults=True)
    program = program.model_copy(update={"task": task})
    async with DisturbedDesktop(case, after) as desktop:
        played = await play(program, place, settings, environment=desktop)
        if played.outcome == "machine failed":
            return {"outcome": played.outcome, "reason": played.reason}
        state, met = await desktop.state(), await desktop.met()
    stages = stages_of(demo, desktop.states[0] if desktop.states else "", known["states"])
    events = load_run(played.folder).events
    foreign = [line for line in met if not line.startswith(_HARMLESS)]
    ended = bool(stages) and is_alike(state, stages[-1])
    strange = "" if any(is_alike(state, stage) for stage in stages) else state
    wrong = bool(foreign or strange or (played.outcome == "verified" and not ended))
    on = played.outcome in ("verified", "done unverified")
    right = right_of(demo, case)
    return {
        "outcome": played.outcome,
        "reason": played.reason,
        "wrong": wrong,
        "right": right,
        "false halt": right == "go on" and played.outcome != "verified",
        "went on": on and (right == "halt" or (right == "either" and not ended)),
        "ended": ended,
        "met": met,
        "strange": strange,
        "calls": model_calls(events),
        "steps": played.steps,
        "seconds": acting_seconds(events),
        "plans": seconds_of_plans(events),
        "run": str(played.folder),
    }


async def at_once(
    demo: Demo, program: Program, place: Path, settings: Settings, run: Path
) -> dict[str, Any]:
    """The calls of a play, waits too, by a planner that answers at once and looks at nothing."""
    left = iter([event for event in load_run(run).events if isinstance(event, Planned)])

    async def plan(_: ModelRequest) -> ModelReply:
        planned = next(left)
        return ModelReply(tool_call(planned.tool, planned.input))

    async with DesktopEnvironment() as desktop:
        result = await hisa.run(
            task_of(demo, PERTURBATIONS[0]),
            environment=desktop,
            settings=settings_for(settings, program, place, {}),
            model={"planner": FunctionModel(plan), "state": FunctionModel(lambda _: "Succeeded.")},
        )
    seconds = acting_seconds(load_run(result.folder).events)
    outcome = "verified" if result.success else f"{result.status}: {result.message}"[:200]
    return {"outcome": outcome, "steps": result.steps, "seconds": seconds}


async def survived(doing: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
    """What came of a play, where a machine that fails is an outcome as well."""
    try:
        return await asyncio.wait_for(doing, _LONGEST)
    except TimeoutError:
        return {"outcome": "machine failed", "reason": f"no end within {_LONGEST:.0f} s"}
    except (EnvironmentFailed, OperatorError, OSError) as error:
        return {"outcome": "machine failed", "reason": str(error)[:300]}


class Kept:
    """What was played, in a file that gets each play at once."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self.rows: list[dict[str, Any]] = []
        if file is not None and file.exists():
            self.rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]

    def has(self, demo: str, case: str, number: int) -> bool:
        """Whether it was played, machines that failed left out."""
        key = (demo, case, number)
        return any(
            (r["demo"], r["case"], r["number"]) == key
            for r in self.rows
            if r["outcome"] != "machine failed"
        )

    def add(self, row: dict[str, Any]) -> None:
        """Keep a play, and say what came of it."""
        self.rows.append(row)
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        sign = next((word for word in ("wrong", "went on", "false halt") if row.get(word)), "")
        words = f"{row['demo']} {row['case']} {row['number']}: {row['outcome']}"
        reason = row.get("reason", "")[:150]
        print(f"{words} {reason} {sign.upper()}", file=sys.stderr, flush=True)


async def measured(asked: argparse.Namespace, programs: Path, kept: Kept) -> None:
    """Play what was asked for and is not in the file."""
    settings = settings_in(programs / "runs")
    known: dict[str, tuple[Program, dict[str, Any]]] = {}
    for demo in DEMOS:
        if asked.only and demo.name not in asked.only:
            continue
        try:
            known[demo.name] = await made(demo, programs, settings)
        except (SystemExit, OperatorError, OSError) as error:
            if not kept.has(demo.name, "made", 0):
                kept.add(
                    {
                        "demo": demo.name,
                        "case": "made",
                        "number": 0,
                        "outcome": "no program",
                        "reason": str(error)[:300],
                    }
                )
    for demo, case, number in wanted(asked, [d for d in DEMOS if d.name in known]):
        program, note = known[demo.name]
        if kept.has(demo.name, case.name, number) or place_of(case, program) is None:
            continue
        place = programs / demo.name
        row = await survived(played_once(demo, case, program, place, note, settings))
        base = {"demo": demo.name, "case": case.name, "number": number}
        base |= {key: note[key] for key in ("seconds", "steps")} and {
            "made": note["seconds"],
            "made steps": note["steps"],
        }
        kept.add(base | row)
        if case.name == "none" and row["outcome"] == "verified":
            beside = await survived(at_once(demo, program, place, settings, Path(row["run"])))
            kept.add(base | {"case": "at once"} | beside)


def wanted(
    asked: argparse.Namespace, demos: Sequence[Demo]
) -> list[tuple[Demo, Perturbation, int]]:
    """The plays in their order: each case of all demonstrations before the next one."""
    common = HELD if asked.held else PERTURBATIONS
    pairs = [(demo, case) for case in common for demo in demos]
    if not asked.held:
        pairs += [(demo, case) for demo in demos for case in demo.own]
    return [
        (demo, case, number)
        for number in range(asked.n)
        for demo, case in pairs
        if not asked.perturb or case.name in asked.perturb
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=1, help="plays of each (default: 1)")
    parser.add_argument("--only", action="append", metavar="DEMO", help="may be repeated")
    parser.add_argument("--perturb", action="append", metavar="NAME", help="may be repeated")
    parser.add_argument("--held", action="store_true", help="the perturbations left alone")
    parser.add_argument("--programs", type=Path, metavar="DIR", help="where programs are kept")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where plays are kept")
    parser.add_argument("--tables", action="store_true", help="print what FILE has; play nothing")
    asked = parser.parse_args()
    print(f"demonstrations played again; {machine()}; no seeds: all is as written", flush=True)
    kept = Kept(asked.json)
    with contextlib.ExitStack() as stack:
        folder = tempfile.TemporaryDirectory(prefix="hisa-replay-")
        programs = asked.programs or Path(stack.enter_context(folder))
        if not asked.tables:
            asyncio.run(measured(asked, programs, kept))
    sys.exit(0 if print_tables(kept.rows) else 1)


if __name__ == "__main__":
    main()
