"""Runs on machines that report no elements: what is solved, and what the clicks meet.

    python -m benchmarks.seen_runs [--planner offline|scripted|points|replay] [--on desktop|screen]
                                   [--with-elements] [--only ID ...] [--out DIR]
                                   [--pictures DIR]

Ten desktop tasks and ten pages of MiniWoB++ (see `load_tasks`), each on a fresh desktop. "offline"
is the offline model. "scripted" follows seen_runs_scripts.yaml, whose descriptions somebody wrote
who saw pictures alone. "points" clicks the places that these scripts mean, without a grounder: how
many scripts are right, and with --pictures the screens to write them from; no script shows the
first one. "replay" plays what the offline model did with elements, as `hisa replay` does.

With --on screen the machine is `--env screen`, on an X server with a window manager, and programs
and files are the person's (`benchmarks.seen_runs_screen`).

HiSA gets no accessibility tree, but the benchmark reads it just before and after each click, by a
handle of its own. A click is right if the control at its place is the one that was meant, or if
that one reacted to it (got the focus, was checked). Meant is the control at the point that the
script gives besides its description, which HiSA never sees; for the offline model it is the one
that HiSA's own matcher finds for the same description in the tree; for a replay the recorded one.
Wrong is a click at another control. All else is not judged: where one of the two is unknown, or
only holds others; places that no act was tried at; and the offline model with --with-elements,
where judge and grounder are one. Typing goes where the click before it went, and is not judged.
Ends with 1 if an act met another control than was meant.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import hisa
from benchmarks.machine import machine
from benchmarks.seen_runs_judge import (
    Judge,
    Meaning,
    Targets,
    TreeDesktop,
    TreeMachine,
    count_run,
    find_by_matcher,
    list_report_lines,
)
from benchmarks.seen_runs_screen import TreeScreen, name_home, person_session
from benchmarks.seen_runs_script import SCRIPTS, Script, read_scripts
from benchmarks.small_model.pages import REPORTED, kinds
from hisa.config import Settings, load
from hisa.errors import UsageError
from hisa.events import Instructed, Observed, RunStarted
from hisa.machine.parts import install_command
from hisa.plugins.replay.program_records import write_program
from hisa.plugins.replay.program_runs import settings_for
from hisa.plugins.replay.run_compiler import compile_run
from hisa.protocols import ModelRequest, Task
from hisa.runs.run_reader import Run, load_run
from hisa.screen.sight import can_see
from hisa.tasks.find_format import task_of_file
from hisa.tasks.taskfile import load_task
from hisa.testing.scripted import FunctionModel

PLANNERS = ("offline", "scripted", "points", "replay")
_EXAMPLES = Path(__file__).parents[1] / "examples"
_NOTE: Mapping[str, Any] = {
    "instruction": 'Write "hello" to the file note.txt of your home.',
    "setup": [{"launch": "mousepad"}],
    "check": [{"file": "~/note.txt", "equals": "hello"}],
}
"""The first task of the pages in docs, by their names, that has a check: of environments.md."""
_SEED = 20261129
"""The day of the draw."""
_MOST_STEPS = 40


def load_tasks() -> dict[str, tuple[str, Task]]:
    """Returns the half, desktop or page, and the task of each of the twenty, by their ids.

    Desktop tasks are all nine of ``own:examples`` and one of the documentation. Pages are drawn
    from those that are only clicked and typed in, less those that `benchmarks.small_model` reports
    and no other agent may meet.
    """
    files = sorted(_EXAMPLES.rglob("*.yaml"))
    own = [*map(load_task, files), task_of_file(Path("note.yaml"), _NOTE)]
    pages = sorted(page for page, why in kinds().items() if not why and page not in REPORTED)
    drawn = sorted(random.Random(_SEED).sample(pages, 10))
    tasks = {task.id: ("desktop", task) for task in own}
    return tasks | {page: ("page", load_task(f"miniwob:{page}", seed=0)) for page in drawn}


async def play(task: Task, options: argparse.Namespace, **how: Any) -> Counter[str]:
    """Plays a task once on a fresh desktop; returns its figures and prints them.

    Args:
        task: the task.
        options: of the command line.
        how: parts for `hisa.run`, and ``meaning``, which tells the judge what is meant.
    """
    meaning: Meaning | None = how.pop("meaning", None)
    settings: Settings = how.setdefault("settings", load_settings(options))
    tree_machine: TreeMachine = TreeDesktop().with_settings(settings.environment)
    if options.on == "screen":
        tree_machine = TreeScreen(settings=settings.environment)
        task = replace(task, instruction=name_home(task.instruction))
    judge = Judge(tree_machine, meaning)
    async with tree_machine:
        result = await hisa.run(task, environment=tree_machine, hooks=[judge], **how)
    run = load_run(result.folder)
    if options.pictures:
        _copy_pictures(run, task.id, options.pictures)
    figures = count_run(run, judge)
    shown = " ".join(f"{name} {count}" for name, count in figures.items() if count)
    print(f"{task.id}: {run.status}; {shown}; {result.folder}", flush=True)
    for place in judge.places:
        if not place.right:
            print(f"    {'wrong' if place.wrong else 'not judged'}: {place}", flush=True)
    return figures


def load_settings(options: argparse.Namespace, **environment: Any) -> Settings:
    """Returns the settings of a run: by rules, no patterns, elements as the options say."""
    tree: dict[str, Any] = {
        "run": {"folder": options.out / "runs", "max_steps": _MOST_STEPS, "confirm": "never"},
        "environment": {"elements": options.with_elements, **environment},
        "models": {role: {"model": "offline"} for role in ("planner", "state", "judge")},
        "patterns": {"enabled": False},
    }
    if options.on == "screen":
        tree["policy"] = {"defaults": "never"}  # as a person who lets every act happen
    if options.planner in ("scripted", "points"):
        tree["grounder"] = {"kind": "elements"}  # a script cannot pick from a list
    return load(overrides=tree, environ={})


async def play_by_script(task: Task, options: argparse.Namespace, script: Script) -> Counter[str]:
    """Plays a task by its script; see `play`."""

    def reply(request: ModelRequest) -> str:
        return name_home(script.reply(request)) if options.on == "screen" else script.reply(request)

    model = {"planner": FunctionModel(reply, f"script ({options.planner})")}
    return await play(
        task,
        options,
        model=model,
        on_event=script.hear,
        state="raw",
        meaning=script.find_target_point,
    )


async def play_again(task: Task, options: argparse.Namespace) -> Counter[str]:
    """Has the offline model do a task with elements, and replays that; no figures if it cannot."""
    shown = await hisa.run(task, settings=load_settings(options, elements=True))
    place = options.out / "programs" / shown.folder.name
    try:
        program = compile_run(load_run(shown.folder), task.id)
        write_program(program, place)
    except UsageError as error:
        print(f"{task.id}: no program: {error}", flush=True)
        return Counter()
    settings, targets = settings_for(load_settings(options), program, place), Targets(program)
    return await play(
        task, options, settings=settings, on_event=targets.hear, meaning=targets.find_target_point
    )


def _copy_pictures(run: Run, name: str, folder: Path) -> None:
    """Copy the screens of a run, and add its task's text to ``tasks.json`` beside the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    shown = dict.fromkeys(event.image for event in run.events if isinstance(event, Observed))
    for number, image in enumerate(shown):
        data = (run.folder / "images" / f"{image}.png").read_bytes()
        (folder / f"{name}-{number:02}.png").write_bytes(data)
    texts = [e.instruction for e in run.events if isinstance(e, RunStarted | Instructed)]
    file = folder.parent / "tasks.json"
    tasks = json.loads(file.read_text("utf-8")) if file.exists() else {}
    file.write_text(json.dumps(tasks | {name: texts[-1]}, indent=1, ensure_ascii=False), "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--planner", choices=PLANNERS, default="offline")
    parser.add_argument("--on", choices=("desktop", "screen"), default="desktop")
    parser.add_argument("--with-elements", action="store_true", help="show HiSA the tree")
    parser.add_argument("--scripts", type=Path, default=SCRIPTS, metavar="FILE")
    parser.add_argument("--only", nargs="+", metavar="ID", help="only these tasks")
    parser.add_argument("--out", type=Path, help="folder for the runs (a new one)")
    parser.add_argument("--pictures", type=Path, metavar="DIR", help="copy the screens to DIR")
    options = parser.parse_args()
    options.out = options.out or Path(tempfile.mkdtemp(prefix="seen-runs-"))
    tasks = load_tasks()
    if unknown := set(options.only or ()) - set(tasks):
        parser.error(f"no tasks {sorted(unknown)}; there are {', '.join(tasks)}")
    if not (options.with_elements or options.planner == "points" or can_see()):
        parser.error(f"no package sees elements on pictures; try: {install_command('eyes')}")
    if options.on == "screen" and options.planner == "replay":
        parser.error("replay: what it plays was recorded on a private desktop")
    by_script = options.planner in ("scripted", "points")
    try:
        scripts = read_scripts(options.scripts, tasks) if by_script else None
    except UsageError as error:
        parser.error(str(error))
    chosen = options.only or list(tasks)
    lacking = [name for name in chosen if scripts is not None and name not in scripts]
    if lacking and options.planner == "scripted":
        parser.error(f"{options.scripts} has no scripts of {', '.join(lacking)}")
    way = "with elements" if options.with_elements else "without elements"
    print(f"planner {options.planner}, {way} ({machine()}); runs: {options.out}", flush=True)
    rows = []
    for name in chosen:
        half, task = tasks[name]
        if scripts is not None:
            script = Script(scripts.get(name, ()), by_points=options.planner == "points")
            figures = play_by_script(task, options, script)
        elif options.planner == "replay":
            figures = play_again(task, options)
        else:
            meaning = None if options.with_elements else find_by_matcher
            figures = play(task, options, meaning=meaning)
        with person_session() if options.on == "screen" else nullcontext():
            rows.append((half, asyncio.run(figures)))
    for line in list_report_lines(rows):
        print(line)
    return int(any(figures["acted wrong"] for _, figures in rows))


if __name__ == "__main__":
    sys.exit(main())
