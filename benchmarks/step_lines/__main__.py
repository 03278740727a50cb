"""Lines of steps drawn by seed from real runs: how many are false, how many empty.

    python -m benchmarks.step_lines run FILE [--part tune|report] [--seed N] [--runs N] [--steps N]
                                             [--scene NAME]…
    python -m benchmarks.step_lines show FILE… [--faults]
    python -m benchmarks.step_lines goals [as run, without FILE]

``run`` acts on a page made by seed, on LibreOffice, Mousepad and a terminal, and on pages and
dialogs of one situation each (`situations`, where the truth stands beside each act), on a private
desktop, with a scripted planner and the state manager's own rules (no state model), and writes a
record of each step: its line, and what page, UNO, window manager or file said before and after it.
``show`` judges them: a line is false if one of its claims is, empty if it claims nothing but a
verdict, or leaves out what is written down of its act. ``--part report`` draws pages and formulas
that no rule was written from. ``--faults`` prints lines that are false or empty. ``goals`` runs and
shows in one, and says whether 2% false and 5% empty are met.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import hisa
from benchmarks.machine import machine
from benchmarks.step_lines.judge import Judgement, Source, judge_line
from benchmarks.step_lines.scenes import PAGES, SCENES, LastingDesktop, make_scene
from benchmarks.step_lines.situations import SITUATIONS
from hisa.config import ModelSettings, Settings, load
from hisa.events import Abstracted, Acted, Event, StepFinished
from hisa.models.client import OpenAIModel
from hisa.plugins.benchmarks.bench.stats import wilson
from hisa.plugins.offline.offline_model import OfflineModel
from hisa.protocols import ModelRequest, Task
from hisa.testing.scripted import FunctionModel, tool_call

FALSE_GOAL = 0.02
EMPTY_GOAL = 0.05


def _rules() -> OpenAIModel:
    """The state manager's own rules, as where no state model is named."""
    return OfflineModel(ModelSettings(model="offline"))


def _settings(folder: Path, steps: int) -> Settings:
    return load(
        overrides={
            "run": {"folder": folder, "max_steps": 2 * steps + 5},
            "grounder": {"kind": "elements"},
            "patterns": {"enabled": False},
        },
        environ={},
    )


async def one_run(
    kind: str, seed: str, part: str, steps: int, environment: LastingDesktop
) -> list[dict[str, Any]]:
    """The records of a run's steps."""
    scene = make_scene(kind, seed, part, steps)
    await scene.open(environment)
    acts = scene.replies()
    sources: list[Source] = []
    records: list[dict[str, Any]] = []
    now: dict[str, Any] = {}

    async def plan(request: ModelRequest) -> str:
        sources.append(await scene.source(environment))
        act = next(acts, None)
        if act is None or len(sources) > 2 * steps:
            return tool_call("termination", "Done.", thought="Done.")
        return scene.reply(act, sources[-1])

    def heard(event: Event) -> None:
        match event:
            case Acted():
                now["acted"] = str(event.input)
            case Abstracted():
                now.update(line=event.line, result=event.result)
            case StepFinished():
                records.append(dict(now))
                now.clear()
            case _:
                pass

    with tempfile.TemporaryDirectory() as folder:
        await hisa.run(
            Task("lines", "Do what the script says."),
            settings=_settings(Path(folder), steps),
            model={"planner": FunctionModel(plan, "scripted"), "state": _rules()},
            environment=environment,
            on_event=heard,
        )
    return [
        {
            "scene": kind,
            "seed": seed,
            "part": part,
            **record,
            "before": asdict(before),
            "after": asdict(after),
        }
        for record, before, after in zip(records, sources, sources[1:], strict=False)
    ]


async def run(options: argparse.Namespace) -> None:
    """Run the scenes, and write a record a line."""
    with Path(options.file).open("a", encoding="utf-8") as file:  # noqa: ASYNC230 - a line a step
        for kind in options.scene or SCENES:
            async with LastingDesktop() as environment:
                for number in range(options.runs if kind in (*PAGES, *SITUATIONS) else 1):
                    seed = f"{options.seed}.{number}"
                    started = time.monotonic()
                    records = await one_run(kind, seed, options.part, options.steps, environment)
                    for record in records:
                        file.write(json.dumps(record) + "\n")
                    file.flush()
                    took = time.monotonic() - started
                    print(f"{kind} {seed}: {len(records)} steps in {took:.0f} s", flush=True)


def _interval(hits: int, of: int) -> str:
    """Wilson's 95% interval."""
    if not of:
        return "-"
    low, high = wilson(hits, of)
    return f"{hits} of {of} = {hits / of:.1%} ({low:.1%} to {high:.1%})"


def print_goals(options: argparse.Namespace) -> None:
    """Runs into a file of its own, shows it and says whether the goals are met."""
    with tempfile.TemporaryDirectory() as folder:
        options.file = str(Path(folder) / "lines.jsonl")
        options.files, options.faults = [options.file], False
        asyncio.run(run(options))
        judged = show(options)
    for name, hits, goal in (
        ("false", sum(row.false for row in judged), FALSE_GOAL),
        ("empty", sum(row.empty for row in judged), EMPTY_GOAL),
    ):
        met = bool(judged) and hits <= goal * len(judged)
        print(f"  {name}: goal {goal:.0%}, {'met' if met else 'NOT met'}")


def show(options: argparse.Namespace) -> list[Judgement]:
    """Judges the records and prints what came of it; returns the judgements."""
    texts = (Path(name).read_text("utf-8") for name in options.files)
    records = [json.loads(row) for text in texts for row in text.splitlines()]
    judged = [
        judge_line(record["result"], Source(**record["before"]), Source(**record["after"]))
        for record in records
    ]
    print(f"step lines ({machine()}), {', '.join(options.files)}")
    for kind in (*SCENES, ""):
        rows = [j for r, j in zip(records, judged, strict=True) if kind in ("", r["scene"])]
        if not rows:
            continue
        verdicts = Counter(verdict for row in rows for _, verdict in row.claims)
        print(f"  {kind or 'all':<9} false {_interval(sum(row.false for row in rows), len(rows))}")
        print(f"            empty {_interval(sum(row.empty for row in rows), len(rows))}")
        print(f"            claims: {dict(verdicts)}")
    if options.faults:
        for record, row in zip(records, judged, strict=True):
            if row.false or row.empty:
                print(f"\n{record['scene']} {record['seed']}: {record['line']}")
                print("   ", [claim for claim in row.claims if claim[1] != "true"])
    return judged


def _add_run_options(runs: argparse.ArgumentParser) -> None:
    runs.add_argument("--part", choices=("tune", "report"), default="report")
    runs.add_argument("--seed", type=int, default=1)
    runs.add_argument("--runs", type=int, default=4, help="pages (4)")
    runs.add_argument("--steps", type=int, default=25, help="acts of each run (25)")
    runs.add_argument("--scene", choices=SCENES, action="append")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    runs = commands.add_parser("run")
    runs.add_argument("file")
    _add_run_options(runs)
    runs.set_defaults(do=lambda options: asyncio.run(run(options)))
    goals = commands.add_parser("goals")
    _add_run_options(goals)
    goals.set_defaults(do=print_goals)
    shown = commands.add_parser("show")
    shown.add_argument("files", nargs="+")
    shown.add_argument("--faults", action="store_true", help="print false and empty lines")
    shown.set_defaults(do=show)
    options = parser.parse_args()
    options.do(options)


if __name__ == "__main__":
    main()
