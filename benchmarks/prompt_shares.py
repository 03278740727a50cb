"""Tokens of the planner's prompt by section, over the tasks of suites, with the state full.

    python -m benchmarks.prompt_shares [--suite own:examples ...] [--every 3 5 7 9] [--json]

Each task of the suites gets the prompt of the last step of an interval: the rules of its domain,
five lessons, a summary at its limit and all lines at theirs, on a screen with its application in
front. Counted by the upper estimate is what stands in the prompt, by section; and of summary and
lines the share that reaches the planner whole. Where a version refuses settings, it says so.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.tool_tokens import look_at
from hisa.config import Settings
from hisa.events import Event
from hisa.models.tokens import estimate_tokens, prefix_within
from hisa.patterns.memory import PatternMemory
from hisa.patterns.open_memory import open_sops
from hisa.patterns.stores.edge import EdgeStore
from hisa.planner.planner import GlobalPlanner
from hisa.plugins.benchmarks.bench.suites import read_suite
from hisa.protocols import Pattern, StateView, Task, TextPart
from hisa.state.manager import build_state
from hisa.tasks.taskfile import load_task
from hisa.testing.scripted import FunctionModel, ScriptedModel
from hisa.testing.word_embedder import WordEmbedder
from hisa.tools.registry import ToolRegistry

SUITES = ("own:examples", "own:benchmarks/api_gui/tasks", "miniwob")
SECTIONS = ("system", "tools", "rules", "lessons", "refined_context", "execution_history", "all")
_APPS = {
    "calc": "libreoffice-calc",
    "excel": "libreoffice-calc",
    "libreoffice_calc": "libreoffice-calc",
    "writer": "libreoffice-writer",
    "libreoffice_writer": "libreoffice-writer",
    "browser": "chromium",
    "chrome": "chromium",
    "text_editor": "mousepad",
}
_LESSON = (
    "The dialog loses its values when the page behind it is left, so set number {} of them last."
)


def full_view(settings: Settings, advice: str) -> StateView:
    """A state whose parts are as long as they may be, at the last step of an interval."""
    state = settings.state
    end = " Suggestion: go on with row 40."
    done = prefix_within(
        "Steps 1~40: " + "the row was read and filled in; " * 200, state.refined_tokens - 12
    )
    line = prefix_within(
        "Step 41: gui_action | Thought: " + "the row is done as wanted. " * 99, state.step_tokens
    )
    raw = prefix_within("Step 41: bash_execution | Result: " + "a row of the file; " * 900, 700)
    lines = state.window if state.refine == "window" else max(1, state.refine_every - 1)
    return StateView(
        advice=advice,
        refined=done + end if state.refine == "summary" else "",
        steps=tuple((raw if state.steps == "raw" else line) for _ in range(lines)),
    )


async def sections_of(task: Task, settings: Settings, folder: Path) -> dict[str, float]:
    """Tokens by section of the prompt for a task, and what of summary and lines stands in it."""
    said: list[Event] = []
    look = look_at(_APPS.get(task.domain, ""))
    state = build_state(
        FunctionModel(lambda r: _lessons()),
        settings.state,
        emit=said.append,
        memory=_memory(folder, settings, task),
    )
    await state.recall(task)
    view = full_view(settings, state.view(look).advice)
    planner = GlobalPlanner(
        ScriptedModel([]), ToolRegistry(), emit=said.append, **_budget(settings)
    )
    system, user = (await planner.question(task, look, view)).messages
    text = "\n".join(part.text for part in user.parts if isinstance(part, TextPart))
    head = "\n".join(part.text for part in system.parts if isinstance(part, TextPart))
    found: dict[str, float] = {"system": estimate_tokens(head)}
    for name in ("tools", "advice", "refined_context", "execution_history"):
        body = re.search(rf"^<{name}>\n(.*?)\n</{name}>$", text, re.M | re.S)
        found[name] = estimate_tokens(body[1]) if body else 0
        if name == "advice":
            lines = body[1].splitlines() if body else []
            lessons = [line for line in lines if line.startswith("- [p")]
            found["lessons"] = estimate_tokens("\n".join(lessons))
            found["rules"] = estimate_tokens(
                "\n".join(line for line in lines if line not in lessons)
            )
    found["all"] = estimate_tokens(f"{head}\n{text}")
    told = sum(line in text for line in set(view.steps)) and text.count(view.steps[0])
    found["summary kept"] = (
        float("(cut here" not in text and "Suggestion: go on" in text) if view.refined else 1.0
    )
    found["lines kept"] = told / len(view.steps)
    return found


def _lessons() -> str:
    return "\n".join(f"- [p{number}] {_LESSON.format(number)}" for number in range(1, 6))


def _memory(folder: Path, settings: Settings, task: Task) -> PatternMemory:
    embedder = WordEmbedder()
    store = EdgeStore(folder / task.domain, embedder)
    if store.meta() is None:
        for number in range(5):
            pattern = Pattern(
                id=f"p{number}",
                kind="failure",
                lesson=_LESSON.format(number),
                domain=task.domain,
                condition="all",
                scope="application",
            )
            store.put(pattern, embedder.embed(["all"])[0])
    return PatternMemory(
        store,
        embedder,
        model=FunctionModel(lambda r: _lessons()),
        settings=settings.patterns,
        state=settings.state,
        emit=lambda event: None,
        sops=open_sops(settings.patterns),
    )


def _budget(settings: Settings) -> dict[str, Any]:
    try:
        from hisa.planner.prompt_budget import prompt_budget
    except ImportError:  # an older version, whose prompt had one limit for all settings
        return {}
    return {
        "budget": prompt_budget(settings.planner, settings.state, learns=settings.patterns.enabled)
    }


def variants(every: Sequence[int]) -> dict[str, Settings]:
    """The settings of each row."""
    found: dict[str, dict[str, Any]] = {f"n{number}": {"refine_every": number} for number in every}
    found |= {"no-abstraction": {"steps": "raw"}, "no-refinement": {"refine": "window"}}
    return {name: Settings.model_validate({"state": tree}) for name, tree in found.items()}


async def measured(suites: Sequence[str], every: Sequence[int]) -> dict[str, dict[str, float]]:
    """Means over all tasks of the suites, by variant."""
    tasks = [load_task(each.path) for name in suites for each in read_suite(name).tasks]
    rows: dict[str, dict[str, float]] = {}
    for name, settings in variants(every).items():
        with tempfile.TemporaryDirectory() as folder:
            each = [await sections_of(task, settings, Path(folder)) for task in tasks]
        rows[name] = {key: statistics.mean(one[key] for one in each) for key in each[0]}
        rows[name]["most"] = max(one["all"] for one in each)
        rows[name]["tasks"] = len(each)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Tokens of the planner's prompt by section.")
    parser.add_argument("--suite", nargs="+", default=SUITES, metavar="NAME")
    parser.add_argument("--every", type=int, nargs="+", default=[3, 5, 7, 9], metavar="N")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    rows = asyncio.run(measured(options.suite, options.every))
    if options.json:
        print(json.dumps(rows))
        return
    tasks = int(next(iter(rows.values()))["tasks"])
    print(f"{tasks} tasks of {', '.join(options.suite)}; {machine()}")
    heads = ("system", "tools", "rules", "lessons", "summary", "lines", "all", "most")
    print(f"{'variant':<16}" + "".join(f"{head:>9}" for head in heads) + "  summary, lines whole")
    for name, row in rows.items():
        numbers = "".join(f"{row[key]:>9.0f}" for key in (*SECTIONS, "most"))
        print(f"{name:<16}{numbers}  {row['summary kept']:>6.0%} {row['lines kept']:>6.0%}")


if __name__ == "__main__":
    main()
