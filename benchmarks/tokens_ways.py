"""Tokens of a step by how the planner sees and points: one task done in each way, counted.

    python -m benchmarks.tokens_ways [--form] [--vocabularies FOLDER] [--json]

The planner is scripted and knows the task; everything else is real: a text editor on a private
desktop (with ``--form`` a form in memory), prompts, grounders, loop and log. It says of each thing
what a model would in that way: a description, a point, a number of the list, or a call of its
computer tool. Counted are the planner's requests and answers as they pass the seam to the models;
text with the first vocabulary found in FOLDER (see `benchmarks.tokens`), else estimated, a picture
as OpenAI documents for high detail. What a run counts besides, above all the state manager's model,
is the same in every way. A vision grounder would cost a request with a picture for each place; here
descriptions are found among the elements, which costs no tokens.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hisa
from benchmarks.machine import machine
from benchmarks.tokens import THOUGHT, picture_tokens
from benchmarks.tokens_vocabularies import vocabularies
from hisa.models.tokens import estimate_tokens
from hisa.plugins.computer_use.responses_server import computer_call, function_call
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.protocols import Environment, ModelReply, ModelRequest, Task, TextPart
from hisa.screen.geometry import Point
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import FunctionModel, tool_call

Count = Callable[[str], int]
REPORT = "Succeeded. The window shows what was wanted."
WAYS: dict[str, dict[str, Any]] = {
    "descriptions, found among elements": {"grounder": {"kind": "elements"}},
    "the planner's own points": {"grounder": {"kind": "planner"}},
    "marks instead of the picture": {"planner": {"sees": "elements"}},
    "marks and the picture": {"planner": {"sees": "both"}},
    "computer tool (Responses API)": {"planner": {"kind": "computer"}},
}
_LIST = "<elements untrusted>"


@dataclass(frozen=True)
class Step:
    """A click on something, and what is typed then; or a command.

    ``role`` and ``name`` find it among the elements, ``mark`` is the beginning of its line in the
    numbered list, ``description`` what a model that describes calls it.
    """

    role: str = ""
    name: str = ""
    mark: str = ""
    description: str = ""
    clear: bool = False
    text: str = ""
    command: str = ""


EDITOR = Task(
    "note",
    'Write "Tea at four" in the text editor and save it as /home/user/tea.txt.',
    check={"all": [{"file": "/home/user/tea.txt", "contains": "Tea at four"}]},
)
EDITOR_STEPS = (
    Step(command="setsid -f mousepad >/dev/null 2>&1; sleep 1"),
    Step("text", "", "field", "the large text area below the menu bar", text="Tea at four"),
    Step("menu", "File", 'menu "File"', "the 'File' menu at the left of the menu bar"),
    Step("menu item", "Save As", 'menu item "Save As', "the 'Save As...' entry in the open menu"),
    Step(
        "text", "Name:", 'field "Name:"', "the 'Name:' field at the top of the Save As dialog",
        clear=True, text="/home/user/tea.txt",
    ),
    Step("push button", "Save", 'button "Save"', "the 'Save' button at the bottom of the dialog"),
)  # fmt: skip
FORM = Task("form", 'Enter "Ada" as the name and save the form.')
FORM_STEPS = (
    Step("text", "Name:", 'field "Name:"', "the text field to the right of 'Name:'", text="Ada"),
    Step("push button", "Save", 'button "Save"', "the 'Save' button to the right of 'OK'"),
)


class _Planner:
    """Answers each step in one way, and counts what it was sent and said."""

    def __init__(self, way: str, steps: Sequence[Step], machine: Environment, count: Count) -> None:
        self.parts: Counter[str] = Counter()
        self.totals: list[int] = []
        self._way = WAYS[way]
        self._steps = iter(steps)
        self._machine = machine
        self._count = count

    async def __call__(self, request: ModelRequest) -> str:
        if request.role != "planner":
            return REPORT
        step = next(self._steps, None)
        reply = self._build_ending() if step is None else await self._build_reply(step, request)
        before = self.parts.total()
        self._add(request, reply)
        self.totals.append(self.parts.total() - before)
        return reply

    @property
    def _computer(self) -> bool:
        return self._way.get("planner") == {"kind": "computer"}

    def _build_ending(self) -> str:
        if self._computer:
            return function_call("termination", thought=THOUGHT, summary="It is saved.")
        return tool_call("termination", "It is saved.", thought=THOUGHT)

    async def _build_reply(self, step: Step, request: ModelRequest) -> str:
        if step.command:
            if self._computer:
                return function_call("bash_execution", thought=THOUGHT, command=step.command)
            return tool_call("bash_execution", step.command, thought=THOUGHT)
        keys = ["pyautogui.hotkey('ctrl', 'a')"] * step.clear
        typed = [*keys, *([f"pyautogui.write({step.text!r})"] if step.text else [])]

        def gui(place: str, description: str) -> str:
            source = "; ".join([f"pyautogui.click({place})", *typed])
            return tool_call("gui_action", source, description, thought=THOUGHT)

        if "sees" in self._way.get("planner", {}):
            return gui("X_COORD, Y_COORD", f"element: {_number(request.text, step.mark)}")
        if self._way == {"grounder": {"kind": "elements"}}:
            return gui("X_COORD, Y_COORD", step.description)
        x, y = (await self._point(step)).to_pixels()
        if not self._computer:
            return gui(f"{x}, {y}", step.description)
        actions: list[dict[str, Any]] = [{"type": "click", "button": "left", "x": x, "y": y}]
        actions += [{"type": "keypress", "keys": ["CTRL", "A"]}] * step.clear
        actions += [{"type": "type", "text": step.text}] if step.text else []
        return computer_call(*actions, thought=THOUGHT)

    async def _point(self, step: Step) -> Point:
        """Eyes that see well: the middle of the thing, in pixels of the picture."""
        observation = await self._machine.observe(elements=True)
        boxes = [
            observation.convert_box(e.box, "image")
            for e in observation.elements or ()
            if e.role == step.role and (e.name or e.label).startswith(step.name)
        ]
        return max(boxes, key=lambda box: box.area).centre

    def _add(self, request: ModelRequest, reply: str) -> None:
        for message in request.messages:
            for piece in message.parts:
                if not isinstance(piece, TextPart):
                    self.parts["picture"] += picture_tokens(piece.image.size)
                elif message.role == "system":
                    self.parts["rules"] += self._count(piece.text)
                else:
                    state, _, listed = piece.text.partition(_LIST)
                    self.parts["state"] += self._count(state)
                    self.parts["list"] += self._count(listed)
        self.parts["tools"] += sum(self._count(json.dumps(dict(tool))) for tool in request.tools)
        self.parts["answer"] += self._count(reply)


def _number(text: str, mark: str) -> int:
    match = re.search(rf"^(\d+) {re.escape(mark)}", text.rpartition(_LIST)[2], re.M)
    if match is None:
        raise SystemExit(f"{mark!r} is not on the list:\n{text.rpartition(_LIST)[2]}")
    return int(match[1])


async def run(way: str, count: Count, folder: Path, *, form: bool) -> dict[str, Any]:
    """Do the task in one way; tokens a step."""
    task, steps = (FORM, FORM_STEPS) if form else (EDITOR, EDITOR_STEPS)
    tree = {"patterns": {"enabled": False}, "run": {"folder": folder}, **WAYS[way]}
    async with AsyncExitStack() as stack:
        machine: Environment = FakeEnvironment() if form else DesktopEnvironment()
        await stack.enter_async_context(machine)
        planner = _Planner(way, steps, machine, count)

        async def answer(request: ModelRequest) -> ModelReply:
            return ModelReply(await planner(request))

        result = await hisa.run(
            task,
            settings=hisa.Settings.model_validate(tree),
            model=FunctionModel(answer, name="scripted"),
            environment=machine,
        )
    if result.status != "succeeded" or (result.score or 0) < (not form):
        raise SystemExit(f"{way}: {result.status}, score {result.score}: {result.message}")
    calls = len(planner.totals)
    return {
        "way": way,
        "steps": result.steps,
        "calls": calls,
        "per_step": planner.parts.total() / result.steps,
        "median_call": statistics.median(planner.totals),
        "parts": {name: total / result.steps for name, total in planner.parts.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Tokens of a step, by how a planner points.")
    parser.add_argument("--form", action="store_true", help="a form in memory, no desktop")
    parser.add_argument("--vocabularies", type=Path, help="folder of unpacked wheels")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    counters = vocabularies(options.vocabularies) if options.vocabularies else {}
    name, count = next(iter(counters.items()), ("the estimate, an upper one", estimate_tokens))
    with tempfile.TemporaryDirectory() as folder:
        rows = [asyncio.run(run(w, count, Path(folder), form=options.form)) for w in WAYS]
    if options.json:
        print(json.dumps({"count": name, "ways": rows}))
        return
    kinds = ("rules", "state", "list", "picture", "tools", "answer")
    print(
        f"{'planner tokens a step':<36}{'steps':>6}{'all':>7}" + "".join(f"{k:>9}" for k in kinds)
    )
    for row in rows:
        parts = "".join(f"{row['parts'].get(kind, 0):>9.0f}" for kind in kinds)
        print(f"{row['way']:<36}{row['steps']:>6}{row['per_step']:>7.0f}{parts}")
    print(f"text by {name}; {machine()}")


if __name__ == "__main__":
    main()
