# ruff: noqa: E501 - each line is a sentence of a step
"""Recall as a reader has it: facts of thoughts, asked for 25 steps later, from the prompt alone.

    python -m benchmarks.recall_reader [--split report] [--seeds N] [--every 3 5 7 9] [--no-notes]

A run has 64 steps. Twelve facts stand once each in a thought of three sentences, in no result; the
results are as long as those of real pages, and 25 steps in a row read like values (a pump's
pressure, a branch's balance). A fact is asked for 25 steps after it was thought. The reader gets the
prompt of that step and the question, and takes the clause that shares most of the question's rare
words; it is right if the fact stands in that clause as it was. Two thirds of the facts are among
those that the task says will be wanted, and the stand-in planner notes a sentence that speaks of one
of these, as its prompt asks; the others nobody knew to be wanted. ``--no-notes`` plays a planner
that never notes. No sentence of ``tune`` is one of ``report``. Versions without notes run it too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import re
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.machine import machine
from hisa.config import ModelSettings, Settings
from hisa.events import Abstracted, Event, Planned
from hisa.models.tokens import estimate_tokens
from hisa.planner.planner import GlobalPlanner
from hisa.planner.prompt_budget import prompt_budget
from hisa.plugins.offline.offline_model import OfflineModel
from hisa.protocols import GroundedCall, Task, ToolCall
from hisa.screen.geometry import Size
from hisa.screen.observation import Observation, Screenshot
from hisa.state.lines import history_line
from hisa.state.manager import build_state
from hisa.testing.scripted import ScriptedModel
from hisa.tools.registry import ToolRegistry

Split = Literal["tune", "report"]
STEPS, LATER, SERIES = 64, 25, 25
_SIZE = Size(1280, 720)

# What is asked for, the sentence that tells it, the kind of its value.
_FACTS: dict[Split, tuple[tuple[str, str, str], ...]] = {
    "tune": (
        ("release code", "For later: the release code is {}.", "code"),
        ("inspector", "The sheet was checked by inspector {}.", "person"),
        ("within limits", "Within limits is {} bar, says the note at the top.", "range"),
        ("deadline of the tender", "The deadline of the tender is {}.", "date"),
        ("template", "The template lies at {}.", "path"),
        ("contact of the supplier", "The contact of the supplier is {}.", "mail"),
        ("budget of the branch", "The budget of the branch is {} EUR.", "amount"),
        ("licence key", "The licence key reads {}.", "code"),
        ("warehouse", "The warehouse is in {}.", "town"),
        ("discount", "The discount for members is {} %.", "number"),
        ("meeting", "The meeting begins at {}.", "time"),
        ("serial number", "The serial number of the meter is {}.", "code"),
    ),
    "report": (
        ("booking reference", "Remember the booking reference {} for the letter.", "code"),
        ("auditor", "This year's auditor is called {}.", "person"),
        ("allowed range", "The allowed range: {} degrees.", "range"),
        ("expiry date", "The certificate's expiry date is {}.", "date"),
        ("archive folder", "Old invoices belong into the archive folder {}.", "path"),
        ("reply address", "The reply address in the footer: {}.", "mail"),
        ("outstanding balance", "An outstanding balance of {} USD is shown in red.", "amount"),
        ("voucher", "A voucher with the number {} applies.", "code"),
        ("landing port", "The landing port is {}.", "town"),
        ("surcharge", "The surcharge on weekends is {} percent.", "number"),
        ("cut-off time", "Orders have a cut-off time of {}.", "time"),
        ("container", "The container is marked {}.", "code"),
    ),
}
_BEFORE: dict[Split, tuple[str, ...]] = {
    "tune": (
        "Row {} is done as wanted.",
        "The dialog closed and the sheet is in front again.",
        "The last click had its effect.",
    ),
    "report": (
        "That worked, the panel came up.",
        "Page {} has loaded completely now.",
        "The filter took, fewer lines are left.",
    ),
}
_AFTER: dict[Split, tuple[str, ...]] = {
    "tune": (
        "I go on with the next row in the same way.",
        "Next I open the menu Data to sort by the second column.",
        "I scroll down to see what else there is.",
    ),
    "report": (
        "Now I turn to the entry below it.",
        "I use the arrow at the top to get back to the overview.",
        "Then the next page has to be opened.",
    ),
}
_RESULTS: dict[Split, tuple[str, ...]] = {
    "tune": (
        "Succeeded. Heading “Register of the southern branch” now reads “Register, page {}”. New on the screen: static “Line {}”, static “Open”, link “Next page of the register” and 14 more. Gone: static “Line 2”, static “Closed” and 9 more. The focus is on table “Entries of the day”.",
        "Succeeded. The window in front is now “Sheet {} of the year”. New on the screen: table cell “Sum”, table cell “Net”, push button “Recalculate” and 22 more. The focus is on text “Name box”.",
        "No visible change. Only the pointer moved; the list of the left side still shows its first {} rows.",
    ),
    "report": (
        "Succeeded. Dialog “Columns of the list” appeared. New on the screen: check box “Weight”, check box “Volume”, push button “Apply to all lists” and {} more. The window in front is now “Shipments”. The focus is on check box “Weight”.",
        "Succeeded. Heading “Shipments of the quarter” now reads “Shipments, part {}”. New on the screen: link “Details”, static “In transit”, static “Customs” and 17 more. Gone: link “Details of the first” and 8 more.",
        "Unexpected. “The list was reloaded, {} lines are new” says the notification that appeared. The focus is on table “Shipments of the quarter”.",
    ),
}
_LIKE: dict[Split, tuple[str, str, str]] = {
    "tune": ("The pressure of pump {} is {} bar.", "4.{:02d}", "pump"),
    "report": ("Crate {} weighs in at {} kg, which is right.", "1{:02d}.5", "crate"),
}
_NAMES = ("Marta", "Okafor", "Lindqvist", "Tanaka", "Moreau", "Szabo", "Iyer", "Novak", "Quist")
_TOWNS = ("Varde", "Ostrava", "Lugano", "Tromso", "Cadiz", "Leiden", "Split", "Narva")


@dataclass(frozen=True)
class Episode:
    """A run: its task, each step's thought and result, and each question with its answer by step."""

    task: str
    steps: tuple[tuple[str, str], ...]
    questions: dict[int, tuple[str, str]]


