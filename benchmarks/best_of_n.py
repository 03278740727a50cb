"""What several attempts bring, with a planner that fails 40% of them: N = 1, 2, 4 and an oracle.

    python -m benchmarks.best_of_n [-n TASKS] [--desktops TASKS] [--json]

Every attempt is a whole run by the real loop, scored by the task's check: on the form in memory
(``-n``), or on a private desktop with a text editor (``--desktops``). The planner is the offline
model, which is right on these tasks, with its task tampered with in 40% of the attempts, by lot, in
one of five ways: it stops early and claims success, types a wrong value, saves in a wrong way or
under a wrong name, ends "infeasible", or runs out of steps. It always claims the same. N attempts
of a task are its first N, so the columns are paired.

The judges are stand-ins, and none of them reads a task as a language model does:

* *none*: it never answers, so the facts alone decide where they leave one answer;
* *offline*: the rules of `hisa.plugins.offline.attempt_rules` on the real request. They look for
  the texts that a task puts in quotes, and most ways in which this planner fails show there;
* *no quotes*: the same, with a task from which the quotes are taken: they can only count;
* *told 70%*, *told 90%*: told which attempts succeeded, they take one of these so often where right
  and wrong ones are there: what a judge of that accuracy would bring, and no judge.

An oracle takes an attempt that succeeded wherever there is one. Intervals are Wilson's, of tasks.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import shutil
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hisa
from benchmarks.machine import machine
from hisa.config import Settings, load
from hisa.models.tokens import estimate_tokens
from hisa.plugins.benchmarks.attempts.attempt_facts import AttemptFacts, attempt_facts
from hisa.plugins.benchmarks.attempts.best_run import Choice, Judge, choose, shown_order
from hisa.plugins.benchmarks.bench.stats import wilson
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.offline.role_answers import Turn, answer
from hisa.protocols import Environment, ImagePart, Message, Model, ModelRequest, Task, TextPart
from hisa.runs.log import RunLog
from hisa.runs.read import load_run
from hisa.testing import FakeEnvironment, FunctionModel, tool_call

FAILS = 0.4
KINDS = ("early", "value", "place", "infeasible", "steps")
NUMBERS = (1, 2, 4)
MAX_STEPS = 9
"""A right attempt on the desktop takes 6 steps, one with a detour 8."""
CLAIM = "I typed the text and saved it, as the task asks."
NAMES = ("Ada", "Grace", "Barbara", "Katherine", "Edsger", "Donald", "Alan", "Frances", "Radia")


@dataclass(frozen=True)
class Suite:
    """Tasks of one kind: their words, their check, and how each is tampered with."""

    open: Callable[[], Environment]
    words: str
    """With ``{text}`` and ``{name}``, each instruction ended by a full stop."""
    check: Mapping[str, str]
    right: Sequence[Callable[[str], str]]
    """Ways that come to the same, one of which an attempt takes by lot."""
    place: Callable[[str], str]
    """Another button, or another name of the file."""


def _without_last(words: str) -> str:
    return words.rstrip(".").rpartition(". ")[0] + "."


FORM = Suite(
    FakeEnvironment,
    'Click the "Name" field. Type "{text}". Click the "Save" button.',
    {"file": "/home/user/form.txt", "equals": "{text}"},
    (
        lambda words: words,
        lambda words: words.replace('Click the "Save" button', "Press Ctrl+S"),
        lambda words: f'Click the "Agree" check box. {words}',
    ),
    lambda words: words.replace('"Save"', '"OK"'),
)
EDITOR = Suite(
    DesktopEnvironment,
    'Open the text editor. Type "{text}". Save the file as "{name}.txt".',
    {"file": "~/{name}.txt", "equals": "{text}"},
    (lambda words: words, lambda words: words.replace(". Type", ". Wait 1 second. Type")),
    lambda words: words.replace('.txt"', '-1.txt"'),
)


class Tampered:
    """The offline model as a planner whose task is another one than it was given.

    Args:
        words: the task as the run has it.
        instead: what the rules read in its place.
        kind: how the attempt fails; empty: it does not.
    """

    def __init__(self, words: str, instead: str, kind: str) -> None:
        self._words = words
        self._instead = instead
        self._kind = kind

    def __call__(self, request: ModelRequest) -> str:
        """Answers as the rules do, but for the ends."""
        if self._kind == "infeasible" and request.step >= 3:
            return tool_call("infeasible", "There is no way to save this here.")
        if self._kind == "steps" and request.step >= 3:
            key = ("left", "right", "home", "end")[request.step % 4]
            return tool_call("gui_action", f"pyautogui.press('{key}')")
        said = by_rules(request, lambda text: text.replace(self._words, self._instead))
        if json.loads(said)["tool"] == "termination":
            return tool_call("termination", CLAIM)
        return said


def by_rules(request: ModelRequest, change: Callable[[str], str] = str) -> str:
    """Returns the offline model's answer to a request whose text is changed before."""
    return answer([_turn(message, change) for message in request.messages])


