"""OS-Genesis' own road of synthesis (3.1 to 3.3), beside the proved tasks of the same folders.

    python -m benchmarks.broad_road pads page -o OUT --limit 12
    python -m benchmarks.broad_road pads page -o OUT --model gguf:coder-1.5b --limit 2

For each folder of an exploration: broader goals of its acts, runs that carry them out (cut off ones
too), grades by rules, and the mean distance of instructions beside those of its proved tasks. The
same command goes on. Without --model a scripted one answers: its goals name two controls of the
screen, it clicks one of them and says done, or, for every third goal, never says so.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from benchmarks.machine import machine
from hisa.config import load
from hisa.patterns.embedders import open_embedder
from hisa.plugins.synthesis.data.collecting import read_grades
from hisa.plugins.synthesis.data.set_measures import mean_distance
from hisa.plugins.synthesis.data.trajectories import read_trajectories
from hisa.plugins.synthesis.exploration import Exploration, read_records
from hisa.plugins.synthesis.task_records import Instruction
from hisa.protocols import Embedder
from hisa.tasks.taskfile import load_task
from hisa.testing import FakeServer
from hisa.testing.model_server import Received
from hisa.testing.scripted import tool_call

_SCRIPTED = "gpt-4o"  # the name that the scripted server answers to: a model that takes pictures
_CUT_OFF = 3  # every so manieth goal is never said to be done
_HEAD = "application | acts | scrolls | goals | runs | cut off | grades 5 to 1 | distance of goals"
_HEAD += " | of proved tasks"


class Script:
    """Answers of the scripted model: a goal for an act, or the next step of a run."""

    def __init__(self) -> None:
        self._goals: list[str] = []
        self._steps = Counter[str]()

    def __call__(self, received: Received) -> str:
        """One answer, as the request asks for it."""
        schema = json.dumps(received.body.get("response_format", ""))
        if "sub_instruction" in schema:
            return self._goal(received.text, "content" if '"content"' in schema else "task")
        for number, goal in enumerate(self._goals):
            if goal in received.text:
                self._steps[goal] += 1
                return self._step(goal, self._steps[goal], cut_off=number % _CUT_OFF == 0)
        return tool_call("infeasible", "no such goal")

    def _goal(self, text: str, sort: str) -> str:
        act = json.loads(text.rpartition("<action>\n")[2].partition("</action>")[0])
        name = act.get("name") or act.get("role") or "the keyboard"
        value = f" with {act['text']!r}" if act.get("text") else ""
        around = " of ".join(act.get("within", [])[:2]) or act.get("window", "")
        goal = f'Set up {around or "the application"} for a day of work, by way of "{name}"{value}.'
        self._goals.append(goal)
        sub = f'{act["kind"]} "{name}" there'
        reply = {"sub_instruction": sub, "analysis": "", "high_level_instruction": goal}
        return json.dumps(reply | {"sort": sort})

    def _step(self, goal: str, number: int, *, cut_off: bool) -> str:
        if number > 1 and not cut_off:
            return tool_call("termination", "Done.")
        match = re.search(r'"([^"]+)"', goal)
        return tool_call(
            "gui_action",
            "pyautogui.click(X_COORD, Y_COORD)",
            match[1] if match else "menu",
            thought=f"I will click {match[1] if match else 'on'}.",
        )


def write_goals(folder: Path, out: Path, line: list[str]) -> Path:
    """Write goals on links to what was explored; the folder that has them."""
    own = out / folder.name
    own.mkdir(parents=True, exist_ok=True)
    for name in ("subject.json", "states.jsonl", "triples.jsonl", "images", "elements"):
        if not (own / name).exists():
            (own / name).symlink_to((folder / name).resolve())
    _hisa([*line, "synth", "write", str(own), "--goal", "broad", *_ASKED])
    return own


_ASKED: list[str] = []


def _hisa(arguments: Iterable[str]) -> None:
    environ = os.environ | {"OPENAI_API_KEY": os.environ.get("OPENAI_API_KEY", "x")}
    command = [sys.executable, "-m", "hisa", *arguments]
    subprocess.run(command, check=False, stdout=sys.stderr, env=environ)


def row(folder: Path, own: Path, embedder: Embedder) -> str:
    """The cells of one application."""
    done = [one for one in Exploration.open(folder).triples if not one.failed]
    goals = read_records(own / "instructions.jsonl", Instruction)
    proved = [load_task(path).instruction for path in folder.glob("tasks/*/task.yaml")]
    runs, _ = read_trajectories([own / "collected"]) if (own / "collected").exists() else ([], {})
    marks = Counter(grade.reward for grade in read_grades(own / "collected"))
    cells = [
        folder.name,
        len(done),
        sum(one.act.kind == "scroll" for one in done),
        len(goals),
        len(runs),
        sum(run.truncated for run in runs),
        " ".join(str(marks[mark]) for mark in range(5, 0, -1)),
        *(_distance(texts, embedder) for texts in ([one.high for one in goals], proved)),
    ]
    return " | ".join(map(str, cells))


def _distance(texts: list[str], embedder: Embedder) -> str:
    mean = mean_distance(list(dict.fromkeys(texts)), embedder)
    return f"{'-' if mean is None else f'{mean:.2f}'} ({len(texts)})"


def main() -> None:
    """Go the road with each folder, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--model", default=_SCRIPTED)
    parser.add_argument("--limit", type=int, default=8, help="Goals of an application, and runs.")
    parser.add_argument("--steps", type=int, default=3)
    options = parser.parse_args()
    _ASKED[:] = ["--model", options.model, "--limit", str(options.limit)]
    keys = {"run.max_steps": options.steps, "models.state.model": "offline"}
    keys |= {"patterns.enabled": "false", "state.steps": "raw", "state.roi": "false"}
    with ExitStack() as stack:
        if options.model == _SCRIPTED:
            server = stack.enter_context(FakeServer(then=Script()))
            keys |= {"models.planner.base_url": server.url}
        line = [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]
        owns = [write_goals(folder, options.out, line) for folder in options.folders]
        for own in owns:
            collect = ["data", "collect", f"own:{own}/goals", "--unproved", *_ASKED]
            _hisa([*line, *collect, "-o", str(own / "collected")])
    by = open_embedder(load().patterns.embedder)
    print(
        machine(), f"{options.model}, {options.limit} goals at most, embedder {by.name}", sep="\n"
    )
    print(f"| {_HEAD} |\n|{'---|' * (_HEAD.count('|') + 1)}")
    for folder, own in zip(options.folders, owns, strict=True):
        print(f"| {row(folder, own, by)} |")


if __name__ == "__main__":
    main()