def _value(draw: random.Random, kind: str) -> str:
    number = draw.randrange(1000, 9999)
    letters = "".join(draw.sample("ABCDEFGHKLMNPQRSTUVWXYZ", 2))
    match kind:
        case "code":
            return f"{letters}-{number}"
        case "person":
            return " ".join(draw.sample(_NAMES, 2))
        case "range":
            return f"{draw.randrange(2, 5)}.{draw.randrange(10, 99)} to {draw.randrange(6, 9)}.{draw.randrange(10, 99)}"
        case "date":
            return f"2026-{draw.randrange(1, 13):02d}-{draw.randrange(1, 29):02d}"
        case "path":
            return f"/home/user/{letters.lower()}/{number}.ods"
        case "mail":
            return f"{draw.choice(_NAMES).lower()}{number}@branch.example"
        case "amount":
            return f"{number:,}.{draw.randrange(10, 99)}"
        case "town":
            return draw.choice(_TOWNS)
        case "time":
            return f"{draw.randrange(7, 19)}:{draw.choice((15, 30, 45))}"
        case _:
            return f"{draw.randrange(3, 60)}.{draw.randrange(1, 10)}"


def episode(split: Split, seed: int) -> Episode:
    """A run drawn by seed."""
    draw = random.Random(f"{split} reader {seed}")
    facts = draw.sample(_FACTS[split], len(_FACTS[split]))
    at = sorted(draw.sample(range(2, STEPS - LATER), len(facts)))
    foreseen = facts[: len(facts) * 2 // 3]
    begins = draw.randrange(8, STEPS - SERIES)
    told: dict[int, str] = {}
    questions: dict[int, tuple[str, str]] = {}
    draw.shuffle(facts)
    for step, (name, sentence, kind) in zip(at, facts, strict=True):
        value = _value(draw, kind)
        told[step] = sentence.format(value)
        questions[step + LATER] = (name, value)
    like, form, thing = _LIKE[split]
    steps = []
    for step in range(1, STEPS + 1):
        parts = [draw.choice(_BEFORE[split]).format(step), draw.choice(_AFTER[split])]
        result = draw.choice(_RESULTS[split]).format(draw.randrange(10, 90), draw.randrange(10, 90))
        if begins <= step < begins + SERIES:
            number = step - begins + 1
            parts.insert(1, like.format(number, form.format(number * 3 % 90 + 3)))
        if step in told:
            parts.insert(draw.randrange(len(parts) + 1), told[step])
        steps.append((" ".join(parts), result))
    wanted = ", ".join(f"the {name}" for name, _, _ in foreseen)
    task = f"Go through every {thing} of the list and correct it. At the end write a report with {wanted}."
    return Episode(task, tuple(steps), questions)


def noted(task: str, thought: str) -> str | None:
    """The note of a planner that obeys its prompt: what was read and is needed later, by the task."""
    wanted = task.partition("report with ")[2].rstrip(".").split(", ")
    notes = []
    for sentence in re.split(r"(?<=[.])\s+(?=[A-Z])", thought):
        for name in (each.removeprefix("the ") for each in wanted):
            if re.search(rf"\b{re.escape(name)}\b", sentence, re.IGNORECASE):
                notes.append(f"{name}: {sentence}")
    return "\n".join(notes) or None


def answer(prompt: str, question: str) -> str:
    """The clause of a prompt that shares most of the question's rare words; the newest of equals."""
    state = prompt.rpartition("</task>")[2]
    clauses = [c for c in re.split(r"\n| \| |; |(?<=[.!?…])\s+(?=[A-Z])", state) if c.strip()]
    words = [frozenset(re.findall(r"[\w-]+", clause.casefold())) for clause in clauses]
    common = Counter(word for each in words for word in each)
    asked = set(re.findall(r"[\w-]+", question.casefold()))

    def score(at: int) -> float:
        return sum(math.log(1 + len(clauses) / common[word]) for word in asked & words[at])

    best = max(range(len(clauses)), key=lambda at: (score(at), at), default=None)
    return clauses[best] if best is not None and score(best) > 0 else ""


async def play(split: Split, seed: int, *, every: int, notes: bool) -> list[dict[str, Any]]:
    """Each question of a run with what the reader found and the prompt's tokens."""
    drawn, rows = episode(split, seed), []
    settings = Settings.model_validate({"state": {"refine_every": every}})
    events: list[Event] = []
    state = build_state(
        OfflineModel(ModelSettings(model="offline")), settings.state, emit=events.append
    )
    planner = GlobalPlanner(
        ScriptedModel([]),
        ToolRegistry(),
        emit=events.append,
        budget=prompt_budget(settings.planner, settings.state, learns=settings.patterns.enabled),
    )
    look = Observation(Screenshot.from_rgb(_SIZE, bytes(3 * _SIZE.width * _SIZE.height)), _SIZE)
    task = Task("recall", drawn.task)
    for step, (thought, result) in enumerate(drawn.steps, 1):
        request = await planner.question(task, look, state.view())
        if step in drawn.questions:
            name, value = drawn.questions[step]
            said = answer(request.messages[1].parts[0].text, name)  # type: ignore[union-attr]
            tokens = estimate_tokens(request.text)
            row = {"seed": seed, "step": step, "asked": name, "right": value in said}
            rows.append(row | {"kept": value in request.text, "value": value, "tokens": tokens})
        source = f"pyautogui.click({100 + step}, {300 + step})"
        call = ToolCall(thought, "gui_action", source, "entry of the list")
        line = history_line(
            step, GroundedCall(call, source), result, limit=settings.state.step_tokens
        )
        fields: dict[str, Any] = {"step": step, "thought": thought, "tool": "gui_action"}
        if notes and "note" in Planned.model_fields:
            fields["note"] = noted(drawn.task, thought)
        events += [
            Planned(**fields, input=source, description=call.description),
            Abstracted(step=step, line=line, result=result),
        ]
        state.restore(events)
        await state.refine_if_due(task)
    return rows


async def measured(
    split: Split, seeds: int, every: Sequence[int], *, notes: bool
) -> dict[int, list[dict[str, Any]]]:
    """All questions by interval."""
    rows: dict[int, list[dict[str, Any]]] = {}
    for number in every:
        runs = [await play(split, seed, every=number, notes=notes) for seed in range(seeds)]
        rows[number] = [row for run in runs for row in run]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Facts that a reader of the prompt alone finds.")
    parser.add_argument("--split", choices=("tune", "report"), default="report")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--every", type=int, nargs="+", default=[3, 5, 7, 9], metavar="N")
    parser.add_argument("--no-notes", action="store_true", help="a planner that never notes")
    parser.add_argument("--json", action="store_true", help="print every question as JSON")
    options = parser.parse_args()
    notes = not options.no_notes
    rows = asyncio.run(measured(options.split, options.seeds, options.every, notes=notes))
    if options.json:
        print(json.dumps(rows))
        return
    print(f"{options.split} seeds 0 to {options.seeds - 1}, notes: {notes}; {machine()}")
    print(f"{'N':>3}{'right':>12}{'kept':>12}{'tokens':>9}{'most':>7}")
    for number, found in rows.items():
        right, kept = (sum(row[key] for row in found) for key in ("right", "kept"))
        tokens = [row["tokens"] for row in found]
        counts = f"{f'{right} of {len(found)}':>12}{f'{kept} of {len(found)}':>12}"
        print(f"{number:>3}{counts}{statistics.mean(tokens):>9.0f}{max(tokens):>7}")


if __name__ == "__main__":
    main()