def _turn(message: Message, change: Callable[[str], str]) -> Turn:
    texts = [part.text for part in message.parts if isinstance(part, TextPart)]
    images = [part.image.png for part in message.parts if isinstance(part, ImagePart)]
    return Turn(message.role, change("\n".join(texts)), images)


@dataclass(frozen=True)
class Made:
    """One attempt: its facts, whether it did the task, and how it was meant to fail."""

    facts: AttemptFacts
    success: bool
    kind: str
    instruction: str


async def attempt(suite: Suite, number: int, draw: random.Random, folder: Path) -> Made:
    """Make one attempt at the task of that number."""
    text, name = f"{NAMES[number % len(NAMES)]} {number}", f"note{number}"
    words = suite.words.format(text=text, name=name)
    check = {key: value.format(text=text, name=name) for key, value in suite.check.items()}
    task = Task(name, words, check={"all": [check]})
    kind = draw.choice(KINDS) if draw.random() < FAILS else ""
    instead = draw.choice(suite.right)(words)
    if kind == "early":
        instead = _without_last(instead)
    elif kind == "value":
        instead = instead.replace(text, text.replace(text[1], text[2], 1) + "0")
    elif kind == "place":
        instead = suite.place(words)
    planner = FunctionModel(Tampered(words, instead, kind), name="offline")
    own: dict[Any, Model] = {"planner": planner, "state": FunctionModel(by_rules, name="offline")}
    return await _run(suite, task, own, kind, folder)


async def _run(suite: Suite, task: Task, own: Mapping[Any, Model], kind: str, folder: Path) -> Made:
    settings = _settings(folder)
    async with AsyncExitStack() as stack:
        environment = await stack.enter_async_context(suite.open())
        log = stack.enter_context(RunLog.create(folder, task))
        agent = hisa.Agent(own, settings=settings, environment=environment)
        async with agent.open(task, log) as loop:
            result = await loop.run(task)
    return Made(attempt_facts(load_run(log.folder)), result.success, kind, task.instruction)


def _settings(folder: Path) -> Settings:
    overrides = {
        "run": {"folder": folder, "max_steps": MAX_STEPS},
        "patterns": {"enabled": False},
    }
    return load(environ={}, overrides=overrides)


# ---------------------------------------------------------------- judges


class Told:
    """A judge that is told which attempts succeeded, and takes one of them so often.

    Args:
        accuracy: how often, where there are right and wrong ones.
        right: their numbers, as they are shown.
        most: attempts that are shown.
        draw: the lot.
    """

    def __init__(self, accuracy: float, right: set[int], most: int, draw: random.Random) -> None:
        self._accuracy = accuracy
        self._right = right
        self._most = most
        self._draw = draw

    def __call__(self, request: ModelRequest) -> str:
        """Answers without reading the request."""
        everyone = set(range(1, self._most + 1))
        among = self._right if self._draw.random() < self._accuracy else everyone - self._right
        index = self._draw.choice(sorted(among or everyone))
        return json.dumps({"explaining": "As it was told.", "index": index})


def judge_named(name: str, made: Sequence[Made], seed: int) -> FunctionModel:
    """Returns the judge of that name for these attempts."""
    if name == "none":
        return FunctionModel(lambda _: "I will not say.", name=name)
    if name in ("offline", "no quotes"):
        return FunctionModel(by_rules, name=name)
    right = {each.facts.run for each in made if each.success}
    shown = shown_order([each.facts for each in made], seed)
    numbers = {number for number, facts in enumerate(shown, 1) if facts.run in right}
    accuracy = float(name.removeprefix("told ").rstrip("%")) / 100
    draw = random.Random(f"{name} {seed} {len(made)}")
    return FunctionModel(Told(accuracy, numbers, len(made), draw), name=name)


JUDGES = ("none", "no quotes", "offline", "told 70%", "told 90%")


@dataclass(frozen=True)
class Taken:
    """What was taken of some attempts."""

    success: bool
    by: str
    tokens: int


async def taken(name: str, made: Sequence[Made], seed: int) -> Taken:
    """Have a judge take one of the attempts; the whole of HiSA's choice lies between."""
    model, instruction = judge_named(name, made, seed), made[0].instruction
    if name == "no quotes":
        instruction = instruction.replace('"', "")
    choice: Choice = await choose(
        [each.facts for each in made], instruction, Judge(model), seed=seed
    )
    success = next((each.success for each in made if each.facts.run == choice.run), False)
    replies = sum(estimate_tokens(reply.text) for reply in choice.replies)
    tokens = sum(estimate_tokens(request.text) for request in model.requests) + replies
    return Taken(success, choice.by, tokens)


