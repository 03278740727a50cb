"""Recall: how many of ten facts of a run still stand in the planner's prompt at step 100.

    python -m benchmarks.recall [--split report] [--seeds N] [--every 3 5 7 9] [--json]
    python -m benchmarks.recall --base-url URL --model NAME ...

The ten facts (a path, an amount, a date, a code, a person, a setting, an address, a mail, a text)
stand once each in the results of steps 5 to 90; about half of them the planner notes in its next
thought. A fact is kept where its value stands, as it is, in the prompt of step 100. Summaries are
written by the rules of the offline model or by a model of any OpenAI-compatible endpoint. The seeds
of ``--split tune`` are for work on prompts and rules, those of ``report`` for the table; the two
share no sentence.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from typing import Any

from benchmarks.machine import machine
from benchmarks.recall_texts import FACTS, TASK, Split, count_values, episode
from hisa.config import ModelSettings, Settings
from hisa.events import Abstracted, Event
from hisa.models.client import OpenAIModel
from hisa.models.endpoint import Endpoint
from hisa.models.profiles import find
from hisa.planner.planner import GlobalPlanner
from hisa.planner.prompt_budget import prompt_room
from hisa.plugins.offline.offline_model import OfflineModel
from hisa.protocols import Model, Task
from hisa.screen.geometry import Size
from hisa.screen.observation import Observation, Screenshot
from hisa.state.manager import build_state
from hisa.testing.scripted import ScriptedModel
from hisa.tools.registry import ToolRegistry

GOAL, GOAL_AT = 9, 5
"""Facts that are to be kept in the mean, and at which interval."""
FULL_HISTORY = 0
"""In place of an interval: the whole history, nothing folded."""
_SIZE = Size(1280, 720)


def settings_for(every: int) -> Settings:
    """The default settings with that interval; for the whole history without any limit."""
    if every == FULL_HISTORY:
        return Settings.model_validate({"state": {"refine": "window", "window": 1000}})
    return Settings.model_validate({"state": {"refine_every": every}})


async def count_recalled(
    split: Split, seed: int, *, every: int, model: Model
) -> tuple[int, dict[int, bool]]:
    """How many facts the prompt of step 100 has, and which by the step they were seen in."""
    drawn, settings, task = episode(split, seed), settings_for(every), Task("recall", TASK)
    events: list[Event] = []
    state = build_state(model, settings.state, emit=events.append)
    for number, line in enumerate(drawn.lines, 1):
        events.append(Abstracted(step=number, line=line, result=line.rpartition("Result: ")[2]))
        state.restore(events)
        await state.refine_if_due(task)
    planner = GlobalPlanner(
        ScriptedModel([]), ToolRegistry(), emit=events.append, room=prompt_room(settings.state)
    )
    observation = Observation(
        Screenshot.from_rgb(_SIZE, bytes(3 * _SIZE.width * _SIZE.height)), _SIZE
    )
    text = (await planner.question(task, observation, state.view())).text
    presence = {step: value in text for step, value in drawn.facts.items()}
    assert sum(presence.values()) == count_values([*drawn.facts.values()], text)
    return sum(presence.values()), presence


def _open_model(options: argparse.Namespace) -> OpenAIModel:
    """The model that writes the summaries."""
    if not options.model:
        return OfflineModel(ModelSettings(model="offline"))
    model_settings = ModelSettings(model=options.model, timeout=3600, max_tokens=320)
    profile = find(options.model)
    return OpenAIModel(model_settings, Endpoint(options.base_url), profile=profile)


async def _rows(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Returns a row for each interval and seed."""
    by = options.model or "the offline model's rules"
    model = _open_model(options)
    rows = []
    try:
        for every in options.every:
            for seed in range(options.seeds):
                began = time.monotonic()
                number, facts = await count_recalled(options.split, seed, every=every, model=model)
                lost = [step for step, held in facts.items() if not held]
                row = {"by": by, "split": options.split, "seed": seed, "every": every}
                seconds = round(time.monotonic() - began, 1)
                rows.append({**row, "kept": number, "lost": lost, "seconds": seconds})
    finally:
        await model.aclose()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Facts that the prompt of step 100 still has.")
    parser.add_argument("--split", choices=("tune", "report"), default="report")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument(
        "--every",
        type=int,
        nargs="+",
        default=[3, 5, 7, 9, FULL_HISTORY],
        metavar="N",
        help="intervals; 0: the whole history",
    )
    parser.add_argument("--base-url", default="", help="of an OpenAI-compatible server")
    parser.add_argument("--model", default="", help="its name there; none: the offline rules")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    rows = asyncio.run(_rows(options))
    if options.json:
        print(json.dumps(rows))
        return
    print(
        f"summaries by {rows[0]['by']}; {options.split} seeds 0 to {options.seeds - 1}; {machine()}"
    )
    print(f"{'N':>6}{'kept of ' + str(FACTS):>12}{'least':>7}{'most':>6}{'s a run':>9}")
    for every in options.every:
        mine = [row for row in rows if row["every"] == every]
        counts = [row["kept"] for row in mine]
        seconds = sum(row["seconds"] for row in mine) / len(mine)
        mean_text = f"{sum(counts) / len(counts):.1f}"
        print(
            f"{every or 'whole':>6}{mean_text:>12}{min(counts):>7}{max(counts):>6}{seconds:>9.1f}"
        )
        if every == GOAL_AT:
            met = sum(counts) >= GOAL * len(counts)
            print(f"{'':>6}goal {GOAL} of {FACTS}: {'met' if met else 'NOT met'}")


if __name__ == "__main__":
    main()
