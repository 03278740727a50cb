"""What was tried on this very screen is not done again, and nothing else is stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from hisa.actions import fill, parse, slots, to_source
from hisa.config import StateSettings
from hisa.errors import ActionRefused, NotFound
from hisa.events import Abstracted, Acted, Event, Planned, event_adapter
from hisa.planner.planner import planned_calls
from hisa.protocols import ExecutedCall, GroundedCall, Outcome, Place, ToolCall
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.observation import Observation
from hisa.sequence import ground_calls
from hisa.state.loops import Attempt, action_key, find_tries
from hisa.state.manager import build_state
from hisa.testing.scripted import FunctionModel
from hisa.tools.base import Tool
from hisa.tools.builtin import bash_execution, gui_action, infeasible, termination, wait
from hisa.tools.registry import ToolRegistry
from tests.state.scene import element, look

PLACES = {
    "OK": (20, 20), "the OK button, at the left": (20, 20), "Cancel": (60, 20), "Next": (100, 20),
    "plus": (140, 20), "minus": (140, 30), "Name": (20, 60), "City": (20, 90), "list": (60, 120),
}  # fmt: skip
CONTROLS = tuple(
    element("push button", name, BoundingBox(2 * x - 8, 2 * y - 8, 2 * x + 8, 2 * y + 8, "screen"))
    for name, (x, y) in PLACES.items()
    if "," not in name
)


def press_link(target: str) -> str:
    """Press a link of a page."""
    return target


def read_page(part: str = "", lines: int = 9) -> str:
    """Read a page."""
    return part * lines


@dataclass(frozen=True)
class ScriptedStep:
    """A call, and what comes of it where it is made."""

    call: ToolCall
    changes: bool = False
    late: bool = False
    """The screen changes once the step was judged."""
    error: str = ""
    output: str = ""
    exit_code: int | None = None
    refused: bool = False
    focus: str = ""
    """What has the focus after it, without a sign of it on the screen."""

    @property
    def outcome(self) -> Outcome:
        failed = bool(self.error or self.exit_code)
        return Outcome(
            ok=not failed,
            output=self.output,
            error=self.error,
            exit_code=self.exit_code,
            refused=self.refused,
        )


def act(source: str, description: str = "", **came: Any) -> ScriptedStep:
    call = ToolCall("Go on.", "gui_action", source, description, actions=parse(source))
    return replace(ScriptedStep(call), **came)


def click(description: str, then: str = "", **came: Any) -> ScriptedStep:
    return act(f"pyautogui.click(X_COORD, Y_COORD){then}", description, **came)


def tool(
    name: str, value: str | dict[str, object], description: str = "", **came: Any
) -> ScriptedStep:
    return replace(ScriptedStep(ToolCall("Go on.", name, value, description)), **came)


def bash(command: str, output: str = "", exit_code: int = 0) -> ScriptedStep:
    return tool("bash_execution", command, output=output, exit_code=exit_code)


def wait_for(seconds: str = "2", **came: Any) -> ScriptedStep:
    return tool("wait", seconds, **came)


def unusable() -> ScriptedStep:
    return tool("none", "", error="no usable reply: no JSON object in it")


def together(*steps: ScriptedStep) -> ScriptedStep:
    first, *rest = steps
    following = tuple(step.call for step in rest)
    return replace(steps[-1], call=replace(first.call, following=following))


class Finder:
    """Finds what has a place."""

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        if not slots(call.actions):
            return GroundedCall(call, call.input, call.actions)
        if call.description not in PLACES:
            raise NotFound(f"not found: {call.description!r}; closest: push button “OK”")
        at = Point(*PLACES[call.description])
        actions = fill(call.actions, {1: at})
        place = Place(call.description, at)
        return GroundedCall(call, to_source(actions), actions, (place,))


class Run:
    """Steps as the loop makes them: plan, check, ground, act, abstract; with their events."""

    def __init__(self, events: Sequence[Event] = ()) -> None:
        self.events: list[Event] = [*events]
        self.number = sum(isinstance(event, Planned | Acted) for event in events)
        self.screen, self.focus = 0, "Name"
        model = FunctionModel(lambda _: "Succeeded. It went on.")
        self.state = build_state(model, StateSettings(refine="window"), emit=self.emit)
        functions = (gui_action, bash_execution, wait, termination, infeasible)
        self.tools = ToolRegistry(
            [Tool(function) for function in functions]
            + [Tool(function, source="page") for function in (press_link, read_page)],
        )
        self.errors: list[str] = []
        self.state.restore(events)

    def emit(self, event: Event, /) -> None:
        self.events.append(event.model_copy(update={"step": self.number}))

    def look(self) -> Observation:
        at = self.screen % 50
        usual = frozenset({"enabled", "showing"})
        elements = tuple(
            replace(control, states=usual | ({"focused"} if control.name == self.focus else set()))
            for control in CONTROLS
        )
        return look((at, 130, 60 + at, 160), elements=elements)

    async def step(self, does: ScriptedStep) -> str:
        """Returns "." for what was done or looked for, "x" for what was held back."""
        self.number += 1
        before, call = self.look(), does.call
        self.state.view(before)
        grounded = GroundedCall(call, call.input, call.actions)
        if call.tool != "none":
            self.emit(
                Planned(
                    thought=call.thought,
                    tool=call.tool,
                    input=call.input,
                    description=call.description,
                    following=planned_calls(call.following),
                )
            )
        try:
            if call.tool != "none":
                grounded = await self.ground(call, before)
        except ActionRefused as error:
            return await self._record_failure(call, before, str(error), "x")
        except NotFound as error:
            return await self._record_failure(call, before, str(error), ".")
        return await self._execute(grounded, does, before)

    async def ground(self, call: ToolCall, before: Observation) -> GroundedCall:
        """The call with its places, refused before and after these are known."""
        others = self.tools.others(call.tool, before)
        self.state.require_new(GroundedCall(call, call.input, call.actions), others)
        grounded = await ground_calls(call, before, Finder())
        self.state.require_new(grounded, others)
        return grounded

    async def _execute(
        self, grounded: GroundedCall, does: ScriptedStep, before: Observation
    ) -> str:
        outcome = does.outcome
        for part in grounded.sequence:
            last = part is grounded.sequence[-1]
            ok = outcome.ok or not last
            self.emit(
                Acted(
                    tool=part.call.tool,
                    input=part.input,
                    ok=ok,
                    output=outcome.output if last else "",
                    error=outcome.error if last else "",
                    exit_code=outcome.exit_code if last else None,
                )
            )
        if grounded.call.following:
            parts = [
                ExecutedCall(
                    alone, outcome if alone is grounded.sequence[-1] else Outcome(ok=True), before
                )
                for alone in (replace(part, following=()) for part in grounded.sequence)
            ]
            parts[-1] = replace(parts[-1], outcome=outcome)
            outcome = replace(outcome, executed_calls=tuple(parts))
        self.screen += does.changes
        self.focus = does.focus or self.focus
        await self.state.abstract(grounded, before, self.look(), outcome)
        self.screen += does.late
        return "."

    async def _record_failure(
        self, call: ToolCall, before: Observation, error: str, mark: str
    ) -> str:
        self.errors.append(error)
        self.emit(Acted(tool=call.tool, input=call.input, ok=False, error=error))
        grounded = GroundedCall(call, call.input, call.actions)
        await self.state.abstract(grounded, before, self.look(), Outcome(ok=False, error=error))
        return mark


TYPES = "; pyautogui.write('Ada')"
DENIED = "the policy refuses this: it deletes files. Nothing was done"
LEGITIMATE: dict[str, list[ScriptedStep]] = {
    "next page": [click("Next", changes=True)] * 6,
    "keys that move on": [act("pyautogui.press('down')", changes=True)] * 6,
    "tab, where no focus shows": [act("pyautogui.press('tab')")] * 6,
    "retry after a wait": [click("Save"), wait_for(), click("Save"), wait_for(), click("Save")],
    "poll with a command that sleeps": [bash("sleep 5; test -f done", exit_code=1)] * 5,
    "a command that prints something new": [bash("date", f"12:0{n}") for n in range(5)],
    "a command that fails otherwise": [bash("make", f"step {n} broke", 2) for n in range(5)],
    "the command after what it lacked": [
        bash("cat a", "no a", 1), bash("cat a", "no a", 1), bash("touch a"), bash("cat a", "x"),
    ],
    "a click that reacts late": [click("Next", late=True)] * 5,
    "typing the same without an echo": [
        act("pyautogui.write('x')"), act("pyautogui.press('tab')"), act("pyautogui.write('x')"),
        act("pyautogui.press('tab')"), act("pyautogui.write('x')"),
    ],
    "the same words on another screen": [
        click("Save"), click("Next", changes=True), click("Save"), click("Next", changes=True),
        click("Save"),
    ],
    "other words that are not found": [click("Save"), click("Save as"), click("Store")],
    "a tool once its field has the focus": [
        tool("press_link", "Go", error="no focus"), click("City", focus="City"),
        tool("press_link", "Go", output="pressed"),
    ],
    "a click after the pointer moved": [
        act("pyautogui.moveTo(9, 9)"), act("pyautogui.click()"), act("pyautogui.moveTo(90, 9)"),
        act("pyautogui.click()"), act("pyautogui.moveTo(99, 90)"), act("pyautogui.click()"),
    ],
    "a field, then the same field with a text": [
        click("Name"), click("Name"), click("Name", TYPES, changes=True),
    ],
    "a sequence that moves on": [together(click("Name"), click("Next", changes=True))] * 4,
}  # fmt: skip
MISTAKES: dict[str, tuple[list[ScriptedStep], str]] = {
    "what was not found": ([click("Save")] * 4, ".xxx"),
    "a tool that fails": ([tool("press_link", "a.org", error="no link")] * 4, ".xxx"),
    "a tool that fails, by turns with another": (
        [
            tool("press_link", "a", error="no link"), tool("read_page", {}, error="no page"),
            tool("press_link", "a", error="no link"), tool("read_page", {}, error="no page"),
        ],
        "..xx",
    ),
    "a command that fails alike": ([bash("cat a", "no a", 1)] * 4, "..xx"),
    "what the policy refuses": (
        [tool("bash_execution", "rm -r ~", error=DENIED, refused=True)] * 3,
        ".xx",
    ),
    "a place that keeps changing": (
        [click("OK", error="nothing was done: the screen changed")] * 4,
        "..xx",
    ),
    "a click without effect": ([click("OK")] * 5, "..xxx"),
    "typing that goes nowhere": ([click("Name", TYPES)] * 3, "..x"),
    "two clicks without effect by turns": (
        [click("OK"), click("Cancel"), click("OK"), click("Cancel"), click("OK"), click("Cancel")],
        "....xx",
    ),
    "after the screen changed": (
        [click("OK", changes=True), click("OK"), click("OK"), click("OK")],
        "...x",
    ),
    "a sequence that fails at its end": (
        [together(click("Name"), tool("press_link", "a", error="no link"))] * 3,
        ".xx",
    ),
    "a sequence without effect": ([together(click("Name"), click("OK"))] * 3, "..x"),
}  # fmt: skip


async def run_steps(steps: Sequence[ScriptedStep]) -> tuple[str, Run]:
    run = Run()
    return "".join([await run.step(does) for does in steps]), run


@pytest.mark.parametrize("name", LEGITIMATE)
async def test_a_legitimate_repeat_is_made(name: str) -> None:
    marks, run = await run_steps(LEGITIMATE[name])
    assert marks == "." * len(LEGITIMATE[name]), run.errors


@pytest.mark.parametrize("name", MISTAKES)
async def test_a_mistake_is_made_once_and_an_act_in_vain_twice(name: str) -> None:
    steps, marks = MISTAKES[name]
    actual_marks, run = await run_steps(steps)
    assert actual_marks == marks, run.errors


@pytest.mark.parametrize("name", [*MISTAKES][::3] + [*LEGITIMATE][::4])
async def test_a_run_that_goes_on_decides_as_if_never_cut(name: str) -> None:
    steps, marks = MISTAKES.get(name) or (LEGITIMATE[name], "." * len(LEGITIMATE[name]))
    uncut = Run()
    ends = [0]
    for does in steps:
        await uncut.step(does)
        ends.append(len(uncut.events))
    for cut in range(1, len(steps)):
        if steps[cut - 1].late:
            continue  # what changes while nobody looks is not in the log
        lines = [event_adapter.dump_json(event) for event in uncut.events[: ends[cut]]]
        again = Run([event_adapter.validate_json(line) for line in lines])
        again.screen, again.focus = sum(d.changes + d.late for d in steps[:cut]), "Name"
        for step in steps[:cut]:
            again.focus = step.focus or again.focus
        assert "".join([await again.step(does) for does in steps[cut:]]) == marks[cut:], cut


@pytest.mark.parametrize(("roi", "tries"), [(None, [1, 2]), ((0, 0, 9, 9), [])])
def test_retyped_text_counts_as_a_repeat_only_without_a_change(
    roi: tuple[int, int, int, int] | None, tries: list[int]
) -> None:
    source = "pyautogui.click(20, 60); pyautogui.write('Ada')"
    call = ToolCall("", "gui_action", source, actions=parse(source))
    keys = (action_key(call, source),)
    event = Abstracted(
        line="", result="Succeeded.", roi=roi, asked_model=False, verdict="succeeded"
    )
    assert [*find_tries([Attempt(call, keys, event)] * 2, keys)] == tries