# ---------------------------------------------------------------- measuring


async def measure(suite: Suite, tasks: int, seed: int) -> dict[str, Any]:
    """Make all attempts, and choose among the first N of each task in each way."""
    rows: list[list[Made]] = []
    folder = Path(tempfile.mkdtemp(prefix="best-of-n-"))
    try:
        for number in range(tasks):
            draw = random.Random(f"{seed} {number}")
            runs = folder / str(number)
            rows.append([await attempt(suite, number, draw, runs) for _ in range(max(NUMBERS))])
            if sys.stderr.isatty():
                print(f"\r{number + 1} of {tasks} tasks", end="", file=sys.stderr)
        return await _chosen(rows)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _chosen(rows: Sequence[Sequence[Made]]) -> dict[str, Any]:
    judged: dict[str, dict[int, list[Taken]]] = {name: {} for name in JUDGES}
    for name in JUDGES:
        for size in NUMBERS:
            judged[name][size] = [
                await taken(name, made[:size], seed) for seed, made in enumerate(rows)
            ]
    made = [each for row in rows for each in row]
    rates = {
        size: {
            "random": statistics.mean(each.success for row in rows for each in row[:size]),
            "oracle": statistics.mean(any(e.success for e in row[:size]) for row in rows),
            **{name: _rate(judged[name][size]) for name in JUDGES},
        }
        for size in NUMBERS
    }
    return {
        "tasks": len(rows),
        "attempts": len(made),
        "meant_to_fail": sum(bool(each.kind) for each in made),
        "failed": sum(not each.success for each in made),
        "against_intent": sum(each.success == bool(each.kind) for each in made),
        "kinds": dict(Counter(each.kind for each in made if each.kind)),
        "rates": rates,
        "tokens": {
            name: {size: statistics.mean(t.tokens for t in judged[name][size]) for size in NUMBERS}
            for name in JUDGES
        },
        "by": {name: dict(Counter(t.by for t in judged[name][4])) for name in JUDGES},
    }


def _rate(all_taken: Sequence[Taken]) -> float:
    return statistics.mean(each.success for each in all_taken)


def show(title: str, found: dict[str, Any]) -> None:
    """Print one suite's table."""
    tasks = found["tasks"]
    kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(found["kinds"].items()))
    print(
        f"{title}: {tasks} tasks, {found['attempts']} attempts, {found['failed']} failed "
        f"({found['meant_to_fail']} were meant to: {kinds}; {found['against_intent']} came out "
        "otherwise than meant)"
    )
    print("| who takes one | N = 1 | N = 2 | N = 4 | tokens of judging, N = 2 | N = 4 |")
    print("|---|---|---|---|---|---|")
    for name in ("random", *JUDGES, "oracle"):
        cells = [_cell(found["rates"][size][name], tasks) for size in NUMBERS]
        spent = [found["tokens"].get(name, {}).get(size, 0) for size in (2, 4)]
        cells += [f"{tokens:.0f}" if tokens else "" for tokens in spent]
        print(f"| {LABELS[name]} | {' | '.join(cells)} |")
    for name in JUDGES:
        by = ", ".join(f"{way} {count}" for way, count in sorted(found["by"][name].items()))
        print(f"  of N = 4, {name}: {by}")


LABELS = {
    "random": "one at random",
    "none": "no judge: the facts where they leave one",
    "no quotes": "the offline model, task without quotes",
    "offline": "the offline model",
    "told 70%": "stand-in told the truth, right 70%",
    "told 90%": "stand-in told the truth, right 90%",
    "oracle": "oracle",
}


def _cell(rate: float, tasks: int) -> str:
    low, high = wilson(rate * tasks, tasks)
    return f"{rate:.1%} ({low:.1%} to {high:.1%})"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-n", type=int, default=100, help="tasks on the form in memory (100)")
    parser.add_argument("--desktops", type=int, default=0, help="tasks on private desktops (0)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = {}
    for title, suite, tasks in (
        ("form in memory", FORM, options.n),
        ("private desktops", EDITOR, options.desktops),
    ):
        if tasks:
            found[title] = asyncio.run(measure(suite, tasks, options.seed))
    if options.json:
        print(json.dumps({"host": machine(), **found}))
        return
    print(f"best of N, a planner that fails {FAILS:.0%} of attempts ({machine()})")
    for title, each in found.items():
        show(title, each)


if __name__ == "__main__":
    main()
